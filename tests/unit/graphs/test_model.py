"""Weights become whole numbers that stand for them exactly or for no less; how directions and loops are treated."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

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
