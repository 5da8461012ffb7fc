"""Edges in partitions become shards and a core; what is wrong with a partition is said with its name."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.checks.graphs import graph_from_edges
from sparseigen.errors import (
    DtypeError,
    GraphFileError,
    GraphTooLargeError,
    NegativeWeightError,
    OptionError,
    PartitionError,
)
from sparseigen.graphs.cluster_graph import ClusterGraph
from tests.on_dask.partitioned_graphs import power_law_edges, same


def test_labels_far_apart_and_holes(client, write_edges, small_parts):
    edges = power_law_edges(4, 500, 4000)
    for spread in (lambda v: 3 * v, lambda v: v * 10**9 - 5):
        moved = [spread(edges[0]), spread(edges[1])]
        expected = se.densest_k_subgraph(graph_from_edges(*moved), 6)
        graph = se.read_graph(write_edges(moved), client=client, shards=3, largest_core=3000)
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
            same(se.densest_k_subgraph(se.read_graph(source, largest_core=3000), 6), expected)
        same(se.densest_k_subgraph(sources[0], 6), expected)


def test_long_chains_are_finished_at_home(client, write_edges, small_parts):
    """A path peels two vertices a round; the core must not wait for it once the rest fits at home."""
    clique = np.array(list(combinations(range(60), 2))).T
    path = np.array([np.arange(60, 3000), np.arange(61, 3001)])
    edges = [np.concatenate([clique[i], path[i], [0] if i == 0 else [60]]) for i in range(2)]
    graph = se.read_graph(write_edges(edges), client=client, largest_core=9000)
    result = se.densest_k_subgraph(graph, 10)
    same(result, se.densest_k_subgraph(graph_from_edges(*edges), 10))
    assert result.settings["peeling_rounds"] < 50


def test_no_core_small_enough(client, write_edges, small_parts):
    ring = [np.arange(500), (np.arange(500) + 1) % 500]
    graph = se.read_graph(write_edges(ring), client=client, largest_core=300)
    with pytest.raises(
        GraphTooLargeError, match=r"holds 40 vertices has 500 vertices and 1000 entries.*largest_core=300"
    ):
        se.densest_k_subgraph(graph, 5)


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
