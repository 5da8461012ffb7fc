"""Sparse PCA against the paper's tables and against other packages: `python -m benchmarks.pca`."""
