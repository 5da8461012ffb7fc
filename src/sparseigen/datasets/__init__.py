"""Data sets: PitProps ships with the package, the others are read from a folder; some can be downloaded into it.

The folder is ``SPARSEIGEN_DATA`` if set, else ``../shared/data`` seen from the working directory.
"""

from sparseigen.datasets.fetch import fetch_dataset
from sparseigen.datasets.folder import data_folder, load_gene_covariance, load_gene_curve
from sparseigen.datasets.pitprops import Dataset, load_pitprops

__all__ = ["Dataset", "data_folder", "fetch_dataset", "load_gene_covariance", "load_gene_curve", "load_pitprops"]
