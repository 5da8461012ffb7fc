"""The dual bound of DSPCA against exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.solvers.semidefinite import _dual_bound
from tests.unit.certificates.exact_arithmetic import SEEDS, bounds_eigenvalues, exact, symmetric


@pytest.mark.parametrize("seed", SEEDS)
def test_dual_bound_of_the_relaxation_is_above_the_exact_sum(seed):
    matrix, dual = symmetric(seed) / 8.0, symmetric(seed + 100) / 64.0
    bound = _dual_bound(matrix, dual, 3)
    size = range(5)
    rest = [[exact(matrix[i, j]) - exact(dual[i, j]) for j in size] for i in size]
    penalty = 3 * exact(np.abs(dual).max())
    assert bounds_eigenvalues(exact(bound) - penalty, rest)
    assert not bounds_eigenvalues(exact(bound - 1e-12) - penalty, rest)
