"""What is computed once a graph and serves every k: peeling, fair loads, the part worth searching, bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseigen.graphs.model import IntegerGraph
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers
from sparseigen.operators.once import computed_once

SWEEPS = 100
"""Sweeps of the fair loads; they end earlier when nothing moves. Any number gives valid bounds."""

FAST_SWEEPS = 10
"""Sweeps when the loads are only a start among others: nothing is to be certified or polished."""

SPARE = 4
"""The searched part holds at least SPARE times the largest k vertices, and SMALLEST_PART at least."""

SMALLEST_PART = 2000
SMALLEST_LOAD_PART = 50_000
"""The fair loads live on a part of at least this many vertices: they cost little, and more of them bound better."""


@dataclass(frozen=True, eq=False)
class Outside:
    """What must be known of a graph of which only a core is at hand (docs/theory-bounds.md, "A core for the graph")."""

    degrees: Integers
    """The degree in the whole graph of each vertex at hand."""
    loads: Integers
    """The largest_k largest loads of vertices that are not at hand; fewer if fewer were removed."""
    loops: Integers
    """The largest_k largest loops of the whole graph, decreasing."""
    heaviest: int
    total: int
    """The sum of all degrees of the whole graph."""


class GraphFacts:
    """One graph and what is known of it, computed on first use.

    With ``outside`` the graph at hand is a core of a larger one, and the facts are such that the bounds made from
    them hold for the larger one.
    """

    def __init__(
        self, graph: IntegerGraph, largest_k: int, *, sweeps: int = SWEEPS, outside: Outside | None = None
    ) -> None:
        self.graph = graph
        self.largest_k = largest_k
        self.sweeps = sweeps
        self.outside = outside

    @property
    def is_whole(self) -> bool:
        """Whether the graph at hand is all there is."""
        return self.outside is None

    @property
    def whole_degrees(self) -> Integers:
        """Degrees in the whole graph of the vertices at hand."""
        return self.graph.degrees if self.outside is None else self.outside.degrees

    @property
    def heaviest(self) -> int:
        """The largest weight of an edge of the whole graph."""
        return self.graph.heaviest if self.outside is None else self.outside.heaviest

    @computed_once
    def total(self) -> int:
        """The sum of all degrees of the whole graph."""
        return int(self.graph.degrees.sum()) if self.outside is None else self.outside.total

    @property
    def loops(self) -> Integers:
        """Loops of the whole graph, the largest_k largest among them."""
        return self.graph.loops if self.outside is None else self.outside.loops

    @property
    def outside_loads(self) -> Integers:
        """The largest loads of vertices that are not at hand."""
        return np.zeros(0, dtype=np.int64) if self.outside is None else self.outside.loads

    @computed_once
    def _peeled(self) -> tuple[Integers, Integers]:
        graph = self.graph
        return graph_kernels.peel(graph.rows, graph.loops, graph.no_flags())

    @property
    def removal_order(self) -> Integers:
        """Vertices in the order peeling removes them."""
        return self._peeled[0]

    @property
    def removal_shares(self) -> Integers:
        """The share of each vertex when it was removed, in that order."""
        return self._peeled[1]

    @computed_once
    def core_values(self) -> Integers:
        """The core value of each vertex in the order of removal: the largest share removed so far."""
        return np.maximum.accumulate(self.removal_shares)

    @computed_once
    def part(self) -> Integers:
        """The vertices worth searching, ascending: a core that holds several times the largest k."""
        return self._core(max(SPARE * self.largest_k, SMALLEST_PART))

    @computed_once
    def load_part(self) -> Integers:
        """The vertices whose loads are made fair, ascending."""
        return self._core(max(SPARE * self.largest_k, SMALLEST_LOAD_PART))

    def _core(self, wanted: int) -> Integers:
        """The smallest core of at least this many vertices, ascending."""
        if wanted >= self.graph.size:
            return np.arange(self.graph.size, dtype=np.int64)
        # All vertices of the same core value stay together: a core is a suffix of the order of removal.
        lowest = self.core_values[self.graph.size - wanted]
        first = int(np.searchsorted(self.core_values, lowest, side="left"))
        return np.sort(self.removal_order[first:])

    @computed_once
    def part_graph(self) -> IntegerGraph:
        """The subgraph on `part`."""
        return self.graph if len(self.part) == self.graph.size else self.graph.induced(self.part)

    @computed_once
    def load_bits(self) -> int:
        """Loads are kept in units of 2^-load_bits: as fine as 64 bits allow, at most 2^-24."""
        return max(0, min(24, 61 - max(1, self.total).bit_length()))

    @computed_once
    def _load_graph(self) -> IntegerGraph:
        """The subgraph on `load_part`."""
        if len(self.load_part) == len(self.part):
            return self.part_graph
        return self.graph if len(self.load_part) == self.graph.size else self.graph.induced(self.load_part)

    @computed_once
    def loads(self) -> Integers:
        """A valid load of every vertex: fair within `load_part`; outside, its share at removal.

        `load_part` is a suffix of the order of removal, so an edge with an end outside is carried by the end removed
        first, and no edge is forgotten.
        """
        return self._loads_after(self.sweeps)

    @computed_once
    def early_loads(self) -> Integers:
        """Loads after few sweeps: another good start, not always a worse one."""
        return self._loads_after(FAST_SWEEPS)

    def _loads_after(self, sweeps: int) -> Integers:
        inner = self._load_graph
        fair, _ = graph_kernels.fair_loads(inner.rows, inner.loops, sweeps, self.load_bits)
        loads = np.empty(self.graph.size, dtype=np.int64)
        loads[self.removal_order] = self.removal_shares << self.load_bits
        loads[self.load_part] = fair
        return loads
