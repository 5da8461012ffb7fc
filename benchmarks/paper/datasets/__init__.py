"""The paper's inputs: one module for a data set, which loads or draws it and does nothing else."""
