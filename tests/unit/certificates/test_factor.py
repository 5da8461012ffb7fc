"""Factors of positive semidefinite matrices."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize(("size", "rank"), [(1, 1), (13, 13), (30, 4), (48, 48), (20, 0)])
def test_small_matrices_are_factored_as_lapack_does(size: int, rank: int, rng: np.random.Generator) -> None:
    from sparseigen.certificates.factor import _lapack_factor, _small_factor

    half = rng.standard_normal((size, rank))
    matrix = half @ half.T
    tolerance = 1e-13 * size * max(float(matrix.diagonal().max()), 1e-300)
    ours, theirs = _small_factor(matrix, tolerance), _lapack_factor(matrix, tolerance)
    assert ours.shape == theirs.shape == (size, rank)
    np.testing.assert_allclose(ours @ ours.T, matrix, atol=1e-12 * max(1.0, np.abs(matrix).max()))
