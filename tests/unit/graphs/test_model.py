"""Weights become whole numbers that stand for them exactly or for no less; how directions and loops are treated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.checks.graph_objects import check_graph
from sparseigen.errors import NonFiniteError
from sparseigen.graphs.model import (
    build_graph,
    choose_unit,
    convert_to_units,
    find_weight_facts,
    join_facts,
    outgoing_graph,
)
from tests.unit.graphs.random_graphs import bracket_of


@pytest.mark.parametrize(
    ("values", "unit", "exact"),
    [([1, 1, 1], 1.0, True), ([3, 5], 1.0, True), ([0.5, 2.25], 0.25, True), ([0.1, 0.7], None, False)],
)
def test_the_unit(values, unit, exact):
    weights = np.array(values)
    chosen = choose_unit(find_weight_facts(weights))
    assert chosen.exact == exact
    assert unit is None or chosen.unit == unit
    numbers = convert_to_units(weights, chosen)
    if chosen.all_ones:
        assert numbers.size == 0
    else:
        assert (numbers * chosen.unit >= weights).all()
        assert not exact or np.array_equal(numbers * chosen.unit, weights)


def test_facts_of_parts_add_up():
    parts = [np.array([1, 4]), np.array([0.5, 3.0]), np.zeros(0)]
    joined = join_facts([find_weight_facts(part) for part in parts])
    assert (joined.count, joined.low, joined.high, joined.total) == (4, 0.5, 4, 8.5)
    assert (joined.integers, joined.halvings) == (False, 1)
    assert join_facts([find_weight_facts(np.array([0.1])), find_weight_facts(np.array([1]))]).halvings is None


def test_sums_that_overflow_are_refused():
    with pytest.raises(NonFiniteError, match="their sum overflows"):
        choose_unit(find_weight_facts(np.array([1.7e308, 1.7e308, 0.1])))


def test_directions_and_loops():
    arcs = sp.csr_array(np.array([[2, 1, 0], [1, 0, 3], [0, 0, 0]]))
    average, notes = build_graph(check_graph(arcs), directed="average", self_loops="keep")
    assert (average.unit * average.degrees).tolist() == [3.0, 2.5, 1.5]
    assert notes["self_loops"] == "1 kept"
    either, notes = build_graph(check_graph(arcs), directed="either", self_loops="drop")
    assert (either.unit * either.degrees).tolist() == [1.0, 4.0, 3.0]
    assert notes["treatment"] == "directed, either: max(W, W')"
    outgoing = outgoing_graph(check_graph(arcs), self_loops="keep")
    assert outgoing.degrees.tolist() == [3, 4, 0]
    assert outgoing.induced(np.array([0, 1])).degrees.tolist() == [3, 1]


def test_equal_weights_are_not_stored():
    matrix = sp.csr_array(np.array([[0, 6, 6], [6, 0, 0], [6, 0, 0]]))
    graph, _ = build_graph(check_graph(matrix), directed="average", self_loops="drop")
    assert graph.rows.weights.size == 0
    assert graph.unit == 6.0
    assert graph.heaviest == 1


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e300])
def test_graphs_with_extreme_weights(scale):
    weights = np.array([[0.0, 0.3, 0.1], [0.3, 0.0, 0.7], [0.1, 0.7, 0.0]]) * scale
    _, low, high = bracket_of(weights, 2)
    assert low <= Fraction(weights[1, 2]) <= high


def test_weights_whose_sum_overflows_are_refused():
    with pytest.raises(NonFiniteError, match="their sum overflows"):
        se.densest_k_subgraph(sp.csr_array((np.ones((4, 4)) - np.eye(4)) * 1e308), 2)


def test_small_weights_beside_a_huge_one_keep_their_size():
    """Rounded up to whole units, three weights of 1e-16 used to count as three units of the huge one."""
    weights = np.zeros((5, 5))
    weights[0, 1] = weights[1, 0] = 1e20
    weights[2:, 2:] = 1e-16 * (1.0 - np.eye(3))
    result, low, _ = bracket_of(weights, 3, candidates=[2, 3, 4])
    assert result.density == pytest.approx(2e-16)
    assert low <= Fraction(6) * Fraction(1e-16) / 3


def test_averages_of_rounded_weights_are_rounded_twice():
    """Both directions were rounded up by a unit, and half of that was allowed for."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        weights = rng.random((6, 6)) * 10.0 ** rng.uniform(-18.0, 0.0, (6, 6))
        result, low, high = bracket_of(weights, 3)
        chosen = np.flatnonzero(result.indicator)
        inside = [Fraction(float(weights[i, j])) for i in chosen for j in chosen if i != j]
        assert low <= sum(inside) / 3 <= high


def test_integers_beyond_the_floats_are_rounded_up():
    weights = np.zeros((4, 4), dtype=np.int64)
    weights[0, 1] = weights[1, 0] = 2**60 + 1
    weights[2, 3] = weights[3, 2] = 2**60 - 1
    _, low, high = bracket_of(weights, 2)
    assert low <= 2**60 + 1 <= high


@pytest.mark.parametrize("size", [5, 6, 7])
def test_weights_near_the_smallest_number_are_divided_without_a_warning(size):
    weights = np.triu(np.full((size, size), 3e-310), 1)
    weights[0, 1] = 3.1e-310
    _, low, high = bracket_of(weights + weights.T, 2)
    assert low <= Fraction(3.1e-310) <= high


def test_weights_that_differ_only_below_the_unit_are_still_directed():
    matrix = np.array([[0.0, 0.0, 0.98], [0.0, 1e18, 0.0], [0.03, 0.0, 0.0]])
    result = se.densest_k_subgraph(sp.csr_array(matrix), 3, directed="either")
    assert result.settings["treatment"] == "directed, either: max(W, W')"
    assert result.weight == 2.0 * 0.98
