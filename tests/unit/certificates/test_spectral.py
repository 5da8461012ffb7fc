"""Eigenvalue bounds that a Cholesky factorisation proves."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.spectral import cholesky_defect, largest_eigenvalue_bound, psd_shift
from sparseigen.operators import as_operator
from tests.unit.certificates.exact_arithmetic import SEEDS, bounds_eigenvalues, exact, gram, symmetric


@pytest.mark.parametrize("size", [1, 2, 50, 200])
def test_eigenvalue_bound_is_above_and_close(size, rng):
    matrix = rng.standard_normal((size, size))
    matrix = matrix + matrix.T
    top = float(np.linalg.eigvalsh(matrix)[-1])
    bound = largest_eigenvalue_bound(matrix)
    assert top - 1e-13 * size <= bound <= top + 1e-9 * max(1.0, abs(top))
    assert largest_eigenvalue_bound(matrix, hopeless_above=top - 0.1) == np.inf


def test_failed_factorisation_proves_nothing():
    assert cholesky_defect(np.diag([1.0, -1e-3])) == np.inf


@pytest.mark.parametrize("size", [1, 127, 128, 129, 300])
def test_cholesky_by_panels_is_lapacks(size, rng):
    from sparseigen.certificates.spectral import _factorise

    half = rng.standard_normal((size, size))
    matrix = half @ half.T + np.eye(size)
    found = matrix.copy()
    assert _factorise(found)
    np.testing.assert_allclose(np.tril(found), np.linalg.cholesky(matrix), rtol=1e-9, atol=1e-9 * size)
    matrix[-1, -1] -= 1.01 / np.linalg.inv(matrix)[-1, -1]  # the last pivot is what tells
    assert not _factorise(matrix.copy())
    matrix[0, 0] = np.nan
    assert not _factorise(matrix)


@pytest.mark.parametrize("seed", SEEDS)
def test_matrix_is_semidefinite_after_the_shift(seed):
    """Rank three of five: rounding decides the sign of two eigenvalues."""
    problem = BoundProblem(as_operator(gram(seed)), 3)
    shift = psd_shift(problem)
    assert shift < 1e-12
    assert bounds_eigenvalues(shift, [[-entry for entry in row] for row in exact(problem.dense)])
    raised = problem.dense + shift * np.eye(5)
    defect = cholesky_defect(raised.copy())
    assert defect < 1e-12
    assert bounds_eigenvalues(defect, [[-entry for entry in row] for row in exact(raised)])


@pytest.mark.parametrize("seed", SEEDS)
def test_eigenvalue_bound_is_above_the_exact_one(seed):
    for matrix in (symmetric(seed) / 4.0, gram(seed) / 8.0, -gram(seed) / 8.0):
        bound = largest_eigenvalue_bound(matrix)
        assert bounds_eigenvalues(bound, exact(matrix))
        assert bound <= np.linalg.eigvalsh(matrix)[-1] + 1e-12
