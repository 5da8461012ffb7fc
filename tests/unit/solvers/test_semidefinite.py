"""DSPCA."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from fuzzing.carriers import Foreign
from sparseigen.errors import UnsupportedOperatorError, ZeroMatrixError
from sparseigen.solvers.semidefinite import _dual_bound
from tests.unit.certificates.exact_arithmetic import SEEDS, bounds_eigenvalues, exact, symmetric


def test_dspca_refuses_a_matrix_of_zeros():
    with pytest.raises(ZeroMatrixError, match="nothing to find"):
        se.sparse_eigenvector(Foreign(np.zeros((4, 4))), 2, method="dspca")


def test_dspca_bound_holds_and_is_close(data) -> None:
    matrix = np.cov(data.T)[:10, :10]
    best = max(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in combinations(range(10), 3))
    result = se.sparse_eigenvector(matrix, 3, method="dspca", certify=False)
    assert result.value <= best * (1.0 + 1e-12)
    assert best <= result.settings["dual_bound"] <= 1.1 * best


def test_dspca_refuses_large_matrices() -> None:
    with pytest.raises(UnsupportedOperatorError, match="up to 1000 variables, got 1001"):
        se.sparse_eigenvector(sp.identity(1001), 3, method="dspca")


def test_dspca_accepts_as_many_variables_as_its_message_says(data, monkeypatch) -> None:
    monkeypatch.setattr("sparseigen.solvers.semidefinite.LARGEST_SIZE", 6)
    assert se.sparse_eigenvector(np.cov(data[:, :6].T), 2, method="dspca").value > 0.0
    with pytest.raises(UnsupportedOperatorError, match="accepts up to 6 variables, got 7"):
        se.sparse_eigenvector(np.cov(data[:, :7].T), 2, method="dspca")


@pytest.mark.parametrize("seed", SEEDS)
def test_dual_bound_of_the_relaxation_is_above_the_exact_sum(seed):
    matrix, dual = symmetric(seed) / 8.0, symmetric(seed + 100) / 64.0
    bound = _dual_bound(matrix, dual, 3)
    size = range(5)
    rest = [[exact(matrix[i, j]) - exact(dual[i, j]) for j in size] for i in size]
    penalty = 3 * exact(np.abs(dual).max())
    assert bounds_eigenvalues(exact(bound) - penalty, rest)
    assert not bounds_eigenvalues(exact(bound - 1e-12) - penalty, rest)
