"""The dense part of a graph, where a small problem bounds the sets of the whole graph.

Let H be some vertices, and divide the weight of every edge that has an end outside H between its ends outside; what a
vertex gets, with its loop, is its load. A set of k vertices with j of them in H then weighs at most

    (the most that j vertices of H weigh) + (the k - j largest loads outside H),

because an edge of the set is either inside H or paid by an end outside H, which the set holds. The m = k - j vertices
outside also give at most m (m - 1) times the largest weight among them and twice their weight to H, with their loops:
better than loads while m is small. With H the vertices whose load exceeds the density of a known set, leaving H rarely
pays, and the bound of H is that of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.model import IntegerGraph
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers
from sparseigen.kernels.set_cone import Numbers

SMALLEST_DENSE, SPARE_PER_VERTEX = 600, 1
"""A graph of at most SMALLEST_DENSE + SPARE_PER_VERTEX k vertices is its own dense part."""
IMPOSSIBLE = -(1 << 60)
"""What a choice weighs that there is not."""
ROUNDS = 3
"""How often vertices whose load outside turns out too large are added."""
MOST_SWEEPS = 30
MOST_GROWTH = 24
LESS_LOAD, LESS_TIE = 0.9, 0.7
"""By how much the limits of loads and ties are lowered at a time."""
ROOM_SHARE = 0.75
"""Vertices of large load may take this share of the part, so that there is room for what is tied to them."""


@dataclass(frozen=True, eq=False)
class DensePart:
    """Some vertices of a graph (ascending), their subgraph, and the largest loads of the others, decreasing."""

    vertices: Integers
    graph: IntegerGraph
    loads: Integers
    """In units of 2^-load_bits."""
    attached: Integers
    """The largest weights that a vertex outside gives with H: its loop and twice its weight to H; decreasing."""
    heaviest: int
    """The largest weight of an edge of the whole graph."""
    load_bits: int
    losses: Integers
    """What the known set loses with its weakest vertices, one after the other."""

    def estimate_reach(self) -> int:
        """About what the bound of this part cannot go below: a piece of the known set, filled up outside."""
        count = len(self.losses)
        gains = self.outside(count)[1:] - self.losses
        return int(self.losses[-1]) + max(0, int(gains.max(initial=0)))

    def outside(self, count: int) -> Integers:
        """Entry m: the most that m vertices outside can weigh in a set, in units, for m <= count."""
        sums = np.full(count + 1, IMPOSSIBLE)
        sums[0] = 0
        held = min(count, len(self.loads))
        whole = -(-np.cumsum(self.loads[:held]) >> self.load_bits)  # rounded up
        if self.attached.size:
            pairs = np.arange(held, dtype=object) * np.arange(1, held + 1) * self.heaviest
            whole = np.minimum(whole, pairs + np.cumsum(self.attached[:held])).astype(np.int64)
        sums[1 : held + 1] = whole
        return sums

    def matrix(self) -> Numbers:
        """The adjacency matrix of the part in units, loops on the diagonal; weights above 2^53 are rounded."""
        rows, size = self.graph.rows, self.graph.size
        dense = np.zeros((size, size))
        dense[np.repeat(np.arange(size), np.diff(rows.starts)), rows.neighbours] = rows.all_weights()
        dense[np.diag_indices(size)] = self.graph.loops
        return dense


def find_dense_part(facts: GraphFacts, members: Integers, largest: int, tolerance: float) -> DensePart:
    """The part for sets of as many vertices as a known set has, that holds this set.

    It has about ``largest`` vertices at most, fewer where no set can gain more than ``tolerance``, relative to the
    known one, by leaving it.
    """
    count, bits = len(members), facts.load_bits
    growth = _Growth(facts, members, largest, tolerance)
    if facts.is_whole and facts.graph.size <= min(SMALLEST_DENSE + SPARE_PER_VERTEX * count, largest):
        every = np.arange(facts.graph.size, dtype=np.int64)
        return DensePart(every, facts.graph, every[:0], every[:0], 0, bits, growth.losses)
    growth.run()
    loads = _settle_loads(facts, growth, largest)
    vertices = np.flatnonzero(growth.inside).astype(np.int64)
    attached = growth.find_attached() if facts.is_whole else loads[:0]
    return DensePart(vertices, facts.graph.induced(vertices), loads, attached, facts.heaviest, bits, growth.losses)


class _Growth:
    """A part that grows until leaving it no longer pays, judged by what the known set loses with its weakest."""

    def __init__(self, facts: GraphFacts, members: Integers, largest: int, tolerance: float) -> None:
        self.facts, self.largest = facts, largest
        inner = facts.graph.induced(members)
        _, contributions = graph_kernels.peel(inner.rows, inner.loops, inner.no_flags())
        self.losses = np.cumsum(contributions)
        density = int(self.losses[-1]) / len(members)
        self.allowed = tolerance * int(self.losses[-1])
        self.load_limit = self.tie_limit = density
        self.loads = facts.loads / 2.0**facts.load_bits
        self.inside = np.zeros(facts.graph.size, dtype=bool)
        self.inside[members] = True

    def run(self) -> None:
        """Take in what is strongly tied to the part, or of a large load, whatever leaving would use."""
        self._add(self.loads > self.load_limit, room=True)
        for _ in range(MOST_GROWTH):
            by_loads = self._find_weakness()
            if by_loads is None:
                return
            before = self.inside.copy()
            if by_loads:
                self.load_limit *= LESS_LOAD
                self._add(self.loads > self.load_limit)
            else:
                self.tie_limit *= LESS_TIE
            while self.facts.is_whole and int(self.inside.sum()) <= self.largest:
                ties = self._tie_weights()
                new = (ties > self.tie_limit) & ~self.inside
                if not new.any():
                    break
                self._add(new)
            if int(self.inside.sum()) > self.largest:
                self.inside = before
                return

    def find_attached(self) -> Integers:
        """The largest weights that vertices outside give with the part alone, decreasing."""
        return _take_largest(self._tie_weights()[~self.inside], self.facts.largest_k)

    def _tie_weights(self) -> Integers:
        graph = self.facts.graph
        product = np.zeros(graph.size, dtype=np.int64)
        graph_kernels.add_rows(graph.rows, np.flatnonzero(self.inside), 1, product)
        ties: Integers = 2 * product + graph.loops
        return ties

    def _find_weakness(self) -> bool | None:
        """Whether loads (else ties) are what lets a set gain outside; None: nothing does."""
        count = len(self.losses)
        loads = np.cumsum(np.sort(self.loads[~self.inside])[::-1][:count])
        if loads.size == 0:
            return None
        losses = self.losses[: len(loads)]
        if not self.facts.is_whole:
            return True if (loads > losses + self.allowed).any() else None
        rank = np.arange(len(loads))
        ties = np.cumsum(self.find_attached()[: len(loads)]) + rank * (rank + 1.0) * self.facts.heaviest
        excess = np.minimum(loads, ties) - losses
        worst = int(excess.argmax())
        return bool(loads[worst] <= ties[worst]) if excess[worst] > self.allowed else None

    def _add(self, new: np.ndarray, *, room: bool = False) -> None:
        """Mark vertices; with ``room`` only as many, the largest loads first, as leave room for others."""
        above = np.flatnonzero(new)
        if room and len(above) > ROOM_SHARE * self.largest:
            above = above[np.argsort(-self.loads[above], kind="stable")[: int(ROOM_SHARE * self.largest)]]
            self.load_limit = max(self.load_limit, float(self.loads[above].min()))
        self.inside[above] = True


def _settle_loads(facts: GraphFacts, growth: _Growth, largest: int) -> Integers:
    """The largest loads outside the part, decreasing, after vertices that turn out too heavy have joined it."""
    inner, place, bits = facts.load_graph, facts.load_part, facts.load_bits
    limit = int(growth.load_limit * 2.0**bits)
    whole_rows = inner.degrees - inner.loops
    for more in range(ROUNDS, -1, -1):
        rest = np.flatnonzero(~growth.inside[place]).astype(np.int64)
        outer = inner.induced(rest)
        to_part = whole_rows[rest] - (outer.degrees - outer.loops)
        fair, _ = graph_kernels.fair_loads(outer.rows, outer.loops + 2 * to_part, min(facts.sweeps, MOST_SWEEPS), bits)
        heavy = fair > limit
        if not more or not heavy.any() or int(growth.inside.sum()) + int(heavy.sum()) > largest:
            break
        growth.inside[place[rest[heavy]]] = True
    far = np.ones(facts.graph.size, dtype=bool)
    far[place] = False
    # A vertex of the known set may lie outside the part whose loads are fair.
    far &= ~growth.inside
    return _take_largest(np.concatenate([fair, facts.loads[far], facts.outside_loads << bits]), facts.largest_k)


def _take_largest(values: Integers, count: int) -> Integers:
    """The largest numbers, decreasing."""
    return np.sort(values)[::-1][:count]
