"""What the workers do for Algorithm 2, shard by shard, is what dense arithmetic does for the whole graph."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.graphs import cluster_power
from sparseigen.graphs.shards import RowShard


@pytest.fixture(params=[False, True], ids=["unit weights", "weights"])
def graph(request, rng):
    """A symmetric matrix of whole numbers, its loops, and three shards of it."""
    upper = np.triu(rng.random((30, 30)) < 0.3, 1) * (rng.integers(1, 6, (30, 30)) if request.param else 1)
    matrix, loops = upper + upper.T, rng.integers(0, 3, 30)
    shards = []
    for number in range(3):
        vertices = np.arange(number, 30, 3)
        rows = matrix[vertices]
        starts = np.concatenate([[0], np.cumsum((rows > 0).sum(axis=1))])
        weights = rows[rows > 0] if request.param else np.zeros(0, dtype=np.int64)
        degrees = rows.sum(axis=1) + loops[vertices]
        shards.append(RowShard(vertices, starts, np.nonzero(rows)[1], weights, loops[vertices], degrees))
    return matrix, loops, shards


def test_products_weights_and_degrees(graph, rng):
    matrix, loops, shards = graph
    sets = [np.sort(rng.choice(30, count, replace=False)) for count in (1, 8, 30)]
    found = np.zeros((3, 30), dtype=np.int64)
    for shard in shards:
        found[:, shard.vertices] = cluster_power.multiply_shard(shard, sets, 30)
    weights = np.sum([cluster_power.weigh_sets(shard, sets) for shard in shards], axis=0)
    for chosen, product, weight in zip(sets, found, weights, strict=True):
        np.testing.assert_array_equal(product, matrix[:, chosen].sum(axis=1))
        assert weight == matrix[np.ix_(chosen, chosen)].sum() + loops[chosen].sum()
    best = cluster_power.choose_best(
        [cluster_power.find_largest_degrees(shard, np.array([4]), 7) for shard in shards], 7
    )
    degrees = matrix.sum(axis=1) + loops
    degrees[4] = degrees.max() + 1  # a vertex that must be in comes first
    assert best.tolist() == sorted(np.lexsort((np.arange(30), -degrees))[:7].tolist())


@pytest.mark.parametrize("shift", [0, 5, 1000])
def test_the_best_of_all_shards_are_the_best_of_the_graph(graph, shift, rng):
    """Ties go to the lowest number, whichever shards hold them."""
    matrix, loops, shards = graph
    chosen = np.sort(rng.choice(30, 9, replace=False))
    parts = [
        cluster_power.find_best(shard, cluster_power.multiply_shard(shard, [chosen], 30), [chosen], [shift], chosen[:0])
        for shard in shards
    ]
    scores = 2 * matrix[:, chosen].sum(axis=1)
    scores[chosen] += 2 * loops[chosen] + shift
    best = cluster_power.choose_best([part[0] for part in parts], 9)
    assert best.tolist() == sorted(np.lexsort((np.arange(30), -scores))[:9].tolist())
    assert shift < 1000 or np.array_equal(best, chosen)
