"""Paths of cardinalities."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.interface import SolverOptions
from sparseigen.solvers.warm_path import RACED, _Climber, _thin_out, warm_path


def test_path_takes_answers_from_larger_and_smaller_cardinalities(rng) -> None:
    """A poor point between good neighbours is replaced, whichever side they are on."""
    matrix = 0.1 * np.eye(8)
    matrix[2:6, 2:6] += 1.0
    for good, poor, sweep in ((4, 3, "_sweep_down"), (3, 4, "_sweep_up")):
        climber = _Climber(as_operator(matrix), [3, 4])
        climber.climb(good, np.arange(2, 2 + good), np.ones(good))
        climber.best[poor] = (SparseVector(np.array([0, 1, 7, 6][:poor]), np.full(poor, poor**-0.5)), 0.1)
        assert getattr(climber, sweep)(1)
        assert climber.best[poor][1] == pytest.approx(poor + 0.1)
        assert not getattr(climber, sweep)(1)


def test_paths_of_supports_too_large_for_dense_problems(data, monkeypatch) -> None:
    """Large k x k problems are solved from products; the answers are those of the dense route."""
    matrix = np.cov(data.T)
    dense = se.cardinality_path(matrix, [2, 6, 8], certify=False)
    for module in ("eigenpairs", "warm_path"):
        monkeypatch.setattr(f"sparseigen.solvers.{module}.LARGEST_DENSE_PROBLEM", 4)
    products = se.cardinality_path(matrix, [2, 6, 8], certify=False)
    np.testing.assert_allclose(products.values, dense.values, rtol=1e-9)


def test_small_groups_far_from_the_leading_directions_are_found(rng) -> None:
    # Many variables that vary together a little, and six that do so strongly: only their own columns show them.
    data = rng.standard_normal((60, 600)) + 0.8 * rng.standard_normal((60, 1)) * (np.arange(600) < 500)
    data[:, 590:596] = rng.standard_normal((60, 1)) + 0.2 * rng.standard_normal((60, 6))
    operator = se.covariance(data, scale=True)
    grid = [2, 3, 4, 6, 9, 14, 20, 32, 48, 80, 120, 200]
    points = dict(zip(grid, warm_path(operator, grid, SolverOptions()), strict=True))
    assert set(points[6][0].indices) == set(range(590, 596))
    for k in (2, 4, 6, 9):
        assert points[k][1] >= se.sparse_eigenvector(operator, k, start="columns").value * (1 - 1e-9)


def test_a_third_of_the_anchors_is_solved_from_many_starts_both_ends_included() -> None:
    assert RACED == 3
    assert _thin_out(range(9)) == [0, 3, 6, 8]
    assert _thin_out([4]) == [4]


def test_points_between_are_found_by_exchanges_in_their_neighbours(rng) -> None:
    data = rng.standard_normal((30, 80)) * rng.uniform(0.5, 2.0, 80)
    operator, grid = se.covariance(data), [2, 3, 4, 5, 7, 9, 12, 16, 22, 30]
    climber = _Climber(operator, grid)
    options = SolverOptions(start="auto", polish="swap")
    climber.race([2, 30], options)
    climber.sweep(options)
    before = dict(climber.best)
    climber.spread(grid[1:-1], options)
    assert any(climber.best[k][1] > before[k][1] * (1.0 + 1e-6) for k in grid)
    for k in grid:
        assert climber.best[k][1] >= before[k][1]
        assert climber.best[k][1] >= 0.99 * se.sparse_eigenvector(operator, k, certify=False).value


def test_a_neighbour_whose_product_is_zero_is_no_start() -> None:
    matrix = np.zeros((6, 6))
    matrix[0, 0] = 1.0
    climber = _Climber(as_operator(matrix), [1, 2, 3])
    for k in (1, 2, 3):
        climber.best[k] = (SparseVector(np.arange(4, 4 - k, -1), np.full(k, k**-0.5)), 0.0)
    names = [name for name, _ in climber._list_neighbours(2)]
    assert names == ["path", "path, from above"]
    for _, start in climber._list_neighbours(2):
        assert np.isfinite(start.weights).all()


def test_paths_of_indefinite_matrices_are_those_of_single_solves(rng) -> None:
    """Points are climbed on a shifted matrix, and solved from many starts on the one given."""
    matrix = rng.standard_normal((40, 40))
    matrix, grid = matrix + matrix.T, [2, 3, 4, 5, 7, 9, 12, 16, 22, 30]
    for (vector, value), k in zip(warm_path(as_operator(matrix), grid, SolverOptions()), grid, strict=True):
        assert value == pytest.approx(vector.weights @ matrix[np.ix_(vector.indices, vector.indices)] @ vector.weights)
        assert value >= se.sparse_eigenvector(matrix, k, certify=False).value * (1.0 - 1e-3)
