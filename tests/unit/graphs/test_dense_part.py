"""The dense part: sets that leave it never weigh more than the part and the loads outside say."""

import numpy as np
import pytest

from sparseigen.graphs import dense_part
from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.dense_part import find_dense_part
from tests.unit.graphs.random_graphs import integer_graph, weighted_matrix


@pytest.fixture(autouse=True)
def small_graphs_have_parts_too(monkeypatch):
    monkeypatch.setattr(dense_part, "SMALLEST_DENSE", 0)


@pytest.mark.parametrize("seed", range(15))
def test_part_and_outside_bound_every_set(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(6, 12))
    matrix = weighted_matrix(rng, size)
    graph = integer_graph(matrix)
    matrix = matrix / graph.unit
    count = int(rng.integers(2, size // 2))
    part = find_dense_part(
        GraphFacts(graph, size), np.sort(rng.permutation(size)[:count]), int(rng.integers(3, size)), 0.0
    )
    assert np.array_equal(part.matrix(), matrix[np.ix_(part.vertices, part.vertices)])
    inside = np.isin(np.arange(size), part.vertices)
    most = part.outside(size)
    for bits in range(1, 1 << size):
        chosen = np.flatnonzero([bits >> v & 1 for v in range(size)])
        within = chosen[inside[chosen]]
        weight, kept = (matrix[np.ix_(some, some)].sum() for some in (chosen, within))
        assert weight <= kept + most[len(chosen) - len(within)]


def test_what_is_tied_to_the_set_joins_it():
    matrix = np.zeros((40, 40))
    matrix[:6, :6] = 1.0  # a clique; the next two vertices know all of it
    matrix[6:8, :6] = matrix[:6, 6:8] = 1.0
    np.fill_diagonal(matrix, 0.0)
    matrix[20:24, 20:24] = 0.25 * (1.0 - np.eye(4))
    graph = integer_graph(matrix)
    part = find_dense_part(GraphFacts(graph, 6), np.arange(6), 20, 0.0)
    assert {0, 1, 2, 3, 4, 5, 6, 7} <= set(part.vertices.tolist())
    assert len(part.vertices) < 40
    assert part.estimate_reach() >= 30 / graph.unit


def test_a_small_graph_is_its_own_part(monkeypatch):
    monkeypatch.setattr(dense_part, "SMALLEST_DENSE", 100)
    graph = integer_graph(weighted_matrix(np.random.default_rng(1), 12))
    part = find_dense_part(GraphFacts(graph, 4), np.arange(4), 100, 0.0)
    assert len(part.vertices) == 12
    assert part.outside(2).tolist()[0] == 0
    assert (part.outside(2)[1:] < -(10**15)).all()  # nothing is outside
