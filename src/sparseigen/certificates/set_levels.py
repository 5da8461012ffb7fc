"""Uncorrelated sets of few variables: a level for each component, by what fewer components explain.

Any t components of an uncorrelated set are one themselves. With B_t a bound on t of them, and lambda_(1) >= lambda_(2)
>= ... their variances, lambda_(t) <= B_t / t; and of those sets with a <= lambda_(1) <= b

    lambda_(t) <= h_t = min(b, B_s / s, (B_s - a) / (s - 1) for 2 <= s <= t).

The bound of `certificates.set_scores` holds with these levels in place of the largest,

    sum_t lambda_t <= trace(G'AG) + sum_t max(0, lambda_k(A - A G G' A / h_t)),

for a G of its own per interval [a, b]. B_1 is a single bound, B_2 that of listed supports, and B_3, B_4, ... follow one
from the other. Proof: `docs/theory-sets.md`, section 3.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from math import comb

import numpy as np

from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma
from sparseigen.certificates.set_listing import sum_largest
from sparseigen.certificates.set_scores import SMALLEST, Combined
from sparseigen.operators.contract import Indices

MOST_SUPPORTS = 3000
"""Of the largest cardinality, up to which prices are found by going through all of them."""
INTERVALS = 6
"""Parts of what the largest variance can be."""
LOOK_EVERY, ACTIVE = 15, 24
"""Steps between two looks at all supports; supports per level that are followed in between."""
AIM, CLOSER = 0.02, 0.002
"""Polyak's steps aim this share above the set found, and this share below a value that gets there."""


def can_level(size: int, cardinality: int) -> bool:
    """Whether there are few enough supports."""
    return comb(size, cardinality) <= MOST_SUPPORTS


def bound_levels(
    problem: BoundProblem, cardinality: int, reached: Sequence[float], known: Sequence[float], steps: int
) -> float:
    """A bound on the variances of an uncorrelated set, added up, of the scaled positive semidefinite matrix.

    ``reached`` are the variances of the set that was found, ``known`` the bounds B_1, B_2 on one and two components of
    the cardinality; ``steps`` are those of the prices of one interval.
    """
    prices = _Prices(problem, cardinality)
    found = np.sort(np.asarray(reached))[::-1]
    totals = list(known)
    for count in range(len(totals) + 1, len(found) + 1):
        floor = float(found[:count].sum())
        for _ in range(2 if count == len(found) else 1):  # the second time with a level of its own for the last
            totals[count - 1 :] = [_bound_next(prices, totals, count, floor, steps)]
    return totals[-1]


def _bound_next(prices: _Prices, totals: list[float], count: int, floor: float, steps: int) -> float:
    """The bound on ``count`` components, from those on fewer and, where there is one, an earlier one on as many.

    A set above the floor has lambda_(1) >= floor / count; all others are at most the floor.
    """
    before = totals[count - 1] if len(totals) >= count else np.inf
    simple = min((count / t) * total for t, total in enumerate(totals, 1)) * (1.0 + 4.0 * UNIT)
    least = floor / count * (1.0 - 8.0 * UNIT)
    if not 0.0 < least < totals[0]:
        return min(before, simple)
    edges = np.linspace(least, totals[0], INTERVALS + 1)
    edges[-1] = totals[0]
    worst, price = floor, None
    for low, high in itertools.pairwise(edges.tolist()):
        levels = find_levels(totals, count, low, high)
        value = float(levels.sum()) * (1.0 + 2.0 * gamma(count))
        if value > worst:
            price = prices.lower(levels, floor * (1.0 + AIM), steps, price)
            value = min(value, prices.prove(levels, price))
        worst = max(worst, value)
    return min(before, simple, worst)


def find_levels(totals: Sequence[float], count: int, low: float, high: float) -> Numbers:
    """What the variances can be at most, the largest first, where the largest is between two numbers.

    ``totals`` are bounds on one, two, ... components.

    Examples
    --------
    >>> find_levels([3.0, 5.0], 3, 2.5, 3.0)
    array([3. , 2.5, 2.5])
    >>> find_levels([3.0, 5.0], 3, 2.8, 3.0).round(6)
    array([3. , 2.2, 2.2])
    """
    levels, most = np.zeros(count), min(high, totals[0])
    for t in range(1, count + 1):
        if t <= len(totals):
            most = min(most, totals[t - 1] / t * (1.0 + 4.0 * UNIT))
            if t > 1:
                most = min(most, (totals[t - 1] - low) / (t - 1) + 4.0 * UNIT * abs(totals[t - 1]))
        levels[t - 1] = max(most, TINY)
    return levels


class _Prices:
    """Prices K = FF' of the combinations G = A^(-1/2) F, over all supports of a cardinality."""

    def __init__(self, problem: BoundProblem, cardinality: int) -> None:
        assert problem.dense is not None
        self.problem, self.matrix, self.cardinality = problem, problem.dense, cardinality
        listed = itertools.combinations(range(problem.size), cardinality)
        self.supports: Indices = np.array(list(listed), dtype=np.int64)
        values, vectors = np.linalg.eigh(self.matrix)
        values = np.sqrt(np.maximum(values, SMALLEST * max(float(values[-1]), TINY)))
        self.root, self.inverse = (vectors * values) @ vectors.T, (vectors / values) @ vectors.T

    def lower(self, levels: Numbers, aim: float, steps: int, price: Numbers | None) -> Numbers:
        """The best K of so many steps of Polyak's method, from a K before it."""
        price = np.zeros_like(self.matrix) if price is None else price
        kept, least = price, np.inf
        tiers = [
            (float(level), int(count)) for level, count in zip(*np.unique(levels, return_counts=True), strict=True)
        ]
        followed = [self.supports] * len(tiers)
        for step in range(steps + 1):
            if step and time.perf_counter() > self.problem.deadline:
                break
            whole = step % LOOK_EVERY == 0 or step == steps
            value, slope = float(price.trace()), np.eye(len(price))
            for tier, (level, count) in enumerate(tiers):
                rest = self.matrix - self.root @ price @ self.root / level
                chosen = self.supports if whole else followed[tier]
                tops, vectors = np.linalg.eigh(rest[chosen[:, :, None], chosen[:, None, :]])
                if whole:
                    followed[tier] = chosen[np.argsort(-tops[:, -1], kind="stable")[:ACTIVE]]
                best = int(tops[:, -1].argmax())
                if tops[best, -1] > 0.0:
                    image = self.root[:, chosen[best]] @ vectors[best, :, -1]
                    value += count * float(tops[best, -1])
                    slope -= (count / level) * np.outer(image, image)
            if whole and value < least:
                kept, least = price, value
            if value <= aim:
                aim = value - CLOSER * abs(value)
            weights, basis = np.linalg.eigh(price - (value - aim) / max(float((slope**2).sum()), TINY) * slope)
            price = (basis * np.maximum(weights, 0.0)) @ basis.T
        return kept

    def prove(self, levels: Numbers, price: Numbers) -> float:
        """The bound that K proves: any G does, so that only what G explains and leaves is rounded upward."""
        weights, basis = np.linalg.eigh(price)
        combined = self.inverse @ (basis * np.sqrt(np.maximum(weights, 0.0)))
        explained = Combined(self.problem, combined)
        value = explained.cost
        for level, count in zip(*np.unique(levels, return_counts=True), strict=True):
            rest, slack = explained.leave(float(level))
            single = float(sum_largest(rest, self.supports, 1).max())
            value += float(count) * max(single + slack + float(self.problem.margins[self.cardinality - 1]), 0.0)
        return value + 4.0 * gamma(len(levels) + 4) * abs(value)
