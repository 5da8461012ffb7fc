"""Shards of a graph: together they are the graph, however many there are."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.graphs import shards as on_shard
from sparseigen.graphs.model import choose_unit, join_facts
from sparseigen.rows.partitions import Edges


def build_shards(edges: Edges, n_shards: int, space: int) -> list[on_shard.ArcShard]:
    halves = [Edges(*(None if column is None else column[rows] for column in edges))
              for rows in np.array_split(np.arange(len(edges.source)), 2)]  # fmt: skip
    split = [on_shard.split_edges(half, n_shards) for half in halves]
    shards = []
    for number in range(n_shards):
        pieces = [parts[number] for parts in split]
        labels = on_shard.find_shard_labels(pieces, n_shards, space)
        shards.append(on_shard.build_arc_shard(pieces, labels, None, n_shards, space))
    return shards


@pytest.fixture
def edges(rng) -> Edges:
    ends = rng.integers(0, 40, (2, 300))
    return Edges(ends[0], ends[1], rng.integers(1, 5, 300))


@pytest.mark.parametrize("n_shards", [1, 2, 7])
def test_rows_and_contributions_are_those_of_the_graph(edges, n_shards):
    dense = np.zeros((40, 40), dtype=np.int64)
    np.add.at(dense, (edges.source, edges.target), edges.weight)
    shards = build_shards(edges, n_shards, 40)
    facts = [on_shard.find_arc_facts(shard) for shard in shards]
    assert sum(part.arcs for part in facts) == np.count_nonzero(dense)
    assert sum(part.loops for part in facts) == np.count_nonzero(dense.diagonal())
    unit = choose_unit(join_facts([part.weights for part in facts]))
    rows = [on_shard.build_row_shard(shard, "sum", unit, True) for shard in shards]
    symmetric = dense + dense.T
    loops = symmetric.diagonal()
    for shard in rows:
        expected = 2 * (symmetric.sum(axis=1) - loops)[shard.vertices] + loops[shard.vertices]
        assert np.array_equal(on_shard.find_contributions(shard), expected)
    marked = np.arange(0, 40, 3)
    bits = on_shard.pack_vertices(marked, 40)
    kept = [on_shard.restrict_shard(shard, bits, 40, True) for shard in rows]
    sizes = [on_shard.summarise(shard) for shard in kept]
    inside = symmetric[np.ix_(marked, marked)]
    assert sum(size.entries for size in sizes) == np.count_nonzero(inside) - np.count_nonzero(inside.diagonal())
    assert sum(size.weight for size in sizes) == 2 * inside.sum() - inside.diagonal().sum()


def test_facts_of_edges(edges):
    facts = on_shard.find_edge_facts(edges)
    assert facts == (300, min(map(np.min, edges[:2])), max(map(np.max, edges[:2])), True)
    empty = np.zeros(0, dtype=np.int64)
    assert on_shard.find_edge_facts(Edges(empty, empty, None)) == (0, 0, -1, False)


def test_labels_are_found_and_named(edges):
    shards = build_shards(edges, 3, 40)
    wanted = np.array([2, 11, 25])
    places = [on_shard.locate_labels(shard, wanted) for shard in shards]
    assert sorted(np.concatenate([place for place, _ in places]).tolist()) == [0, 1, 2]
    for shard, (place, numbers) in zip(shards, places, strict=True):
        present, labels, _ = on_shard.name_vertices(shard, wanted)
        assert np.array_equal(present, place)
        assert np.array_equal(labels, numbers)


def test_largest_values():
    values = np.array([3, 9, 1, 7])
    assert on_shard.find_largest(values, 2).tolist() == [9, 7]
    assert on_shard.find_largest(values, 9).tolist() == [9, 7, 3, 1]
    assert on_shard.find_largest_removed((values, values), 1)[0] == 4
