"""Branch and bound inside a part ends with the best set, and its bound holds whenever it is stopped."""

import numpy as np
import pytest

from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.branching import NEVER, Bracket, SetSearch, round_to_step
from sparseigen.graphs.dense_part import find_dense_part
from tests.unit.graphs.random_graphs import heaviest_sets, integer_graph, weighted_matrix


def search_for(matrix, count, *, most_work=np.inf):
    graph = integer_graph(matrix)
    members = np.arange(count)
    value = round(matrix[:count, :count].sum() / graph.unit)
    bracket = Bracket(count, members, max(value, 1), NEVER, "none")
    spent = [0.0]

    def spend(work):
        spent[0] += work
        return spent[0] > most_work

    part = find_dense_part(GraphFacts(graph, count), members, 100, 0.0)
    search = SetSearch(part, bracket, step=1, gap=0.0, spend=spend, report=lambda: None)
    search.bound_root()
    if not search.stopped:
        while search.advance(0, branch=True):
            pass
    return search, bracket, graph


@pytest.mark.parametrize("seed", range(10))
def test_the_search_ends_with_the_best_set(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(5, 11))
    count = int(rng.integers(2, size))
    matrix = weighted_matrix(rng, size)
    search, bracket, graph = search_for(matrix, count)
    best = round(heaviest_sets(matrix)[count] / graph.unit)
    assert bracket.value == search.bound == best
    if bracket.improved:
        assert matrix[np.ix_(bracket.vertices, bracket.vertices)].sum() / graph.unit == best


def test_a_stopped_search_has_a_bound():
    rng = np.random.default_rng(4)
    matrix = weighted_matrix(rng, 11, loops=False)
    search, _, graph = search_for(matrix, 5, most_work=1.0)
    assert search.stopped
    assert search.bound >= heaviest_sets(matrix)[5] / graph.unit


def test_bounds_are_rounded_to_what_sets_can_weigh():
    assert round_to_step(7.9, 2) == 6
    assert round_to_step(8.0, 2) == 8
    assert round_to_step(np.inf, 2) == NEVER
    assert Bracket(2, np.arange(2), 6, 8, "").gap == 0.25
