"""A graph in partitions gives the answers and bounds of the same graph in memory; bounds hold for the whole graph."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.checks.graphs import graph_from_edges
from sparseigen.errors import CardinalityError, GraphTooLargeError, NodeError, OptionError
from sparseigen.graphs import bounds as graph_facts
from tests.on_dask.partitioned_graphs import power_law_edges, same


@pytest.mark.parametrize("weighted", [False, "exact", "rounded"])
@pytest.mark.parametrize("shards", [1, 2, 5])
def test_equals_the_answer_in_memory(client, write_edges, small_parts, weighted, shards):
    edges = power_law_edges(1, 1500, 9000, weighted)
    ks = [3, 8, 10]
    expected = se.density_curve(graph_from_edges(*edges), ks)
    graph = se.read_graph(write_edges(edges), client=client, shards=shards, largest_core=4000)
    found = se.density_curve(graph, ks)
    assert 40 <= found.results[0].settings["core_vertices"] < 1000
    assert found.results[0].settings["peeling_rounds"] >= 1
    for one, other in zip(found, expected, strict=True):
        same(one, other)


@pytest.mark.parametrize(
    "options",
    [
        {"directed": "either"},
        {"self_loops": "keep"},
        {"polish": None, "certify": False},
        {"start": "degree", "polish": None},
        {"start": "degree", "polish": None, "certify": False},
    ],
    ids=str,
)
def test_options_in_both_directions(client, write_edges, small_parts, options):
    first = power_law_edges(2, 800, 5000)
    edges = [np.concatenate([first[0], first[1][:700]]), np.concatenate([first[1], first[0][:700]])]
    expected = se.densest_k_subgraph(graph_from_edges(*edges), 8, **options)
    graph = se.read_graph(write_edges(edges), client=client, largest_core=3000)
    same(se.densest_k_subgraph(graph, 8, **options), expected)


def test_constraints_and_disjoint_sets(client, write_edges, small_parts):
    edges = power_law_edges(3, 900, 6000)
    whole = graph_from_edges(*edges)
    graph = se.read_graph(write_edges(edges), client=client, largest_core=3000)
    lonely = whole.label(int(np.argmin(np.diff(whole.matrix.indptr))))
    for options in ({"must_include": [lonely]}, {"candidates": np.unique(edges[0])[::2].tolist()}):
        found, expected = (se.densest_k_subgraph(g, 6, **options) for g in (graph, whole))
        assert found.nodes == expected.nodes
        assert found.density == expected.density
        assert found.certificate.upper_bound >= expected.density
    found, expected = (se.disjoint_dense_subgraphs(g, 5, 3) for g in (graph, whole))
    assert [one.nodes for one in found] == [one.nodes for one in expected]


def brute_force_weight(matrix, k):
    return max(matrix[np.ix_(chosen, chosen)].sum() for chosen in map(list, combinations(range(len(matrix)), k)))


def test_bound_never_below_the_optimum(write_edges, monkeypatch):
    """The smallest parts allowed: the core at home is hardly larger than k, and the bound must hold for all."""
    import dask

    monkeypatch.setattr(graph_facts, "SMALLEST_PART", 1)
    monkeypatch.setattr(graph_facts, "SMALLEST_LOAD_PART", 1)
    monkeypatch.setattr(graph_facts, "SPARE", 1)
    with dask.config.set(scheduler="synchronous"):
        reduced = sum(reductions_checked(seed, write_edges) for seed in range(8))
    assert reduced >= 20


def reductions_checked(seed, write_edges):
    """Check answers for many k on one small random graph; how many of them came from a true part of it."""
    rng = np.random.default_rng(seed)
    size = 13
    upper = np.triu(rng.random((size, size)) < rng.uniform(0.15, 0.6), int(rng.integers(2)))
    matrix = upper * (rng.integers(1, 5, (size, size)) if seed % 2 else 1)
    first, second = np.nonzero(matrix)
    used = np.unique(np.concatenate([first, second]))
    symmetric = np.maximum(matrix, matrix.T)[np.ix_(used, used)]
    pattern = write_edges([first, second, matrix[first, second]])
    reduced = 0
    for k in range(2 + seed % 2, len(used), 2):
        best = brute_force_weight(symmetric, k)
        for share in (0.4, 0.8):
            graph = se.read_graph(pattern, largest_core=int(share * np.count_nonzero(symmetric)), shards=2)
            try:
                result = se.densest_k_subgraph(graph, k, self_loops="keep")
            except GraphTooLargeError:
                continue
            reduced += result.settings["core_vertices"] < len(used)
            assert result.weight <= best
            assert result.certificate.upper_bound * k >= best
            assert not result.certificate.optimal or result.weight == best
    return reduced


def test_what_needs_the_whole_graph_is_refused(client, write_edges):
    graph = se.read_graph(write_edges(power_law_edges(6, 50, 300)), client=client)
    with pytest.raises(OptionError, match=r"method='greedy-ravi'.*whole graph in memory"):
        se.densest_k_subgraph(graph, 5, method="greedy-ravi")
    with pytest.raises(OptionError, match="start='peel' with polish='swap'"):
        se.densest_k_subgraph(graph, 5, start="peel")
    with pytest.raises(OptionError, match=r"connected=True with start='degree' .* on a cluster it takes start='auto'"):
        se.densest_k_subgraph(graph, 5, connected=True, start="degree", polish=None)
    with pytest.raises(CardinalityError, match="k=99"):
        se.densest_k_subgraph(graph, 99)
    with pytest.raises(NodeError, match="must_include holds 1234"):
        se.densest_k_subgraph(graph, 5, must_include=[1234])
    with pytest.raises(NodeError, match="must_include holds 'a'"):
        se.densest_k_subgraph(graph, 5, must_include=["a"])


def test_every_edge_counts_one_without_weights(client, write_edges, small_parts):
    edges = power_law_edges(7, 400, 3000, weighted="rounded")
    expected = se.densest_k_subgraph(graph_from_edges(*edges[:2]), 6)
    graph = se.read_graph(write_edges(edges), client=client, largest_core=3000)
    found = se.densest_k_subgraph(graph, 6, weight=None)
    same(found, expected)
    assert found.settings["weight"] is None
    with pytest.raises(OptionError, match=r"weight='km' is for graphs in memory.*columns=\(source, target, weight\)"):
        se.densest_k_subgraph(graph, 6, weight="km")


def test_connected_groups_come_from_the_core(client, write_edges, small_parts):
    # Two cliques of five far from each other, and a tree between them: the densest ten vertices are in two pieces.
    first, second = np.triu_indices(5, 1)
    path = np.arange(4, 30)
    edges = [np.concatenate([first, path, first + 30]), np.concatenate([second, path + 1, second + 30])]
    graph = se.read_graph(write_edges(edges), client=client, shards=2)
    plain = se.densest_k_subgraph(graph, 10)
    assert plain.connected_parts == 2
    joined = se.densest_k_subgraph(graph, 10, connected=True)
    assert joined.connected_parts == 1
    assert joined.density < plain.density <= joined.certificate.upper_bound
    assert se.densest_k_subgraph(graph_from_edges(*edges), 10, connected=True).density == joined.density
