"""Sets keep their products right while vertices come and go; the greedy sets and Algorithm 2."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from sparseigen.checks.graph_objects import check_graph
from sparseigen.graphs.model import build_graph
from sparseigen.graphs.vertex_sets import VertexSet, feige_set, heaviest_edge, ravi_order, relaxed_set, truncated_power
from sparseigen.results import StopReason


@pytest.fixture
def graph(rng):
    upper = np.triu(rng.random((30, 30)) < 0.3) * rng.integers(1, 5, (30, 30))
    return build_graph(check_graph(np.maximum(upper, upper.T)), directed="average", self_loops="keep")[0]


def test_moves_keep_product_and_value(graph, rng):
    chosen = VertexSet.of(graph, np.arange(8))
    for _ in range(20):
        entering = rng.choice(np.flatnonzero(chosen.members == 0), 3, replace=False)
        leaving = rng.choice(chosen.vertices, 3, replace=False)
        expected = chosen.value_after(entering, leaving)
        chosen.move(entering, leaving)
        anew = VertexSet.of(graph, np.flatnonzero(chosen.members))
        assert chosen.value == anew.value == expected
        assert np.array_equal(chosen.product, anew.product)


def test_a_copy_is_apart(graph):
    chosen = VertexSet.of(graph, np.arange(5))
    chosen.copy().move(np.array([7]), np.array([0]))
    assert chosen.vertices.tolist() == [0, 1, 2, 3, 4]
    assert chosen.value == VertexSet.of(graph, np.arange(5)).value


def test_algorithm_2_ends_and_never_falls(graph):
    chosen = VertexSet.of(graph, np.arange(6))
    run = truncated_power(chosen, 6, graph.no_flags())
    assert run.stop_reason in (StopReason.FIXED_POINT, StopReason.VALUE_STALLED)
    assert run.history == sorted(run.history)
    assert run.history[-1] == chosen.value
    assert truncated_power(VertexSet.of(graph, np.arange(6)), 6, graph.no_flags(), max_iterations=1).n_iterations == 1


def test_greedy_sets_hold_what_is_fixed(graph):
    fixed = graph.no_flags()
    fixed[[3, 17]] = 1
    for found in (feige_set(graph, 7, fixed), ravi_order(graph, 7, fixed), relaxed_set(graph, 7, fixed)[0]):
        assert len(set(found.tolist())) == 7
        assert {3, 17} <= set(found.tolist())


@pytest.mark.parametrize(
    ("edges", "expected"),
    [([(0, 1, 1), (1, 2, 4), (2, 3, 2)], [1, 2]), ([(0, 1, 1), (0, 2, 1), (2, 3, 1)], [0, 2]), ([], [0])],
    ids=["weights", "degrees", "no edges"],
)
def test_heaviest_edge(edges, expected):
    source = nx.empty_graph(4)
    source.add_weighted_edges_from(edges)
    graph, _ = build_graph(check_graph(source), directed="average", self_loops="drop")
    assert heaviest_edge(graph).tolist() == expected
