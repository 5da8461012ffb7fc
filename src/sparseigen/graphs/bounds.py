"""Upper bounds on the weight of k vertices, for every k at once, in whole numbers.

A new bound is a function ``(facts, count) -> array`` whose entry i bounds pi'W pi (in units) over all sets of i + 1
vertices, for i < count, and one row in WEIGHT_BOUNDS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sparseigen.graphs.facts import GraphFacts
from sparseigen.kernels.graph import Integers
from sparseigen.results import Certificate

ROUNDED_TOLERANCE = 1e-12
"""Relative gap called optimal when weights had to be rounded; exact graphs need a gap of 0 in whole numbers."""
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
    """Order a set as peeling removes it: the i-th from the end has a share of at most the i-th largest core value.

    That share is also at most twice the largest weight times the i - 1 vertices behind it, plus the largest loop.
    """
    cores = facts.core_values[::-1][:count]
    behind = np.arange(count, dtype=object) * (2 * facts.heaviest) + int(facts.loops.max(initial=0))
    return np.cumsum(np.minimum(cores, np.minimum(behind, facts.total).astype(np.int64)))


def removal_bound(facts: GraphFacts, count: int) -> Integers:
    """The k largest shares at removal: a set's weight is at most the sum of its vertices' shares."""
    return np.cumsum(_largest(np.concatenate([facts.removal_shares, facts.outside_loads]), count))


def load_bound(facts: GraphFacts, count: int) -> Integers:
    """The k largest loads: an edge within a set gives all its weight to vertices of the set."""
    loads = np.concatenate([facts.loads, facts.outside_loads << facts.load_bits])
    return np.cumsum(_largest(loads, count)) >> facts.load_bits


WEIGHT_BOUNDS: dict[str, Callable[[GraphFacts, int], Integers]] = {
    "pairs": pair_bound,
    "core": core_bound,
    "removal shares": removal_bound,
    "fair loads": load_bound,
}


class UpperBounds:
    """The smallest of all bounds for every k up to a largest one."""

    def __init__(self, facts: GraphFacts) -> None:
        self.graph = facts.graph
        self.names = list(WEIGHT_BOUNDS)
        table = np.stack([bound(facts, facts.largest_k) for bound in WEIGHT_BOUNDS.values()])
        if not facts.loops.any():
            table -= table % 2  # without loops pi'W pi is twice a whole number
        self.which = table.argmin(axis=0)
        self.values: Integers = table.min(axis=0)

    def certificate(self, count: int, value: int) -> Certificate:
        """The bracket on the density pi'W pi / k of the best k vertices."""
        bound = max(int(self.values[count - 1]), value)
        method = self.names[int(self.which[count - 1])]
        unit = Fraction(self.graph.unit)
        # None of the k^2 entries was rounded up by more than `rounding` (0 for exact graphs).
        least = max(Fraction(0), unit * value - count * count * Fraction(self.graph.rounding)) / count
        lower, upper = rounded_down(least), -rounded_down(-unit * bound / count)
        if not self.graph.exact:
            return Certificate(lower, upper, method, tolerance=ROUNDED_TOLERANCE)
        # A third has no exact float: both ends are then a unit in the last place apart, and equal as whole numbers.
        return Certificate(lower, upper, method, tolerance=LAST_PLACE if value == bound else 0.0)


def rounded_down(number: Fraction) -> float:
    """The largest float that is not above the number."""
    nearest = float(number)
    return nearest if nearest <= number else math.nextafter(nearest, -math.inf)


def _largest(values: Integers, count: int) -> Integers:
    """The largest entries in decreasing order."""
    return np.sort(np.partition(values, values.size - count)[values.size - count :])[::-1]
