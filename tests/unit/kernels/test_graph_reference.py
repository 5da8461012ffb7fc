"""The NumPy graph kernels against dense arithmetic: they run where no extension is built."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.kernels import graph_reference as kernels
from tests.unit.kernels.random_rows import WEIGHTS, make_rows


@pytest.fixture(params=sorted(WEIGHTS))
def case(request, rng):
    return make_rows(rng, 25, request.param)


def test_rows_are_those_of_the_matrix(case):
    rows, matrix = case
    assert rows.size == 25
    np.testing.assert_array_equal(rows.all_weights(), matrix[matrix > 0])
    for vertex in range(25):
        neighbours, weights = rows.entries(vertex)
        np.testing.assert_array_equal(neighbours, np.flatnonzero(matrix[vertex]))
        np.testing.assert_array_equal(weights, matrix[vertex, neighbours])
    chosen = np.array([1, 4, 9, 16])
    np.testing.assert_array_equal(
        kernels.induced(rows, chosen).all_weights().sum(), matrix[np.ix_(chosen, chosen)].sum()
    )


@pytest.mark.parametrize("limit", [0, kernels.BUCKET_LIMIT])
def test_peeling_removes_a_vertex_of_least_contribution(case, limit, monkeypatch):
    """In buckets and in a heap; vertices that must stay go last."""
    monkeypatch.setattr(kernels, "BUCKET_LIMIT", limit)
    rows, matrix = case
    loops, fixed = np.arange(25, dtype=np.int64), np.zeros(25, dtype=np.uint8)
    fixed[[3, 20]] = 1
    order, contributions = kernels.peel(rows, loops, fixed)
    assert sorted(order.tolist()) == list(range(25))
    assert order[-2:].tolist() == [3, 20]
    left = np.ones(25, dtype=bool)
    for vertex, contribution in zip(order, contributions, strict=True):
        values = 2 * matrix @ left + loops
        assert contribution == values[vertex]
        movable = left & (fixed == 0)
        assert fixed[vertex] or contribution == values[movable].min()
        left[vertex] = False


def test_growing_adds_a_vertex_of_largest_contribution(case):
    rows, matrix = case
    loops, priority = np.zeros(25, dtype=np.int64), np.arange(25)
    order = kernels.grow(rows, loops, priority, np.array([7]), 12)
    assert order[0] == 7
    for count in range(1, 12):
        gains = 2 * matrix[:, order[:count]].sum(axis=1)
        outside = np.setdiff1d(np.arange(25), order[:count])
        assert gains[order[count]] == gains[outside].max()


def test_ties_go_to_the_lowest_index_and_fixed_vertices_come_first():
    product, zeros = np.array([5, 7, 5, 7, 5]), np.zeros(5, dtype=np.int64)
    none, last = np.zeros(5, dtype=np.uint8), np.array([0, 0, 0, 0, 1], dtype=np.uint8)
    assert kernels.top_vertices(product, none, zeros, none, 0, 3).tolist() == [0, 1, 3]
    assert kernels.top_vertices(product, none, zeros, last, 0, 3).tolist() == [1, 3, 4]
    assert kernels.top_vertices(product, last, zeros, none, 3, 3).tolist() == [1, 3, 4]
