"""What is known of a graph before any search (loads, cores), and upper bounds on the weight of k vertices.

The bounds are for every k at once and in whole numbers. The contribution of a vertex to a set is what pi'W pi loses
when it leaves: twice its weight to the others, and its loop.

A new bound is a function ``(facts, count) -> array`` whose entry i bounds pi'W pi (in units) over all sets of i + 1
vertices, for i < count, and one row in WEIGHT_BOUNDS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sparseigen.graphs.model import IntegerGraph
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers
from sparseigen.operators.contract import computed_once
from sparseigen.results import Certificate

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

    @computed_once
    def weight_step(self) -> int:
        """Every set weighs a multiple of this, in units: without odd loops pi'W pi is twice a whole number."""
        known = self.is_whole or not self.loops.any()
        return 2 if known and not (self.loops % 2).any() else 1

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
    def removal_contributions(self) -> Integers:
        """What the graph lost with each vertex when it was removed, in that order."""
        return self._peeled[1]

    @computed_once
    def core_values(self) -> Integers:
        """The core value of each vertex in the order of removal: the largest contribution so far."""
        return np.maximum.accumulate(self.removal_contributions)

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
    def load_graph(self) -> IntegerGraph:
        """The subgraph on `load_part`."""
        if len(self.load_part) == len(self.part):
            return self.part_graph
        return self.graph if len(self.load_part) == self.graph.size else self.graph.induced(self.load_part)

    @computed_once
    def loads(self) -> Integers:
        """A valid load of every vertex: fair within `load_part`; outside, its contribution at removal.

        `load_part` is a suffix of the order of removal, so an edge with an end outside is carried by the end removed
        first, and no edge is forgotten.
        """
        return self._compute_loads(self.sweeps)

    @computed_once
    def early_loads(self) -> Integers:
        """Loads after few sweeps: another good start, not always a worse one."""
        return self._compute_loads(FAST_SWEEPS)

    def _compute_loads(self, sweeps: int) -> Integers:
        inner = self.load_graph
        fair, _ = graph_kernels.fair_loads(inner.rows, inner.loops, sweeps, self.load_bits)
        loads = np.empty(self.graph.size, dtype=np.int64)
        loads[self.removal_order] = self.removal_contributions << self.load_bits
        loads[self.load_part] = fair
        return loads


ROUNDED_TOLERANCE = 1e-12
"""Relative gap called optimal when weights had to be rounded; exact graphs need a gap of 0 in whole numbers."""
LARGEST_ROUNDED = 1e-9
"""Where value and bound meet in whole numbers, the rounding of k^2 weights may take up to this share."""
LAST_PLACE = 2.0**-52
"""How far apart the two ends are, at most, when both are the same density rounded outwards."""


def pair_bound(facts: GraphFacts, count: int) -> Integers:
    """Every pair carries the largest weight: k (k - 1) of them, and the k largest loops."""
    sizes = np.arange(1, count + 1, dtype=object)
    loops = np.cumsum(_largest(facts.loops, count))
    pairs = sizes * (sizes - 1) * facts.heaviest
    bound: Integers = np.minimum(pairs + loops, facts.total).astype(np.int64)
    return bound


def core_bound(facts: GraphFacts, count: int) -> Integers:
    """Order a set as peeling removes it: the i-th from the end contributes at most the i-th largest core value.

    And at most twice the largest weight times the i - 1 vertices behind it, plus the largest loop.
    """
    cores = facts.core_values[::-1][:count]
    behind = np.arange(count, dtype=object) * (2 * facts.heaviest) + int(facts.loops.max(initial=0))
    return np.cumsum(np.minimum(cores, np.minimum(behind, facts.total).astype(np.int64)))


def removal_bound(facts: GraphFacts, count: int) -> Integers:
    """The k largest contributions at removal: a set's weight is at most the sum of its vertices' contributions."""
    return np.cumsum(_largest(np.concatenate([facts.removal_contributions, facts.outside_loads]), count))


def load_bound(facts: GraphFacts, count: int) -> Integers:
    """The k largest loads: an edge within a set gives all its weight to vertices of the set."""
    loads = np.concatenate([facts.loads, facts.outside_loads << facts.load_bits])
    return np.cumsum(_largest(loads, count)) >> facts.load_bits


WEIGHT_BOUNDS: dict[str, Callable[[GraphFacts, int], Integers]] = {
    "pairs": pair_bound,
    "core": core_bound,
    "removal contributions": removal_bound,
    "fair loads": load_bound,
}


class UpperBounds:
    """The smallest of all bounds for every k up to a largest one."""

    def __init__(self, facts: GraphFacts, *, hurried: bool = False) -> None:
        """``hurried``: without the bound that takes fair loads, unless a search has already made them."""
        self.graph = facts.graph
        left_out = {"fair loads"} if hurried and "loads" not in vars(facts) else set()
        self.names = [name for name in WEIGHT_BOUNDS if name not in left_out]
        table = np.stack([WEIGHT_BOUNDS[name](facts, facts.largest_k) for name in self.names])
        table -= table % facts.weight_step
        self.which = table.argmin(axis=0)
        self.values: Integers = table.min(axis=0)

    def best(self, count: int) -> tuple[int, str]:
        """The smallest bound on the weight of so many vertices, in units, and its name."""
        return int(self.values[count - 1]), self.names[int(self.which[count - 1])]

    def certificate(self, count: int, value: int) -> Certificate:
        """The bracket on the density pi'W pi / k of the best k vertices."""
        return build_certificate(self.graph, count, value, *self.best(count))


def build_certificate(graph: IntegerGraph, count: int, value: int, bound: int, method: str) -> Certificate:
    """The bracket on the density of k vertices from the weight of a set and a bound on that of any, in units."""
    bound = max(bound, value)
    unit = Fraction(graph.unit)
    # None of the k^2 entries was rounded up by more than `rounding` (0 for exact graphs).
    least = max(Fraction(0), unit * value - count * count * Fraction(graph.rounding)) / count
    lower, upper = round_down(least), -round_down(-unit * bound / count)
    if not graph.exact:
        # Where no set of the rounded graph is better, all that is left of the gap is the rounding of the weights.
        rounded = (upper - lower) / upper if value == bound and upper > 0.0 else 0.0
        tolerance = max(ROUNDED_TOLERANCE, rounded) if rounded <= LARGEST_ROUNDED else ROUNDED_TOLERANCE
        return Certificate(lower, upper, method, tolerance=tolerance)
    # A third has no exact float: both ends are then a unit in the last place apart, and equal as whole numbers.
    return Certificate(lower, upper, method, tolerance=LAST_PLACE if value == bound else 0.0)


def round_down(number: Fraction) -> float:
    """The largest float that is not above the number."""
    nearest = float(number)
    return nearest if nearest <= number else math.nextafter(nearest, -math.inf)


def _largest(values: Integers, count: int) -> Integers:
    """The largest entries in decreasing order."""
    return np.sort(np.partition(values, values.size - count)[values.size - count :])[::-1]
