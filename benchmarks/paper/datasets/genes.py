"""Colon and lymphoma, 500 genes each: the authors' covariances, and their curves."""

from __future__ import annotations

import numpy as np

from sparseigen.datasets import load_gene_covariance, load_gene_curve

NAMES = ("colon", "lymphoma")
SIZE = 500


def files(name: str) -> tuple[str, ...]:
    return f"{name}/authors_covariance_500.npz", f"{name}/authors_curve.csv"


def covariance(name: str) -> np.ndarray:
    return load_gene_covariance(name)


def curve(name: str) -> dict[str, np.ndarray]:
    return load_gene_curve(name)
