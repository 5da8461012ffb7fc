"""Connected groups: how many parts a set has, and a search among the sets that are in one piece.

Every set the search meets is connected: it grows from a seed along edges of positive weight, and an exchange is made
only where what it leaves is connected. The bound is that of all sets, so it holds for the connected ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sparseigen.errors import CardinalityError, OptionError
from sparseigen.graphs.methods import Outcome
from sparseigen.graphs.model import IntegerGraph
from sparseigen.graphs.vertex_sets import VertexSet
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Flags, Integers

MOST_SEEDS = 24
MOST_EXCHANGES = 400
WIDTH = 8
"""Vertices compared on either side of an exchange."""


def count_parts(graph: IntegerGraph, vertices: Integers) -> int:
    """In how many connected parts some vertices fall by the edges among them."""
    return _label_parts(graph.induced(vertices))[0]


def connect(graph: IntegerGraph, fixed: Flags, outcome: Outcome) -> Outcome:
    """The outcome if it is connected, else what a search among connected sets finds."""
    if count_parts(graph, outcome.vertices) == 1:
        return outcome
    chosen = find_connected_set(graph, len(outcome.vertices), fixed, outcome.vertices)
    settings = outcome.settings | {"start_used": "connected"}
    return replace(outcome, vertices=chosen.vertices, value=chosen.value, history=(), settings=settings)


def find_connected_set(graph: IntegerGraph, count: int, fixed: Flags, known: Integers) -> VertexSet:
    """The densest connected set found; ``known`` is a good set that need not be connected."""
    best: VertexSet | None = None
    for seed in _find_seeds(graph, count, fixed, known):
        order = graph_kernels.grow(graph.rows, graph.loops, graph.degrees, seed, count)
        chosen = VertexSet.of(graph, np.sort(order))
        if count_parts(graph, chosen.vertices) > 1:
            continue
        _exchange(chosen, fixed)
        if best is None or chosen.value > best.value:
            best = chosen
    if best is None:
        raise CardinalityError(_explain(graph, count), parameter="k")
    return best


def _find_seeds(graph: IntegerGraph, count: int, fixed: Flags, known: Integers) -> Iterator[Integers]:
    """Connected beginnings: the vertices that must be in, else the parts of a good set and its strongest vertices."""
    _, labels = _label_parts(graph)
    sizes = np.bincount(labels)
    required = np.flatnonzero(fixed).astype(np.int64)
    if required.size:
        joined = _join(graph, required)
        if len(joined) > count:
            message = (
                f"the shortest connection found between the vertices of must_include takes {len(joined)} vertices, "
                f"more than k={count}; raise k, or leave out connected=True."
            )
            raise CardinalityError(message, parameter="k")
        yield joined
        return
    if count_parts(graph, known) == 1:
        yield known
    n_parts, parts = _label_parts(graph.induced(known))
    by_size = sorted(range(n_parts), key=lambda part: -int((parts == part).sum()))
    for part in by_size[:MOST_SEEDS]:
        inside = known[parts == part]
        if sizes[labels[inside[0]]] >= count:
            yield inside
    order = graph.degree_order
    large = order[sizes[labels[order]] >= count][: MOST_SEEDS // 2]
    for vertex in large.tolist():
        yield np.array([vertex], dtype=np.int64)


def _join(graph: IntegerGraph, required: Integers) -> Integers:
    """The required vertices and shortest paths from the first one to the others."""
    matrix = _as_matrix(graph)
    _, before = breadth_first_order(matrix, int(required[0]), directed=False)
    joined = set(required.tolist())
    for vertex in required[1:].tolist():
        if before[vertex] < 0:
            message = "connected=True, but no path connects the vertices of must_include; leave one of them out."
            raise OptionError(message, parameter="must_include")
        while before[vertex] >= 0 and before[vertex] != required[0]:
            vertex = int(before[vertex])
            joined.add(vertex)
    return np.array(sorted(joined), dtype=np.int64)


def _exchange(chosen: VertexSet, fixed: Flags) -> None:
    """Exchange a weak member for a strong neighbour while that gains and the set stays connected."""
    graph = chosen.graph
    for _ in range(MOST_EXCHANGES):
        members = chosen.vertices
        inside = 2 * chosen.product + graph.loops
        movable = members[fixed[members] == 0]
        outside = np.flatnonzero((chosen.members == 0) & (chosen.product > 0))
        leaving = movable[np.argsort(inside[movable], kind="stable")[:WIDTH]]
        entering = outside[np.argsort(-inside[outside], kind="stable")[:WIDTH]]
        if not any(_try_exchange(chosen, out, into) for out in leaving for into in entering):
            return


def _try_exchange(chosen: VertexSet, out: int, into: int) -> bool:
    one, other = np.array([into], dtype=np.int64), np.array([out], dtype=np.int64)
    if chosen.value_after(one, other) <= chosen.value:
        return False
    result = np.sort(np.append(np.setdiff1d(chosen.vertices, other), one)).astype(np.int64)
    if count_parts(chosen.graph, result) > 1:
        return False
    chosen.move(one, other, result=result)
    return True


def _as_matrix(graph: IntegerGraph) -> sp.csr_array:
    rows = graph.rows
    positive = np.ones(len(rows.neighbours), dtype=np.int8) if rows.weights.size == 0 else rows.weights > 0
    return sp.csr_array((positive, rows.neighbours, rows.starts), shape=(graph.size, graph.size))


def _label_parts(graph: IntegerGraph) -> tuple[int, Integers]:
    number, labels = connected_components(_as_matrix(graph), directed=False)
    return int(number), labels.astype(np.int64)


def _explain(graph: IntegerGraph, count: int) -> str:
    largest = int(np.bincount(_label_parts(graph)[1]).max())
    return (
        f"k={count}, but no connected set of so many vertices was found: the largest connected part of the graph has "
        f"{largest}. Choose a smaller k, or leave out connected=True."
    )
