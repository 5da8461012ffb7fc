"""Sets of vertices with their products, and the ways to make one: greedy, power iteration, relaxation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparseigen.graphs.model import IntegerGraph
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Flags, Integers
from sparseigen.results import StopReason
from sparseigen.solve.eigenvector import sparse_eigenvector


class VertexSet:
    """A chosen set: ``members`` (0/1), ``product`` (weight of every vertex to the set, loops left out), ``value``."""

    def __init__(self, graph: IntegerGraph, members: Flags, product: Integers) -> None:
        self.graph, self.members, self.product = graph, members, product
        self._vertices: Integers | None = None
        self.value = self._value()

    @classmethod
    def of(cls, graph: IntegerGraph, vertices: Integers) -> VertexSet:
        """The set of these vertices; costs the volume of the set, not of the graph."""
        members = graph.no_flags()
        members[vertices] = 1
        product = np.zeros(graph.size, dtype=np.int64)
        graph_kernels.add_rows(graph.rows, np.ascontiguousarray(vertices, dtype=np.int64), 1, product)
        return cls(graph, members, product)

    @property
    def vertices(self) -> Integers:
        """The members, ascending."""
        if self._vertices is None:
            self._vertices = np.flatnonzero(self.members)
        return self._vertices

    def copy(self) -> VertexSet:
        """A set of its own."""
        return VertexSet(self.graph, self.members.copy(), self.product.copy())

    def move(self, entering: Integers, leaving: Integers, *, result: Integers | None = None) -> None:
        """Let vertices in and out; ``result`` is the set they lead to (ascending) where the caller knows it."""
        graph_kernels.add_rows(self.graph.rows, entering, 1, self.product)
        graph_kernels.add_rows(self.graph.rows, leaving, -1, self.product)
        self.members[entering] = 1
        self.members[leaving] = 0
        self._vertices = result
        self.value = self._value()

    def value_after(self, entering: Integers, leaving: Integers) -> int:
        """The objective the set would have; reads only the weights among the vertices that come and go."""
        moving = np.concatenate([entering, leaving])
        signs = np.ones(len(moving), dtype=np.int64)
        signs[len(entering) :] = -1
        change = 2 * int(signs @ self.product[moving]) + int(signs @ self.graph.loops[moving])
        return self.value + change + graph_kernels.signed_weight(self.graph.rows, moving, signs)

    def polish(self, fixed: Flags, *, patience: int, max_steps: int, width: int, seed: int) -> int:
        """Exchange members for outsiders in place; the number of exchanges made."""
        gain, steps = graph_kernels.exchange(
            self.graph.rows,
            self.graph.loops,
            fixed,
            self.members,
            self.product,
            patience=patience,
            max_steps=max_steps,
            width=width,
            seed=seed,
        )
        self.value += gain
        self._vertices = None
        return int(steps)

    def _value(self) -> int:
        """The objective pi'W pi in units."""
        vertices = self.vertices
        return int(self.product[vertices].sum()) + int(self.graph.loops[vertices].sum())


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
    movable = order[fixed[order] == 0]
    half = max(count // 2, required.size)
    first = np.concatenate([required, movable[: half - required.size]]).astype(np.int64)
    chosen = VertexSet.of(graph, first)
    marked = chosen.members
    unmarked = graph.no_flags()
    second = graph_kernels.top_vertices(chosen.product, unmarked, graph.loops, marked, 0, count)
    return second


def peel_order(graph: IntegerGraph, fixed: Flags) -> Integers:
    """Vertices in reverse order of removal by peeling: the first k are its answer for k."""
    order, _ = graph_kernels.peel(graph.rows, graph.loops, fixed)
    return order[::-1].copy()


MAX_ITERATIONS = 1000
LARGEST_SHIFT = 1 << 61
"""A shift beyond every product: the set stays as it is."""


def find_shift(heaviest: int, raised: int) -> int:
    """Twice the shift of Algorithm 2 after so many raises: none, a hundredth of the largest weight, tenfold each time.

    A schedule under which the densities of the paper's airline experiment come out as published. Twice, because the
    products it is added to are doubled.
    """
    return 0 if raised == 0 else min(max(1, 2 * heaviest * 10 ** (raised - 1) // 100), LARGEST_SHIFT)


@dataclass(frozen=True)
class GraphRun:
    """One run of Algorithm 2; the set itself was changed in place."""

    stop_reason: StopReason
    n_iterations: int
    history: list[int]
    shifts: int
    """How often the shift was raised."""


def truncated_power(chosen: VertexSet, count: int, fixed: Flags, *, max_iterations: int = MAX_ITERATIONS) -> GraphRun:
    """Replace the set by the k vertices with the most weight to it, until nothing changes.

    When the objective would fall, the step is repeated on W + shift I, the shift raised (see `find_shift`). Ties go to
    the lowest index. The product is updated only for the vertices that enter or leave.
    """
    history = [chosen.value]
    shifts = 0
    for iteration in range(1, max_iterations + 1):
        before = chosen.value
        moved, raised = _step(chosen, count, fixed)
        shifts += raised
        if not moved:
            return GraphRun(StopReason.FIXED_POINT, iteration, history, shifts)
        history.append(chosen.value)
        if chosen.value == before:
            return GraphRun(StopReason.VALUE_STALLED, iteration, history, shifts)
    return GraphRun(StopReason.ITERATION_LIMIT, max_iterations, history, shifts)


def _step(chosen: VertexSet, count: int, fixed: Flags) -> tuple[bool, int]:
    """One iteration: whether the set changed, and how often the shift was raised."""
    graph = chosen.graph
    raised = 0
    while True:
        shift = find_shift(graph.heaviest, raised) if raised else 0  # most graphs never need their largest weight
        best = graph_kernels.top_vertices(chosen.product, chosen.members, graph.loops, fixed, shift, count)
        entering = best[chosen.members[best] == 0]
        if entering.size == 0:
            return False, raised
        present = chosen.vertices
        leaving = np.setdiff1d(present, best, assume_unique=True)
        if chosen.value_after(entering, leaving) >= chosen.value:
            chosen.move(entering, leaving, result=best)
            return True, raised
        raised += 1


def relaxed_set(graph: IntegerGraph, count: int, fixed: Flags) -> tuple[Integers, int]:
    """The k vertices of largest weight in Algorithm 1's vector, and its iterations.

    It starts at the k largest degrees, as Algorithm 2 does. A vector with fewer than k non-zeros is filled up by
    degree. Vertices that must be included replace those of least weight.
    """
    required = np.flatnonzero(fixed)
    weights = np.zeros(graph.size)
    iterations = 0
    if graph.degrees.any():
        rows = graph.rows
        scale = float(max(graph.heaviest, int(graph.loops.max(initial=0))))
        matrix = sp.csr_array((rows.all_weights() / scale, rows.neighbours, rows.starts), shape=(graph.size,) * 2)
        matrix = (matrix + sp.diags_array(graph.loops / scale)).tocsr()
        start = np.zeros(graph.size)
        start[graph.degree_order[:count]] = 1.0
        result = sparse_eigenvector(matrix, count, start=start, polish=None, certify=False)
        weights, iterations = np.abs(result.vector), result.n_iterations
    weights[required] = np.inf
    order = np.lexsort((np.arange(graph.size), -graph.degrees, -weights))
    return np.sort(order[:count]).astype(np.int64), iterations
