"""Small sets: no bound below what enumeration finds, and sparse graphs proven where relaxations stay open."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.graphs.bounds import GraphFacts, UpperBounds
from sparseigen.graphs.branching import Bracket
from sparseigen.graphs.small_sets import METHOD, SmallSets
from tests.unit.graphs.random_graphs import heaviest_sets, integer_graph, random_graph


def climb(matrix, count, work=1e9):
    graph = integer_graph(matrix)
    facts = GraphFacts(graph, graph.size)
    bounds = UpperBounds(facts)
    bracket = Bracket(count, np.arange(count), int(matrix[:count, :count].sum()), bounds.best(count)[0], "")
    small = SmallSets(facts, bounds.values, work, np.inf)
    small.climb([bracket], 0.0)
    return small, bracket


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("work", [1e9, 2e4, 0.0], ids=["much", "little", "none"])
def test_no_bound_is_below_the_best_set(seed, work):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 11))
    matrix = random_graph(rng, size, rng.uniform(0.2, 0.9)).toarray()
    best = heaviest_sets(matrix)
    count = int(rng.integers(2, size + 1))
    small, bracket = climb(matrix, count, work)
    assert (small.bounds() >= best[1:]).all()
    assert bracket.value <= best[count] <= bracket.bound
    assert matrix[np.ix_(bracket.vertices, bracket.vertices)].sum() == bracket.value


def test_a_sparse_graph_is_proven_and_a_better_set_is_found():
    rng = np.random.default_rng(3)
    matrix = random_graph(rng, 300, 0.03).toarray()
    inside = rng.permutation(300)[:9]
    matrix[np.ix_(inside, inside)] = 1.0 - np.eye(9)
    small, bracket = climb(matrix, 8)
    assert bracket.value == bracket.bound == 56
    assert bracket.improved
    assert small.work_done > 0.0


def test_small_sets_of_a_large_sparse_graph_are_proven():
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 4000, (30_000, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    upper = sp.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(4000, 4000))
    graph = ((upper + upper.T) > 0).astype(float).tocsr()
    result = se.densest_k_subgraph(graph, 6, effort="thorough")
    assert result.certificate.optimal
    assert result.certificate.method == METHOD
    assert se.verify(result, graph)
    boasted = replace(result.certificate, upper_bound=0.99 * result.certificate.upper_bound, lower_bound=0.0)
    assert not se.verify(replace(result, certificate=boasted), graph, time_limit=0.5)


@pytest.mark.parametrize("kind", ["weights", "loops"])
def test_graphs_with_weights_or_loops_are_left_to_other_bounds(kind):
    matrix = random_graph(np.random.default_rng(1), 12, 0.5).toarray()
    assert SmallSets.applies(GraphFacts(integer_graph(matrix), 4))
    if kind == "weights":
        matrix[0, 1] = matrix[1, 0] = 3.0
    else:
        matrix[2, 2] = 1.0
    assert not SmallSets.applies(GraphFacts(integer_graph(matrix), 4))
