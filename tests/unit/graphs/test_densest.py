"""Graphs whose answer is known, constraints, curves, and the promises of the methods."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import CardinalityError, OptionError
from sparseigen.graphs.methods import METHODS, STARTS


def random_graph(rng, n, share):
    upper = np.triu(rng.random((n, n)) < share, 1).astype(float)
    return sp.csr_array(upper + upper.T)


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


@pytest.mark.parametrize("k", [1, 2, 5, 11])
def test_star(k):
    result = se.densest_k_subgraph(nx.star_graph(10), k)
    assert result.weight == 2 * (k - 1)
    assert result.certificate.optimal
    assert k == 1 or 0 in result.nodes


def test_disconnected_takes_the_denser_component():
    graph = nx.disjoint_union(nx.cycle_graph(12), nx.complete_graph(5))
    result = se.densest_k_subgraph(graph, 5)
    assert set(result.nodes) == {12, 13, 14, 15, 16}
    assert result.certificate.optimal


@pytest.mark.parametrize("method", ["tpower", "peel", "greedy-ravi"])
def test_isolated_vertices_come_last(method):
    graph = nx.complete_graph(4)
    graph.add_nodes_from(range(10, 15))
    assert set(se.densest_k_subgraph(graph, 4, method=method).nodes) == {0, 1, 2, 3}
    assert se.densest_k_subgraph(graph, 9, method=method).weight == 12


def test_k_equal_n_is_the_whole_graph(rng):
    graph = random_graph(rng, 40, 0.2)
    result = se.densest_k_subgraph(graph, 40)
    assert result.weight == graph.sum()
    assert result.certificate.optimal


@pytest.mark.parametrize("seed", range(5))
def test_planted_clique_is_found_and_proved(seed):
    rng = np.random.default_rng(seed)
    matrix = random_graph(rng, 400, 0.05).toarray()
    clique = np.sort(rng.choice(400, 15, replace=False))
    matrix[np.ix_(clique, clique)] = 1.0
    np.fill_diagonal(matrix, 0.0)
    result = se.densest_k_subgraph(sp.csr_array(matrix), 15)
    assert result.nodes == tuple(clique.tolist())
    assert result.certificate.optimal
    assert result.edge_density == 1.0


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
    assert result.density <= free.density <= result.certificate.upper_bound


def test_part_of_a_large_graph_is_searched_and_bounds_stay_valid():
    rng = np.random.default_rng(4)
    n, clique = 9000, 30
    pairs = rng.integers(0, n, (40_000, 2))
    pairs = np.vstack([pairs[pairs[:, 0] < pairs[:, 1]], np.argwhere(np.triu(np.ones((clique, clique)), 1))])
    pairs = np.unique(pairs, axis=0)
    result = se.densest_k_subgraph(pairs, clique)
    assert result.nodes == tuple(range(clique))
    assert result.certificate.optimal
    assert result.settings["searched_vertices"] < n
    outside = se.densest_k_subgraph(pairs, 10, must_include=[n - 5])
    assert n - 5 in outside.nodes


def test_curve_keeps_the_order_asked_for_and_helps_itself(rng):
    matrix = random_graph(rng, 100, 0.1)
    curve = se.density_curve(matrix, [20, 5, 10, 5])
    assert curve.ks == [20, 5, 10, 5]
    assert curve.results[1].density == curve.results[3].density == curve[5].density
    for result in curve:
        assert result.density <= result.certificate.upper_bound
        assert result.density >= se.densest_k_subgraph(matrix, result.k, start="degree", polish=None).density
    assert len(curve) == 4
    assert "k = 5 to 20" in repr(curve)
    assert curve.to_dict()["results"][0]["k"] == 20
    with pytest.raises(OptionError, match="ks is empty"):
        se.density_curve(matrix, [])


def test_disjoint_subgraphs_share_no_vertex():
    graph = nx.les_miserables_graph()
    found = se.disjoint_dense_subgraphs(graph, 7, 4)
    nodes = [node for result in found for node in result.nodes]
    assert len(nodes) == len(set(nodes)) == 28
    assert found[0].density == se.densest_k_subgraph(graph, 7).density
    with pytest.raises(CardinalityError, match="need 80"):
        se.disjoint_dense_subgraphs(graph, 8, 10)


def test_same_seed_same_answer_and_generator_accepted(rng):
    matrix = random_graph(rng, 150, 0.08)
    first = se.densest_k_subgraph(matrix, 20, rng=3, polish="tabu")
    second = se.densest_k_subgraph(matrix, 20, rng=np.random.default_rng(3), polish="tabu")
    assert first.nodes == second.nodes


def test_threads_do_not_change_the_answer(rng):
    from sparseigen import kernels

    matrix = random_graph(rng, 300, 0.1)
    before = kernels.thread_count()
    try:
        answers = []
        for threads in (1, 2, 5):
            kernels.set_thread_count(threads)
            answers.append(se.densest_k_subgraph(matrix, 30).nodes)
    finally:
        kernels.set_thread_count(before)
    assert answers[0] == answers[1] == answers[2]


def test_scaling_the_weights_scales_the_answer(rng):
    matrix = random_graph(rng, 60, 0.2)
    matrix.data = rng.random(matrix.nnz)
    matrix = matrix + matrix.T
    one = se.densest_k_subgraph(matrix, 10)
    other = se.densest_k_subgraph(matrix * 1024.0, 10)
    assert one.nodes == other.nodes
    assert other.density == pytest.approx(1024.0 * one.density, rel=1e-12)


def test_result_is_frozen_and_prints():
    result = se.densest_k_subgraph(nx.complete_graph(4), 2, certify=False)
    assert result.certificate is None
    assert "uncertified" in repr(result)
    assert result.to_dict()["certificate"] is None
    with pytest.raises(ValueError, match="read-only"):
        result.indicator[0] = 5
