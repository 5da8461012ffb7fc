"""A graph in partitions gives the answers and bounds of the same graph in memory; bounds hold for the whole graph."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.checks.graphs import graph_from_edges
from sparseigen.errors import (
    CardinalityError,
    DtypeError,
    GraphFileError,
    GraphTooLargeError,
    NegativeWeightError,
    NodeError,
    OptionError,
    PartitionError,
)
from sparseigen.graphs import bounds as graph_facts
from sparseigen.graphs.cluster_graph import ClusterGraph


@pytest.fixture
def small_parts(monkeypatch):
    """Cores of a few vertices, so that graphs small enough for a test are reduced at all."""
    monkeypatch.setattr(graph_facts, "SMALLEST_PART", 20)
    monkeypatch.setattr(graph_facts, "SMALLEST_LOAD_PART", 40)


def power_law_edges(seed, n_vertices, n_edges, weighted=False):
    rng = np.random.default_rng(seed)
    ranks = (n_vertices * rng.random((2, n_edges)) ** 3).astype(np.int64)
    names = rng.permutation(n_vertices)[ranks]
    columns = [names[0], names[1]]
    if weighted:
        columns.append(rng.integers(1, 9, n_edges) / 4 if weighted == "exact" else rng.random(n_edges))
    return columns


def same(found, expected):
    assert found.nodes == expected.nodes
    # Weights that had to be rounded are added up anew at home, and not on the cluster; others are exact in both.
    assert found.weight == pytest.approx(expected.weight, rel=1e-12)
    assert found.density == pytest.approx(expected.density, rel=1e-12)
    assert found.edge_density == pytest.approx(expected.edge_density, rel=1e-12)
    assert np.array_equal(found.indicator, expected.indicator)
    assert np.array_equal(found.history, expected.history)
    assert found.n_iterations == expected.n_iterations
    assert found.stop_reason == expected.stop_reason
    for key in ("treatment", "self_loops", "duplicate_edges"):
        assert found.settings[key] == expected.settings[key]
    if expected.certificate is None:
        assert found.certificate is None
    else:
        assert found.certificate.upper_bound == expected.certificate.upper_bound
        assert found.certificate.lower_bound == expected.certificate.lower_bound


@pytest.mark.parametrize("weighted", [False, "exact", "rounded"])
@pytest.mark.parametrize("shards", [1, 2, 5])
def test_equals_the_answer_in_memory(client, write_edges, small_parts, weighted, shards):
    edges = power_law_edges(1, 1500, 9000, weighted)
    ks = [3, 8, 10]
    expected = se.density_curve(graph_from_edges(*edges), ks)
    graph = se.read_graph(write_edges(edges), client=client, shards=shards, home_arcs=4000)
    found = se.density_curve(graph, ks)
    assert 40 <= found[3].settings["vertices_at_home"] < 1000
    assert found[3].settings["peeling_rounds"] >= 1
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
    graph = se.read_graph(write_edges(edges), client=client, home_arcs=3000)
    same(se.densest_k_subgraph(graph, 8, **options), expected)


def test_constraints_and_disjoint_sets(client, write_edges, small_parts):
    edges = power_law_edges(3, 900, 6000)
    whole = graph_from_edges(*edges)
    graph = se.read_graph(write_edges(edges), client=client, home_arcs=3000)
    lonely = whole.label(int(np.argmin(np.diff(whole.matrix.indptr))))
    for options in ({"must_include": [lonely]}, {"candidates": np.unique(edges[0])[::2].tolist()}):
        found, expected = (se.densest_k_subgraph(g, 6, **options) for g in (graph, whole))
        assert found.nodes == expected.nodes
        assert found.density == expected.density
        assert found.certificate.upper_bound >= expected.density
    found, expected = (se.disjoint_dense_subgraphs(g, 5, 3) for g in (graph, whole))
    assert [one.nodes for one in found] == [one.nodes for one in expected]


def test_labels_far_apart_and_holes(client, write_edges, small_parts):
    edges = power_law_edges(4, 500, 4000)
    for spread in (lambda v: 3 * v, lambda v: v * 10**9 - 5):
        moved = [spread(edges[0]), spread(edges[1])]
        expected = se.densest_k_subgraph(graph_from_edges(*moved), 6)
        graph = se.read_graph(write_edges(moved), client=client, shards=3, home_arcs=3000)
        same(se.densest_k_subgraph(graph, 6), expected)


def test_sources_without_a_client(write_edges, small_parts):
    """Dask's default scheduler; files, delayed partitions, loaders and a dask dataframe give one answer."""
    import dask

    edges = power_law_edges(5, 400, 3000, weighted="exact")
    expected = se.densest_k_subgraph(graph_from_edges(*edges), 6)
    halves = [[column[rows] for column in edges] for rows in np.array_split(np.arange(3000), 2)]
    sources = [
        write_edges(edges),
        [dask.delayed(tuple)(half) for half in halves],
        [lambda half=half: np.column_stack(half) for half in halves],
    ]
    with dask.config.set(scheduler="synchronous"):
        for source in sources:
            same(se.densest_k_subgraph(se.read_graph(source, home_arcs=3000), 6), expected)
        same(se.densest_k_subgraph(sources[0], 6), expected)


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
            graph = se.read_graph(pattern, home_arcs=int(share * np.count_nonzero(symmetric)), shards=2)
            try:
                result = se.densest_k_subgraph(graph, k, self_loops="keep")
            except GraphTooLargeError:
                continue
            reduced += result.settings["vertices_at_home"] < len(used)
            assert result.weight <= best
            assert result.certificate.upper_bound * k >= best
            assert not result.certificate.optimal or result.weight == best
    return reduced


def test_long_chains_are_finished_at_home(client, write_edges, small_parts):
    """A path peels two vertices a round; the core must not wait for it once the rest fits at home."""
    clique = np.array(list(combinations(range(60), 2))).T
    path = np.array([np.arange(60, 3000), np.arange(61, 3001)])
    edges = [np.concatenate([clique[i], path[i], [0] if i == 0 else [60]]) for i in range(2)]
    graph = se.read_graph(write_edges(edges), client=client, home_arcs=9000)
    result = se.densest_k_subgraph(graph, 10)
    same(result, se.densest_k_subgraph(graph_from_edges(*edges), 10))
    assert result.settings["peeling_rounds"] < 50


def test_no_core_small_enough(client, write_edges, small_parts):
    ring = [np.arange(500), (np.arange(500) + 1) % 500]
    graph = se.read_graph(write_edges(ring), client=client, home_arcs=300)
    with pytest.raises(GraphTooLargeError, match=r"holds 40 vertices has 500 vertices and 1000 entries.*home_arcs=300"):
        se.densest_k_subgraph(graph, 5)


def test_what_needs_the_whole_graph_is_refused(client, write_edges):
    graph = se.read_graph(write_edges(power_law_edges(6, 50, 300)), client=client)
    with pytest.raises(OptionError, match=r"method='greedy-ravi'.*whole graph in memory"):
        se.densest_k_subgraph(graph, 5, method="greedy-ravi")
    with pytest.raises(OptionError, match="start='peel' with polish='swap'"):
        se.densest_k_subgraph(graph, 5, start="peel")
    with pytest.raises(CardinalityError, match="k=99"):
        se.densest_k_subgraph(graph, 99)
    with pytest.raises(NodeError, match="must_include holds 1234"):
        se.densest_k_subgraph(graph, 5, must_include=[1234])
    with pytest.raises(NodeError, match="must_include holds 'a'"):
        se.densest_k_subgraph(graph, 5, must_include=["a"])


def fails():
    raise RuntimeError("disk on fire")


@pytest.mark.parametrize(
    ("bad", "error", "match"),
    [
        (fails, PartitionError, r"partition 1 \(fails\) cannot be loaded: RuntimeError: disk on fire"),
        (lambda: np.zeros((3, 5)), PartitionError, r"partition 1 .* of shape \(3, 5\)"),
        (lambda: (np.arange(3), np.arange(4)), PartitionError, r"partition 1 .* shapes \[\(3,\), \(4,\)\]"),
        (lambda: (np.array(["a"]), np.array(["b"])), DtypeError, "partition 1 .* whole numbers"),
        (lambda: (np.array([0.5]), np.array([1])), PartitionError, "partition 1 .* holds 0.5 as a vertex"),
        (lambda: (np.array([1]), np.array([2]), np.array([1.0])), PartitionError, "partition 1 .* has weights, unlike"),
        (lambda: 7, PartitionError, "partition 1 .* is a int"),
    ],
)
def test_a_bad_partition_is_named(client, bad, error, match):
    good = lambda: (np.array([0, 1]), np.array([1, 2]))  # noqa: E731
    graph = se.read_graph([good, bad], client=client)
    with pytest.raises(error, match=match):
        se.densest_k_subgraph(graph, 2)


def test_bad_weights_name_partition_and_edge(client):
    def with_weight(weight):
        return se.read_graph([lambda: (np.array([0]), np.array([1]), np.array([weight]))], client=client)

    with pytest.raises(NegativeWeightError, match=r"partition 0 .*edge \(0, 1\) has weight -1.0"):
        se.densest_k_subgraph(with_weight(-1.0), 2)
    with pytest.raises(PartitionError, match=r"partition 0 .*edge \(0, 1\) has weight nan"):
        se.densest_k_subgraph(with_weight(np.nan), 2)


def test_reading_names_what_is_wrong(client, tmp_path, write_edges):
    with pytest.raises(GraphFileError, match="no file matches"):
        se.read_graph(str(tmp_path / "*.parquet"), client=client)
    (tmp_path / "notes.txt").write_text("0 1\n")
    with pytest.raises(GraphFileError, match="must be parquet files"):
        se.read_graph(str(tmp_path / "*.txt"), client=client)
    with pytest.raises(OptionError, match="'shards' is for edges in partitions"):
        se.read_graph(str(tmp_path / "notes.txt"), shards=2)
    pattern = write_edges([np.array([0]), np.array([1])], parts=1, names=("a", "b"))
    graph = se.read_graph(pattern, client=client, columns=("x", "b"))
    assert isinstance(graph, ClusterGraph)
    assert repr(graph) == "ClusterGraph(1 partitions, 2 shards)"
    with pytest.raises(PartitionError, match=r"partition 0 \(part-000.parquet\) has columns \['a', 'b'\]; \['x'\] not"):
        se.densest_k_subgraph(graph, 1)
    assert se.densest_k_subgraph(se.read_graph(pattern, client=client, columns=("a", "b")), 2).weight == 2.0
    with pytest.raises(OptionError, match="columns="):
        se.read_graph(pattern, client=client, columns=("a",))
    with pytest.raises(OptionError, match=r"client='tcp://x' must be a dask.distributed.Client"):
        se.read_graph(pattern, client="tcp://x")


def test_sums_of_repeated_edges_are_bracketed(client, write_edges):
    rng = np.random.default_rng(3)
    for weights in ([0.1, 0.7], [0.1, 0.9], *(rng.random(int(rng.integers(2, 7))) for _ in range(4))):
        source = np.array([0] * len(weights) + [2])
        edges = [source, source + 1, np.array([*weights, 1e-9])]
        proof = se.densest_k_subgraph(se.read_graph(write_edges(edges), client=client), 2).certificate
        exact = sum(Fraction(float(weight)) for weight in weights)
        assert Fraction(proof.lower_bound) <= exact <= Fraction(proof.upper_bound)
