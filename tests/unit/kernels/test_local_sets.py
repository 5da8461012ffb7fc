"""Sets searched around their first vertex: both twins agree, and find a set exactly where enumeration does."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels import local_sets


def draw(rng, size, share):
    upper = np.triu(rng.random((size, size)) < share, 1)
    dense = upper | upper.T
    matrix = sp.csr_array(dense.astype(np.int8))
    return dense, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


def enumerate_edges(dense, count):
    """Edges, least and largest degree of all sets of so many vertices."""
    found = []
    for chosen in combinations(range(len(dense)), count):
        inner = dense[np.ix_(chosen, chosen)]
        degrees = inner.sum(axis=1)
        found.append((int(inner.sum()) // 2, int(degrees.min()), int(degrees.max())))
    return found


@pytest.mark.parametrize("twin", [local_sets, graph_kernels], ids=["numpy", "active"])
@pytest.mark.parametrize("seed", range(6))
def test_a_set_is_found_exactly_where_there_is_one(twin, seed):
    rng = np.random.default_rng(seed)
    dense, starts, neighbours = draw(rng, int(rng.integers(6, 11)), rng.uniform(0.4, 0.8))
    sets = [enumerate_edges(dense, q) if q else [(0, 0, 0)] for q in range(7)]
    caps = np.array([max(edges for edges, _, _ in group) for group in sets], dtype=np.int64)
    for count in (4, 5, 6):
        for least in range(1, count):
            for edges in range(count, count * (count - 1) // 2 + 1):
                central = max(least, count - 1 - least, int(rng.integers(1, count)))
                exists = any(e >= edges and low >= least and high >= central for e, low, high in sets[count])
                verdict, chosen, _ = twin.find_local_set(
                    starts, neighbours, count, edges, least, central, caps[: count + 1], 1_000_000
                )
                assert verdict == (local_sets.FOUND if exists else local_sets.NONE)
                if exists:
                    assert len(set(chosen.tolist())) == count
                    assert dense[np.ix_(chosen, chosen)].sum() >= 2 * edges


@pytest.mark.parametrize("seed", range(4))
def test_twins_take_the_same_way(seed):
    rng = np.random.default_rng(seed)
    _, starts, neighbours = draw(rng, 90, 0.25)
    caps = np.array([q * (q - 1) // 2 for q in range(9)], dtype=np.int64)
    for edges, least, most_work in ((20, 4, 10_000_000), (24, 4, 10_000_000), (24, 4, 3000), (22, 3, 20_000)):
        answers = [
            twin.find_local_set(starts, neighbours, 8, edges, least, max(least, 4), caps, most_work)
            for twin in (local_sets, graph_kernels)
        ]
        assert answers[0][0] == answers[1][0]
        assert answers[0][1].tolist() == answers[1][1].tolist()
        assert answers[0][2] == answers[1][2]


def test_a_search_that_would_take_too_long_is_given_up():
    _, starts, neighbours = draw(np.random.default_rng(5), 90, 0.25)
    caps = np.array([q * (q - 1) // 2 for q in range(9)], dtype=np.int64)
    assert graph_kernels.find_local_set(starts, neighbours, 8, 26, 4, 4, caps, 5)[0] == local_sets.GIVEN_UP


def test_shared_neighbours_are_those_of_the_squared_matrix():
    dense, starts, neighbours = draw(np.random.default_rng(7), 40, 0.2)
    squared = dense.astype(int) @ dense.astype(int)
    owners = np.repeat(np.arange(40), np.diff(starts))
    for twin in (local_sets, graph_kernels):
        assert twin.count_shared(starts, neighbours).tolist() == squared[owners, neighbours].tolist()
