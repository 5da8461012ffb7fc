"""Sparse PCA against other packages: `python -m benchmarks.pca`."""
