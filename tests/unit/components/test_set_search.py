"""The search for sets: its moves, and the best sets of small matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sparseigen.components.set_search import (
    SEARCHES,
    SetProblem,
    find_component,
    propose_exchanges,
    search_set,
    solve_supports,
    start_disjoint,
)


def test_supports_are_solved_under_constraints(matrix, rng) -> None:
    supports = np.array([[0, 1, 2, 3], [2, 5, 7, 9]])
    constraints = rng.standard_normal((12, 2))
    values, weights = solve_supports(matrix, supports, constraints)
    for value, weight, support in zip(values, weights, supports, strict=True):
        assert abs(weight @ constraints[support]).max() < 1e-12
        assert weight @ matrix[np.ix_(support, support)] @ weight == pytest.approx(value)
        assert value < np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1]
    assert solve_supports(matrix, supports[:, :1], constraints)[0].tolist() == [-np.inf, -np.inf]


def test_exchanges_keep_the_size_and_stay_where_they_may(matrix) -> None:
    allowed = np.arange(12) < 8
    proposed = propose_exchanges(matrix, np.array([0, 3, 5]), 3, allowed, np.zeros((12, 0)))
    assert all(len(set(row)) == 3 and max(row) < 8 and len(set(row) & {0, 3, 5}) == 2 for row in proposed.tolist())


def test_one_component_is_the_best_one(matrix) -> None:
    blocks = [np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in itertools.combinations(range(12), 3)]
    value, vector = find_component(matrix, 3, list(matrix.T), np.ones(12, dtype=bool), np.zeros((12, 0)))
    assert value == pytest.approx(max(blocks))
    assert np.count_nonzero(vector) == 3


def test_disjoint_pairs_against_enumeration(rng) -> None:
    """The best two disjoint components of eight variables."""
    for _ in range(5):
        data = rng.standard_normal((12, 8)) + rng.standard_normal((12, 1))
        matrix = data.T @ data
        best = -np.inf
        for first in itertools.combinations(range(8), 3):
            rest = [i for i in range(8) if i not in first]
            one = np.linalg.eigvalsh(matrix[np.ix_(first, first)])[-1]
            best = max(
                [best] + [one + np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in itertools.combinations(rest, 3)]
            )
        problem = SetProblem(matrix, (3, 3), disjoint=True)
        found = search_set(problem, SEARCHES["default"], np.random.default_rng(0))
        assert (np.count_nonzero(found, axis=1) <= 1).all()
        assert problem.value == pytest.approx(best)


def test_there_may_be_no_room_or_no_time(matrix) -> None:
    assert start_disjoint(SetProblem(matrix, (12, 2)), [0, 1]) is None
    late = SetProblem(matrix, (3, 3), deadline=0.0)
    assert search_set(late, SEARCHES["default"], np.random.default_rng(0)) is not None
