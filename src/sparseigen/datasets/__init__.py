"""Data sets: PitProps ships with the package, the others are read from a folder; some can be downloaded into it.

The folder is ``SPARSEIGEN_DATA`` if set, else the user's cache folder.
"""

from sparseigen.datasets.catalogue import data_folder
from sparseigen.datasets.fetch import fetch_dataset
from sparseigen.datasets.loaders import Dataset, load_gene_covariance, load_gene_curve, load_pitprops

__all__ = ["Dataset", "data_folder", "fetch_dataset", "load_gene_covariance", "load_gene_curve", "load_pitprops"]
