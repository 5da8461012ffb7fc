"""Brackets of a curve share their proofs; none falls below the best set."""

import numpy as np
import pytest

from sparseigen.graphs import dense_part
from sparseigen.graphs.bounds import GraphFacts, UpperBounds
from sparseigen.graphs.branching import Bracket
from sparseigen.graphs.proving import PartBounds, ProofEffort, Prover
from tests.unit.graphs.random_graphs import heaviest_sets, integer_graph, weighted_matrix


def open_brackets(graph, facts):
    bounds = UpperBounds(facts)
    brackets = []
    for count in range(2, graph.size + 1):
        members = np.arange(count)
        value = int(graph.induced(members).degrees.sum())
        brackets.append(Bracket(count, members, value, max(value, bounds.best(count)[0]), "quick"))
    return brackets, bounds.values


@pytest.mark.parametrize("largest", [4, 100])
@pytest.mark.parametrize("seed", range(6))
def test_no_bracket_falls_below_the_best_set(seed, largest, monkeypatch):
    monkeypatch.setattr(dense_part, "SMALLEST_DENSE", 0)
    rng = np.random.default_rng(seed)
    matrix = weighted_matrix(rng, int(rng.integers(6, 11)))
    graph = integer_graph(matrix)
    best = heaviest_sets(matrix) / graph.unit
    facts = GraphFacts(graph, graph.size)
    brackets, known = open_brackets(graph, facts)
    Prover(facts, brackets, known, ProofEffort(0.0, 3e8, largest, branch=True)).run()
    for bracket in brackets:
        assert bracket.value <= best[bracket.count] <= bracket.bound


def test_a_proof_for_one_size_serves_the_others():
    rng = np.random.default_rng(8)
    matrix = weighted_matrix(rng, 90, loops=False)
    graph = integer_graph(matrix)
    facts = GraphFacts(graph, graph.size)
    brackets, known = open_brackets(graph, facts)
    before = {bracket.count: bracket.bound for bracket in brackets}
    seen = []
    prover = Prover(facts, brackets, known, ProofEffort(1e-3, 1.0, 200), on_bracket=seen.append)
    prover.run()  # the work is enough for one look at one size
    better = [bracket.count for bracket in brackets if bracket.bound < before[bracket.count]]
    assert len(better) > 1
    assert len({bracket.count for bracket in seen}) == 1


def test_the_sizes_inside_a_part_are_weighed_with_what_is_outside():
    matrix = weighted_matrix(np.random.default_rng(2), 8)
    graph = integer_graph(matrix)
    facts = GraphFacts(graph, 4)
    part = dense_part.find_dense_part(facts, np.arange(4), 100, 0.0)
    table = PartBounds(part, 4, UpperBounds(facts).values)
    assert table.bound(4, 1) == UpperBounds(facts).best(4)[0]
    assert table.find_weakest(4, first=True)[0] == 4
    assert table.leaving(Bracket(4, np.arange(4), 1, 9, "")) == 0
