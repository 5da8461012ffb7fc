"""Bounds for every k are never below the best set; certificates are rounded outwards."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.checks.graph_objects import check_graph
from sparseigen.graphs.bounds import WEIGHT_BOUNDS, GraphFacts, UpperBounds, round_down
from sparseigen.graphs.model import IntegerGraph, build_graph
from tests.unit.graphs.random_graphs import bracket_of


def small_graph(seed, *, weighted, loops):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((9, 9)) < 0.5, 0 if loops else 1) * (rng.integers(1, 6, (9, 9)) if weighted else 1)
    return np.maximum(upper, upper.T)


def best_weight(matrix, k):
    return max(int(matrix[np.ix_(chosen, chosen)].sum()) for chosen in map(list, combinations(range(len(matrix)), k)))


@pytest.mark.parametrize("name", sorted(WEIGHT_BOUNDS))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loops", [False, True])
def test_no_bound_is_below_the_best(name, weighted, loops):
    for seed in range(4):
        matrix = small_graph(seed, weighted=weighted, loops=loops)
        graph, _ = build_graph(check_graph(matrix), directed="average", self_loops="keep")
        bounds = WEIGHT_BOUNDS[name](GraphFacts(graph, 9), 9)
        for k in range(1, 10):
            assert graph.unit * bounds[k - 1] >= best_weight(matrix, k)


def test_the_certificate_takes_the_smallest_bound():
    matrix = small_graph(1, weighted=True, loops=False)
    graph, _ = build_graph(check_graph(matrix), directed="average", self_loops="drop")
    facts = GraphFacts(graph, 9)
    for k in range(1, 10):
        best = best_weight(matrix, k)
        proof = UpperBounds(facts).certificate(k, int(best / graph.unit))
        smallest = min(int(bound(facts, 9)[k - 1]) for bound in WEIGHT_BOUNDS.values())
        assert Fraction(proof.lower_bound) <= Fraction(best, k) <= Fraction(proof.upper_bound)
        assert proof.upper_bound <= -round_down(Fraction(-smallest) * Fraction(graph.unit) / k)
        assert proof.method in WEIGHT_BOUNDS


@pytest.mark.parametrize("number", [Fraction(1, 3), Fraction(-1, 3), Fraction(5, 2), Fraction(2, 7)])
def test_rounding_down_never_rounds_up(number):
    low = round_down(number)
    assert Fraction(low) <= number < Fraction(float(np.nextafter(low, np.inf)))


def test_densities_that_are_no_floats_are_bracketed_and_still_proven():
    """A third was rounded to the nearest float, at both ends alike: one of them was wrong."""
    path = np.diag([1, 1], 1) + np.diag([1, 1], -1)
    result, low, high = bracket_of(path, 3)
    assert low <= Fraction(4, 3) <= high
    assert low < high
    assert result.certificate.optimal
    assert result.certificate.relative_gap < 3e-16
    assert not se.densest_k_subgraph(sp.csr_array(np.ones((6, 6)) - np.eye(6)), 3).certificate.upper_bound > 2.0


def test_a_gap_of_one_unit_is_not_called_optimal_however_large_the_numbers():
    bounds = object.__new__(UpperBounds)
    bounds.names, bounds.which, bounds.values = ["pairs"], np.zeros(3, dtype=int), np.array([0, 0, 2**55 + 1])
    bounds.graph = IntegerGraph(None, None, 1.0, True)
    assert not bounds.certificate(3, 2**55).optimal
    assert bounds.certificate(3, 2**55 + 1).optimal
