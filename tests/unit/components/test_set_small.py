"""Small sets exhaustively: the search ends at the best set, whatever it began with."""

from __future__ import annotations

import numpy as np
import pytest

from fuzzing.set_truth import best_set
from fuzzing.sets import draw
from sparseigen.components.set_search import SEARCHES, SetProblem, search_set
from sparseigen.components.set_small import approach_constraint, is_tiny, keep_better, search_listed


@pytest.mark.parametrize("uncorrelated", [False, True])
def test_small_sets_are_searched_to_the_end(uncorrelated: bool) -> None:
    for seed in range(3):
        rng = np.random.default_rng([seed, uncorrelated, 11])
        matrix, ks = draw(rng)
        problem = SetProblem(matrix / np.abs(matrix).max(), ks, uncorrelated)
        found = search_set(problem, SEARCHES["quick"], rng)
        known = -np.inf if found is None else problem.value
        value, _ = best_set(problem.matrix, ks, uncorrelated, rng, known=known)
        assert value <= known * (1.0 + 1e-7) or value == known


def test_a_poor_set_is_replaced(matrix) -> None:
    problem = SetProblem(matrix, (2, 2))
    keep_better(problem, np.eye(len(matrix))[:, :2])
    poor = problem.value
    assert search_listed(problem)
    assert problem.value > poor
    assert problem.is_feasible(problem.best)


def test_large_problems_are_not_listed(rng) -> None:
    data = rng.standard_normal((20, 60))
    problem = SetProblem(data.T @ data, (10, 10))
    assert not is_tiny(problem)
    assert not search_listed(problem)


def test_a_rising_penalty_brings_sets_near_the_constraint(matrix) -> None:
    supports = [np.array([[0, 1, 2]]), np.array([[0, 1, 3]])]
    columns, values = approach_constraint(matrix, supports, uncorrelated=False)
    assert abs(columns[0, :, 0] @ columns[0, :, 1]) < 0.2
    assert values[0] <= np.einsum("pt,pq,qt->", columns[0], matrix, columns[0]) + 1e-12
    random, _ = approach_constraint(matrix, supports, uncorrelated=True, rng=np.random.default_rng(0))
    assert np.linalg.norm(random[0], axis=0) == pytest.approx(np.ones(2))
