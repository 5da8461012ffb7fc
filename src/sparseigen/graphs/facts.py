"""What is computed once a graph and serves every k: peeling, fair loads, the part worth searching, bounds."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sparseigen.graphs.model import IntegerGraph
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers

SWEEPS = 100
"""Sweeps of the fair loads; they end earlier when nothing moves. Any number gives valid bounds."""

FAST_SWEEPS = 10
"""Sweeps when the loads are only a start among others: nothing is to be certified or polished."""

SPARE = 4
"""The searched part holds at least SPARE times the largest k vertices, and SMALLEST_PART at least."""

SMALLEST_PART = 2000
SMALLEST_LOAD_PART = 50_000
"""The fair loads live on a part of at least this many vertices: they cost little, and more of them bound better."""


class GraphFacts:
    """One graph and what is known of it, computed on first use."""

    def __init__(self, graph: IntegerGraph, largest_k: int, *, sweeps: int = SWEEPS) -> None:
        self.graph = graph
        self.largest_k = largest_k
        self.sweeps = sweeps

    @cached_property
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

    @cached_property
    def core_values(self) -> Integers:
        """The core value of each vertex in the order of removal: the largest share removed so far."""
        return np.maximum.accumulate(self.removal_shares)

    @cached_property
    def part(self) -> Integers:
        """The vertices worth searching, ascending: a core that holds several times the largest k."""
        return self._core(max(SPARE * self.largest_k, SMALLEST_PART))

    @cached_property
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

    @cached_property
    def part_graph(self) -> IntegerGraph:
        """The subgraph on `part`."""
        return self.graph if len(self.part) == self.graph.size else self.graph.induced(self.part)

    @cached_property
    def load_bits(self) -> int:
        """Loads are kept in units of 2^-load_bits: as fine as 64 bits allow, at most 2^-24."""
        total = int(self.graph.degrees.sum())
        return max(0, min(24, 61 - max(1, total).bit_length()))

    @cached_property
    def _load_graph(self) -> IntegerGraph:
        """The subgraph on `load_part`."""
        if len(self.load_part) == len(self.part):
            return self.part_graph
        return self.graph if len(self.load_part) == self.graph.size else self.graph.induced(self.load_part)

    @cached_property
    def loads(self) -> Integers:
        """A valid load of every vertex: fair within `load_part`; outside, its share at removal.

        `load_part` is a suffix of the order of removal, so an edge with an end outside is carried by the end removed
        first, and no edge is forgotten.
        """
        return self._loads_after(self.sweeps)

    @cached_property
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
