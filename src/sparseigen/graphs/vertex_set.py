"""A set of vertices with the product W pi, kept up to date by the vertices that come and go."""

from __future__ import annotations

import numpy as np

from sparseigen.graphs.model import IntegerGraph
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Flags, Integers


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
