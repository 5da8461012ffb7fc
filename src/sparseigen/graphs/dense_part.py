"""The dense part of a graph, where a small problem bounds the sets of the whole graph.

Let H be some vertices, and divide the weight of every edge that has an end outside H between its ends outside; what a
vertex gets, with its loop, is its load. A set of k vertices with j of them in H then weighs at most

    (the most that j vertices of H weigh) + (the k - j largest loads outside H),

because an edge of the set is either inside H or paid by an end outside H, which the set holds. With H the vertices
whose load exceeds the density of a known set, leaving H never pays, and the bound of H is that of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.model import IntegerGraph
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers
from sparseigen.kernels.set_cone import Numbers

SMALLEST_DENSE, SPARE_PER_VERTEX = 400, 2
"""A graph of at most SMALLEST_DENSE + SPARE_PER_VERTEX k vertices is its own dense part, and no part is smaller."""
ROUNDS = 4
"""How often vertices whose load outside turns out too large are added."""
MOST_SWEEPS = 30


@dataclass(frozen=True, eq=False)
class DensePart:
    """Some vertices of a graph (ascending), their subgraph, and the largest loads of the others, decreasing."""

    vertices: Integers
    graph: IntegerGraph
    loads: Integers
    """In units of 2^-load_bits."""
    load_bits: int
    threshold: int
    """Vertices of a larger load were wanted in the part."""

    def outside(self, count: int) -> Numbers:
        """Entry m: the most that m vertices outside can weigh in a set, in units, for m <= count; infeasible: -inf."""
        sums = np.full(count + 1, -np.inf)
        sums[0] = 0.0
        held = min(count, len(self.loads))
        totals = np.cumsum(self.loads[:held])
        whole = -(-totals >> self.load_bits)  # rounded up
        # Above 2^53 a float rounds; the next one is then above.
        sums[1 : held + 1] = np.where(whole < 1 << 53, whole, np.nextafter(whole.astype(np.float64), np.inf))
        return sums

    def matrix(self) -> Numbers:
        """The adjacency matrix of the part in units, loops on the diagonal; weights above 2^53 are rounded."""
        rows, size = self.graph.rows, self.graph.size
        dense = np.zeros((size, size))
        dense[np.repeat(np.arange(size), np.diff(rows.starts)), rows.neighbours] = rows.all_weights()
        dense[np.diag_indices(size)] = self.graph.loops
        return dense


def find_dense_part(facts: GraphFacts, count: int, density: float, largest: int) -> DensePart:
    """The part for sets of ``count`` that are at least this dense (in units), of at most ``largest`` vertices."""
    bits = facts.load_bits
    smallest = SMALLEST_DENSE + SPARE_PER_VERTEX * count
    if facts.is_whole and facts.graph.size <= min(smallest, largest):
        every = np.arange(facts.graph.size, dtype=np.int64)
        return DensePart(every, facts.graph, every[:0], bits, -1)
    inner, place = facts.load_graph, facts.load_part
    loads = facts.loads[place]
    threshold = int(density * 2.0**bits)
    if len(loads) > smallest:
        threshold = min(threshold, int(np.partition(loads, len(loads) - smallest)[len(loads) - smallest]) - 1)
    inside = np.zeros(inner.size, dtype=bool)
    _add_largest(inside, loads, threshold, largest)
    whole_rows = inner.degrees - inner.loops
    for more in range(ROUNDS, -1, -1):
        rest = np.flatnonzero(~inside).astype(np.int64)
        outer = inner.induced(rest)
        to_part = whole_rows[rest] - (outer.degrees - outer.loops)
        fair, _ = graph_kernels.fair_loads(
            outer.rows, outer.loops + 2 * to_part, min(facts.sweeps, MOST_SWEEPS), bits
        )
        room = largest - int(inside.sum())
        if not more or room <= 0 or not (fair > threshold).any():
            break
        every_load = np.zeros(inner.size, dtype=np.int64)
        every_load[rest] = fair
        _add_largest(inside, every_load, threshold, room)
    kept = np.ones(facts.graph.size, dtype=bool)
    kept[place] = False
    outside = [fair, facts.loads[kept], facts.outside_loads << bits]
    ordered = np.sort(np.concatenate(outside))[::-1][: facts.largest_k]
    vertices = place[inside]
    return DensePart(vertices, facts.graph.induced(vertices), ordered, bits, threshold)


def _add_largest(inside: np.ndarray, loads: Integers, threshold: int, room: int) -> None:
    """Mark vertices above the threshold, the largest loads first where there is not room for all."""
    above = np.flatnonzero(loads > threshold)
    if len(above) > room:
        above = above[np.argsort(-loads[above], kind="stable")[:room]]
    inside[above] = True
