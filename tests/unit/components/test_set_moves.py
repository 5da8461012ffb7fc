"""One component under constraints: its moves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sparseigen.components.set_moves import find_component, propose_exchanges, solve_supports


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
