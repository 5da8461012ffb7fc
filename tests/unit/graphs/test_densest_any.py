"""The densest subgraph of any size, as networkx asks for it: against all subsets, and one round of peeling."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from sparseigen.checks.graph_objects import check_graph
from sparseigen.graphs import densest_any
from sparseigen.graphs.densest_any import approximate_densest, count_remaining, improve_by_flows
from sparseigen.graphs.model import build_graph


def find_best(graph: nx.Graph) -> Fraction:
    sets = itertools.chain.from_iterable(itertools.combinations(graph, k) for k in range(1, len(graph) + 1))
    return max(Fraction(graph.subgraph(chosen).number_of_edges(), len(chosen)) for chosen in sets)


@pytest.mark.parametrize("method", ["greedy++", "fista"])
@pytest.mark.parametrize("seed", range(8))
def test_flows_reach_the_optimum(seed: int, method: str) -> None:
    graph = nx.gnp_random_graph(9, 0.3 + 0.05 * seed, seed=seed)
    density, chosen = approximate_densest(graph, iterations=2, method=method)
    assert density == float(find_best(graph))
    assert density == graph.subgraph(chosen).number_of_edges() / len(chosen)


def test_one_round_is_peeling() -> None:
    """Charikar's answer where it is not the best: a bipartite graph beside two cliques (Boob et al.)."""
    graph = nx.disjoint_union_all([nx.complete_bipartite_graph(5, 200), nx.complete_graph(7), nx.complete_graph(7)])
    one, everyone = approximate_densest(graph, 1, method="greedy++")
    assert everyone == set(graph)
    assert one == graph.number_of_edges() / len(graph)
    assert approximate_densest(graph, 2, method="greedy++") == (1000 / 205, set(range(205)))


def test_flows_that_do_not_fit_leave_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = build_graph(check_graph(nx.complete_graph(6), None), directed="average", self_loops="drop")[0]
    monkeypatch.setattr(densest_any, "LARGEST_FLOW", 1)
    density, chosen = improve_by_flows(graph, Fraction(1), np.array([0, 1, 2]))
    assert (density, chosen.tolist()) == (Fraction(1), [0, 1, 2])


def test_edges_that_remain() -> None:
    graph = build_graph(check_graph(nx.path_graph(4), None), directed="average", self_loops="drop")[0]
    assert count_remaining(graph, np.array([1, 0, 3, 2])).tolist() == [3, 1, 1, 0]


def test_what_networkx_refuses_is_refused_in_its_words() -> None:
    with pytest.raises(ValueError, match="magic is not a valid choice for an algorithm"):
        approximate_densest(nx.path_graph(3), method="magic")
    with pytest.raises(ValueError, match=r"must be an integer >= 1\. Provided: 0"):
        approximate_densest(nx.path_graph(3), 0)
    assert approximate_densest(nx.empty_graph(3)) == (0.0, set())
