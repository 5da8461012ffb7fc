"""Any split proves a valid bound, and the method goes on while it falls."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.splitting import split_value, splits, splitting_bound
from sparseigen.operators import as_operator
from tests.brute_force import brute_force
from tests.unit.certificates.exact_arithmetic import SEEDS, bounds_eigenvalues, exact, symmetric


def test_any_split_gives_a_valid_bound(rng):
    matrix = rng.standard_normal((8, 8))
    matrix = matrix + matrix.T
    optimum = brute_force(matrix, 3)
    problem = BoundProblem(as_operator(matrix), 3)
    for split in [np.zeros((8, 8)), problem.dense, *(0.3 * (s + s.T) for s in rng.standard_normal((5, 8, 8)))]:
        assert problem.unscale_bound(split_value(problem, split)) >= optimum
    first, *_, last = splits(problem.dense, 3)
    assert split_value(problem, last) < split_value(problem, first)


def test_splitting_goes_on_while_the_bound_falls(rng):
    """What it returns is nearly the best that any of its splits proves."""
    matrix = np.cov(rng.standard_normal((10, 30)) * np.linspace(3.0, 1.0, 30), rowvar=False)
    problem = BoundProblem(as_operator(matrix), 4)
    every = [split_value(problem, split) for split in splits(problem.dense, 4)]
    bound = splitting_bound(problem)
    assert min(every) <= bound * (1.0 + 1e-12)
    assert bound < 1.0005 * min(every)
    assert every[0] > 1.002 * min(every)
    problem.achieved = 0.9 * bound  # a gap of a tenth is no reason to stop
    assert splitting_bound(problem) == bound
    problem.deadline = 0.0  # out of time: the first split stands
    assert splitting_bound(problem) >= bound
    assert splitting_bound(BoundProblem(as_operator(matrix), 30)) == np.inf


@pytest.mark.parametrize("seed", SEEDS)
def test_split_bound_is_above_the_exact_sum(seed):
    """lambda_max(A - M) + row bound of M, both exact."""
    matrix, other = symmetric(seed), symmetric(seed + 100)
    problem = BoundProblem(as_operator(matrix), 2)
    split = 0.1 * other
    whole, part = exact(problem.dense), exact(split)
    rest = [[a - b for a, b in zip(left, right, strict=True)] for left, right in zip(whole, part, strict=True)]
    rows = max(part[i][i] + max(abs(part[i][j]) for j in range(5) if j != i) for i in range(5))
    bound = split_value(problem, split)
    assert bounds_eigenvalues(exact(bound) - rows, rest)
    assert not bounds_eigenvalues(exact(bound - 1e-12) - rows, rest)
