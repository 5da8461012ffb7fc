"""Tools on AnnData objects, in scanpy's manner: the answer is written into the object."""

from sparseigen.tools.annotated import sparse_pca

__all__ = ["sparse_pca"]
