"""The densest subgraph of any number of vertices, for those who ask through networkx.

Density is here what networkx means by it: edges over vertices. Two ways: Greedy++ (Boob et al. 2020), whose first
round is Charikar's peeling, and fair loads (the quadratic programme of Danisch, Chan and Sozio 2017; Harb, Quanrud and
Chekuri 2022), whose order of the vertices holds the densest set once the loads are fair. What either finds is taken on
to the optimum by maximum flows (Goldberg 1984) where these fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from sparseigen.checks.graph_objects import check_graph
from sparseigen.graphs.bounds import SWEEPS, GraphFacts
from sparseigen.graphs.model import IntegerGraph, build_graph
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers

LARGEST_FLOW = 2**30
"""scipy's flows are 32 bit numbers."""
METHODS = ("greedy++", "fista")
"""The names that networkx gives to the two ways."""


def approximate_densest(graph: Any, iterations: int = 1, *, method: str = "fista") -> tuple[float, set[Any]]:
    """``networkx.approximation.densest_subgraph`` with its own arguments and answer: a density and a set of vertices.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected, without self-loops; weights are not used.
    iterations : int
        Rounds of Greedy++; sweeps of fair loads, which are at least 100.
    method : {"fista", "greedy++"}
        The way. One round of "greedy++" is Charikar's peeling as it is; every other answer is improved by maximum
        flows until it is optimal, unless the part of the graph that can hold the optimum is too large for them.

    Examples
    --------
    >>> import networkx as nx
    >>> approximate_densest(nx.star_graph(4))
    (0.8, {0, 1, 2, 3, 4})
    """
    if method not in METHODS:
        message = f"{method} is not a valid choice for an algorithm."
        raise ValueError(message)  # networkx's own words
    if graph.number_of_edges() == 0:
        return 0.0, set()
    if iterations < 1:
        message = f"The number of iterations must be an integer >= 1. Provided: {iterations}"
        raise ValueError(message)
    checked = check_graph(graph, None)
    model, _ = build_graph(checked, directed="average", self_loops="drop")
    orders = peel_repeatedly(model, iterations) if method == "greedy++" else list_fair_orders(model, iterations)
    density, vertices = find_densest_suffix(model, orders)
    if method != "greedy++" or iterations > 1:
        density, vertices = improve_by_flows(model, density, vertices)
    return float(density), {checked.label(int(vertex)) for vertex in vertices}


def peel_repeatedly(graph: IntegerGraph, rounds: int) -> Iterator[Integers]:
    """The orders in which the rounds of Greedy++ remove the vertices.

    A round removes the vertex of least degree plus load, and adds its degree to its load. With loops of twice the load
    that is a round of peeling, and the contributions are twice the new loads.
    """
    loads = np.zeros(graph.size, dtype=np.int64)
    for _ in range(rounds):
        order, contributions = graph_kernels.peel(graph.rows, 2 * loads, graph.no_flags())
        loads[order] = contributions // 2
        yield order


def list_fair_orders(graph: IntegerGraph, sweeps: int) -> Iterator[Integers]:
    """The order of removal by peeling, and the vertices by their fair loads, smallest first."""
    facts = GraphFacts(graph, graph.size, sweeps=max(SWEEPS, sweeps))
    yield facts.removal_order
    yield np.argsort(facts.loads, kind="stable")


def find_densest_suffix(graph: IntegerGraph, orders: Iterable[Integers]) -> tuple[Fraction, Integers]:
    """The densest set among those that remain as vertices go in these orders; of equals the first, and the largest."""
    best, chosen = Fraction(0), np.zeros(0, dtype=np.int64)
    sizes = np.arange(graph.size, 0, -1)
    for order in orders:
        edges = count_remaining(graph, order)
        place = int(np.argmax(edges / sizes))
        density = Fraction(int(edges[place]), int(sizes[place]))
        if density > best:
            best, chosen = density, order[place:]
    return best, chosen


def count_remaining(graph: IntegerGraph, order: Integers) -> Integers:
    """The edges among the vertices that are left before each removal."""
    rank = np.empty(graph.size, dtype=np.int64)
    rank[order] = np.arange(graph.size)
    owners = np.repeat(rank, np.diff(graph.rows.starts))
    later = rank[graph.rows.neighbours] > owners  # an edge goes with the first of its ends
    lost = np.bincount(owners[later], minlength=graph.size)
    remaining: Integers = np.cumsum(lost[::-1])[::-1]
    return remaining


def improve_by_flows(graph: IntegerGraph, density: Fraction, vertices: Integers) -> tuple[Fraction, Integers]:
    """The densest set of all, from a good one: each flow finds a denser set or proves that there is none.

    Every vertex of a densest set has at least so many neighbours within it as its density says, so that the rest of the
    graph is peeled off before. Where the capacities leave 32 bits the set comes back as it is.
    """
    facts = GraphFacts(graph, 1)
    while True:
        first = int(np.searchsorted(facts.core_values, 2 * -(-density.numerator // density.denominator), side="left"))
        core = np.sort(facts.removal_order[first:])
        within = graph.induced(core)
        denser = _cut_denser(within, density) if within.size else None
        if denser is None:
            return density, vertices
        edges = int(within.induced(denser).degrees.sum()) // 2
        density, vertices = Fraction(edges, len(denser)), core[denser]


def _cut_denser(graph: IntegerGraph, density: Fraction) -> Integers | None:
    """Vertices of a denser subgraph by a minimum cut; None where there is none, or the flow does not fit.

    Of density a/b the set S maximises 2b|E(S)| - 2a|S|: what a cut of source -> v (b deg(v) - 2a), v -> sink (2a - b
    deg(v)) and edges of b between neighbours separates.
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    excess = density.denominator * graph.degrees - 2 * density.numerator
    supply = int(excess[excess > 0].sum())
    if supply == 0 or supply >= LARGEST_FLOW or density.denominator * len(graph.rows.neighbours) >= LARGEST_FLOW:
        return None
    size, source, sink = graph.size, graph.size, graph.size + 1
    owners = np.repeat(np.arange(size), np.diff(graph.rows.starts))
    rich, poor = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
    rows = np.concatenate([owners, np.full(len(rich), source), poor])
    columns = np.concatenate([graph.rows.neighbours, rich, np.full(len(poor), sink)])
    capacities = np.concatenate([np.full(len(owners), density.denominator), excess[rich], -excess[poor]])
    network = csr_array(coo_array((capacities.astype(np.int32), (rows, columns)), shape=(size + 2, size + 2)))
    found = maximum_flow(network, source, sink)
    if found.flow_value == supply:
        return None
    left = csr_array(network - found.flow)
    left.data[left.data < 0] = 0
    left.eliminate_zeros()
    reached = breadth_first_order(left, source, return_predecessors=False)
    return np.sort(reached[reached < size]).astype(np.int64)
