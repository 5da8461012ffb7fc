"""Row bounds and traces: valid for any weights, and never below the exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sparseigen.certificates.paths import trace_values
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.scaled_rows import scaled_row_values, trace_bound
from sparseigen.certificates.spectral import largest_eigenvalue_bound, psd_shift
from sparseigen.operators import as_operator
from tests.brute_force import brute_force
from tests.unit.certificates.exact_arithmetic import SEEDS, exact, gram, random_gram, symmetric


def test_any_weights_give_a_valid_row_bound(rng):
    matrix = rng.standard_normal((8, 8))
    matrix = matrix + matrix.T
    for cardinality in range(1, 9):
        problem = BoundProblem(as_operator(matrix), cardinality)
        optimum = brute_force(matrix, cardinality)
        for _ in range(20):
            bound, rows = scaled_row_values(problem, rng.random(8) + 1e-3)
            assert problem.unscale_bound(bound) >= optimum
            assert len(rows) == 8


def test_row_bound_with_the_perron_weights_is_the_eigenvalue(rng):
    matrix = np.abs(random_gram(rng, 6, 6))
    vector = np.abs(np.linalg.eigh(matrix)[1][:, -1])
    problem = BoundProblem(as_operator(matrix), 6)
    bound, _ = scaled_row_values(problem, vector)
    assert problem.unscale_bound(bound) == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-10)


def test_trace_bound_is_refused_where_it_does_not_hold():
    indefinite = np.array([[1.0, 5.0], [5.0, 1.0]])  # trace 2, eigenvalue 6
    assert trace_bound(BoundProblem(as_operator(indefinite), 2)) == np.inf
    problem = BoundProblem(as_operator(np.diag([3.0, 2.0, 1.0])), 2)
    assert problem.unscale_bound(trace_bound(problem)) == pytest.approx(5.0, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_row_bounds_are_above_the_exact_rows(seed):
    rng = np.random.default_rng(seed)
    for cardinality in (1, 2, 4, 5):
        problem = BoundProblem(as_operator(symmetric(seed)), cardinality)
        weights = rng.random(5) + 0.1
        matrix, scales = exact(problem.dense), exact(weights)
        bound, rows = scaled_row_values(problem, weights)
        wanted = []
        for i in range(5):
            others = sorted((abs(matrix[i][j]) * scales[j] for j in range(5) if j != i), reverse=True)
            wanted.append(matrix[i][i] + sum(others[: cardinality - 1]) / scales[i])
            spread = abs(matrix[i][i]) + sum(others) / scales[i]
            assert 0 < exact(rows[i]) - wanted[i] <= spread / 10**12
        assert max(exact(rows)) <= exact(bound) <= max(exact(rows)) + Fraction(1, 10**12)


@pytest.mark.parametrize("seed", SEEDS)
def test_traces_are_above_the_exact_ones(seed):
    matrix = gram(seed, rank=5) + 0.01 * np.eye(5)
    for cardinality in (1, 3, 5):
        problem = BoundProblem(as_operator(matrix), cardinality)
        trace = sum(sorted(exact(problem.diagonal))[-cardinality:])
        shift = exact(psd_shift(problem))
        for bound in (trace_bound(problem), trace_values(problem)[cardinality - 1]):
            assert trace + (cardinality - 1) * shift < exact(bound) < trace + Fraction(1, 10**12)


def test_optimum_of_integers_is_never_above_a_bound():
    """Blocks of ones have the eigenvalue k exactly; nothing may be lost."""
    matrix = np.zeros((9, 9))
    matrix[:4, :4] = 1.0
    assert brute_force(matrix, 4) == pytest.approx(4.0)
    problem = BoundProblem(as_operator(matrix), 4)
    assert problem.unscale_bound(scaled_row_values(problem, np.ones(9))[0]) > 4.0
    assert problem.unscale_bound(largest_eigenvalue_bound(problem.dense)) >= 4.0
