"""The default search finds what is planted, also in a part of a large graph; seeds and threads."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from tests.unit.graphs.random_graphs import random_graph


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
