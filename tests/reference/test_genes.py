"""Colon and lymphoma, 500 genes: the authors' own curves (figure 1)."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparseigen import sparse_eigenvector
from sparseigen.datasets import load_gene_covariance, load_gene_curve
from sparseigen.errors import ConvergenceWarning


def papers_share(matrix: np.ndarray, cardinality: int, start: str) -> float:
    options: dict[str, Any] = {"rtol": 0, "atol": 1e-4, "max_iterations": 500}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = sparse_eigenvector(matrix, cardinality, start=start, polish=None, certify=False, **options)
    return result.value / float(np.trace(matrix))


def test_colon_curve_to_nine_digits(real_data: Path) -> None:
    matrix = load_gene_covariance("colon")
    authors = load_gene_curve("colon")["tpower_variance_share"]
    ours = np.array([papers_share(matrix, k, "max-variance") for k in range(1, 501)])
    np.testing.assert_allclose(ours, authors, rtol=1e-9)


def test_lymphoma_curve(real_data: Path) -> None:
    matrix = load_gene_covariance("lymphoma")
    authors = load_gene_curve("lymphoma")["tpower_variance_share"]
    ours = np.array([papers_share(matrix, k, "top-k-variance") for k in range(1, 501)])
    assert (np.abs(ours / authors - 1.0) <= 1e-6).sum() >= 499


@pytest.mark.parametrize("cardinality", [2, 3, 5, 10, 20, 50, 100, 200])
@pytest.mark.parametrize("name", ["colon", "lymphoma"])
def test_default_is_nowhere_below_the_authors_best(real_data: Path, name: str, cardinality: int) -> None:
    matrix = load_gene_covariance(name)
    curve = load_gene_curve(name)
    best = max(curve["tpower_variance_share"][cardinality - 1], curve["pathspca_variance_share"][cardinality - 1])
    default = sparse_eigenvector(matrix, cardinality, certify=False)
    plain = sparse_eigenvector(matrix, cardinality, start="max-variance", polish=None, certify=False)
    assert default.value / np.trace(matrix) >= best * (1.0 - 1e-12)
    assert default.value >= plain.value * (1.0 - 1e-14)
