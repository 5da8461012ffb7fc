"""The greedy methods: Ravi, Feige, and peeling."""

from __future__ import annotations

import numpy as np

from sparseigen.graphs.model import IntegerGraph
from sparseigen.graphs.vertex_set import VertexSet
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Flags, Integers


def heaviest_edge(graph: IntegerGraph) -> Integers:
    """Both ends of the heaviest edge.

    Of equally heavy edges the first one by row; without weights the vertex of largest degree and its neighbour of
    largest degree. Without edges, vertex 0 alone.
    """
    rows = graph.rows
    if len(rows.neighbours) == 0:
        return np.zeros(1, dtype=np.int64)
    if rows.weights.size:
        entry = int(rows.weights.argmax())
        first = int(np.searchsorted(rows.starts, entry, side="right")) - 1
        return np.array([first, rows.neighbours[entry]], dtype=np.int64)
    first = int(graph.degrees.argmax())
    neighbours, _ = rows.entries(first)
    if neighbours.size == 0:  # the largest degree is a loop
        first = int(np.diff(rows.starts).argmax())
        neighbours, _ = rows.entries(first)
    return np.array([first, neighbours[int(graph.degrees[neighbours].argmax())]], dtype=np.int64)


def ravi_order(graph: IntegerGraph, count: int, fixed: Flags) -> Integers:
    """Greedy-Ravi's vertices in the order it adds them: the first k are its answer for k.

    From the heaviest edge (or the fixed vertices) on, add the vertex that gains most weight; ties by degree, then by
    lowest index.
    """
    seeds = np.flatnonzero(fixed).astype(np.int64) if fixed.any() else heaviest_edge(graph)
    return graph_kernels.grow(graph.rows, graph.loops, graph.degrees, seeds, count)


def feige_set(graph: IntegerGraph, count: int, fixed: Flags) -> Integers:
    """Greedy-Feige: the k/2 largest degrees, and the k/2 others with most weight to them.

    Fixed vertices count among the first half. For odd k the second half is the larger one.
    """
    required = np.flatnonzero(fixed)
    order = graph.degree_order
    others = order[fixed[order] == 0]
    half = max(count // 2, required.size)
    first = np.concatenate([required, others[: half - required.size]]).astype(np.int64)
    chosen = VertexSet.of(graph, first)
    marked = chosen.members
    nobody = graph.no_flags()
    second = graph_kernels.top_vertices(chosen.product, nobody, graph.loops, marked, 0, count)
    return second


def peel_order(graph: IntegerGraph, fixed: Flags) -> Integers:
    """Vertices in reverse order of removal by peeling: the first k are its answer for k."""
    order, _ = graph_kernels.peel(graph.rows, graph.loops, fixed)
    return order[::-1].copy()
