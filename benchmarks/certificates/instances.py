"""The instances: a name, a matrix or data, and the cardinalities asked for."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import sparseigen as se
from sparseigen.datasets import data_folder, load_gene_covariance, load_pitprops


class Instance(NamedTuple):
    name: str
    matrix: Any
    cardinalities: tuple[int, ...]
    exact_seconds: float
    """Time limit of the exact method; 0 leaves it out."""


def colon_intensities() -> np.ndarray:
    """62 samples x 2000 genes, intensities as they were measured."""
    with gzip.open(data_folder() / "colon" / "colon_62x2000.csv.gz", "rt") as file:
        rows = list(csv.reader(file))
    return np.array([row[2:] for row in rows[1:]], dtype=float)


def colon_log2() -> np.ndarray:
    """62 samples x 2000 genes, log2 intensities."""
    return np.log2(colon_intensities())


def drawn_from(real: np.ndarray, n_samples: int, size: int) -> np.ndarray:
    """Gaussian samples of a real covariance, with more genes: noisy mixtures of three real ones each.

    A mixture has weights of either sign and keeps the spread of its first gene; a third of every gene's standard
    deviation, of the real ones too, is noise of its own, so that the covariance has no more the rank of the real data.
    """
    rng = np.random.default_rng(17)
    centred = (real - real.mean(axis=0)) / np.sqrt(len(real) - 1)
    mixed = rng.integers(real.shape[1], size=(3, size - real.shape[1]))
    extra = sum(rng.standard_normal(mixed.shape[1]) * centred[:, genes] for genes in mixed)
    extra *= np.linalg.norm(centred[:, mixed[0]], axis=0) / np.linalg.norm(extra, axis=0)
    factor = np.hstack([centred, extra])
    own = np.linalg.norm(factor, axis=0) / 3.0
    return rng.standard_normal((n_samples, len(real))) @ factor + own * rng.standard_normal((n_samples, size))


def colon_correlation(count: int) -> np.ndarray:
    """Correlations of the genes of largest variance after the log."""
    data = colon_log2()
    chosen = np.sort(np.argsort(-data.var(axis=0, ddof=1), kind="stable")[:count])
    matrix = np.corrcoef(data[:, chosen], rowvar=False)
    return (matrix + matrix.T) / 2.0


def wine_correlation() -> np.ndarray:
    from sklearn.datasets import load_wine

    return np.corrcoef(load_wine().data, rowvar=False)


def instances() -> Iterator[Instance]:
    yield Instance("pitprops (13)", load_pitprops().matrix, tuple(range(1, 14)), 60.0)
    yield Instance("wine correlation (13)", wine_correlation(), (5, 10), 60.0)
    yield Instance("colon (500)", load_gene_covariance("colon"), (5, 10, 20), 60.0)
    yield Instance("lymphoma (500)", load_gene_covariance("lymphoma"), (5, 10, 20), 60.0)
    yield Instance("colon log2 correlation (1000)", colon_correlation(1000), (5, 10), 60.0)
    yield Instance("colon log2 correlation (2000)", colon_correlation(2000), (5, 10, 50), 0.0)
    noise = np.random.default_rng(0).standard_normal((100, 200))
    yield Instance("noise, 100 samples (200)", se.covariance(noise), (10,), 0.0)
