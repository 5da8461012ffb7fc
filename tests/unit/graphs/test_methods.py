"""Every method and every start: graphs whose answer is known, constraints, objectives that never fall."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import sparseigen as se
from sparseigen.graphs.methods import METHODS, STARTS
from tests.unit.graphs.random_graphs import random_graph


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_every_method_on_a_complete_graph(method, k):
    result = se.densest_k_subgraph(nx.complete_graph(9), k, method=method)
    assert result.density == k - 1
    assert result.certificate.optimal
    assert result.k == int(result.indicator.sum()) == len(result.nodes)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_on_an_empty_graph(method):
    graph = nx.empty_graph(6)
    result = se.densest_k_subgraph(graph, 3, method=method)
    assert result.density == 0.0
    assert result.certificate.optimal


@pytest.mark.parametrize("method", ["tpower", "peel", "greedy-ravi"])
def test_isolated_vertices_come_last(method):
    graph = nx.complete_graph(4)
    graph.add_nodes_from(range(10, 15))
    assert set(se.densest_k_subgraph(graph, 4, method=method).nodes) == {0, 1, 2, 3}
    assert se.densest_k_subgraph(graph, 9, method=method).weight == 12


@pytest.mark.parametrize("start", sorted(STARTS))
@pytest.mark.parametrize("polish", [None, "swap", "tabu"])
def test_objective_never_falls_and_matches_the_set(start, polish, rng):
    matrix = random_graph(rng, 80, 0.15)
    result = se.densest_k_subgraph(matrix, 12, start=start, polish=polish)
    chosen = np.flatnonzero(result.indicator)
    assert result.weight == matrix[chosen][:, chosen].sum()
    assert (np.diff(result.history) >= 0).all()
    assert result.history[-1] <= result.density <= result.certificate.upper_bound


def test_polish_never_loses(rng):
    matrix = random_graph(rng, 120, 0.1)
    for k in (5, 20, 50):
        plain = se.densest_k_subgraph(matrix, k, start="degree", polish=None).density
        swapped = se.densest_k_subgraph(matrix, k, start="degree").density
        best = se.densest_k_subgraph(matrix, k).density
        assert plain <= swapped <= best


def test_a_start_given_by_labels():
    graph = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(5))
    graph = nx.relabel_nodes(graph, {i: f"v{i}" for i in range(10)})
    result = se.densest_k_subgraph(graph, 5, start=["v6", "v7", "v8"], polish=None)
    assert set(result.nodes) == {"v5", "v6", "v7", "v8", "v9"}


@pytest.mark.parametrize("method", sorted(METHODS))
def test_must_include_and_candidates(method):
    graph = nx.les_miserables_graph()
    allowed = [node for node in graph if node != "Valjean"]
    result = se.densest_k_subgraph(graph, 6, method=method, must_include=["Myriel"], candidates=allowed)
    assert "Myriel" in result.nodes
    assert "Valjean" not in result.nodes
    assert len(set(result.nodes)) == 6
    free = se.densest_k_subgraph(graph, 6, candidates=allowed)
    assert result.density <= free.density
    assert result.density <= result.certificate.upper_bound
