"""Small sets by listing: all supports of two or three components, less those that cannot explain enough.

Components on the supports S_1, ..., S_r explain at most (`docs/theory-sets.md`, section 4)

- the sum of lambda_max(A[S_t]),
- the r largest eigenvalues of A on the union of the supports,
- where an orthogonal pair shares one variable alone, the better of both ways to leave it to one of them,
- half of what the three pairs of a triple can explain together.

What such *limits* leave above a floor, the set that was found, is a short list: its tuples are solved one by one, or
priced (`certificates.set_leaves`). Of the three components the two that explain most explain two thirds, so that a
triple is a pair above that and one support more.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from sparseigen.certificates.problem import Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma
from sparseigen.operators.contract import Indices

MOST_SUPPORTS = 40_000
"""Of one cardinality that are listed."""
MOST_TUPLES = 400_000
"""Pairs or triples that are looked at."""
MOST_BITS = 62
"""Variables whose subsets are numbers of 64 bits."""
BATCH = 1 << 22
"""Entries of the blocks that are decomposed at a time."""


@dataclass(frozen=True)
class Listed:
    """Tuples of supports, a row each, and what components on them can explain at most; the largest first."""

    supports: tuple[Indices, ...]
    """Of every component the variables, k_t columns."""
    limits: Numbers

    def __len__(self) -> int:
        return len(self.limits)

    def take(self, rows: Indices) -> Listed:
        """Some of the tuples."""
        return Listed(tuple(one[rows] for one in self.supports), self.limits[rows])

    def ordered(self) -> Listed:
        """The largest limits first."""
        return self.take(np.argsort(-self.limits, kind="stable"))


def can_list(size: int, cardinalities: Sequence[int], *, disjoint: bool = False) -> bool:
    """Whether there are few enough supports to list them."""
    few = all(comb(size, k) <= MOST_SUPPORTS for k in cardinalities)
    return len(cardinalities) in (2, 3) and few and (not disjoint or sum(cardinalities) <= size)


def decompose(blocks: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Eigenvalues of many symmetric blocks, moved up past every error, with vectors and the errors.

    The vectors V and values L of LAPACK are checked, not believed: B = VLV' + E, and by Ostrowski's theorem the i-th
    eigenvalue of VLV' is that of L times a number within |V'V - I| of one. So lambda_i(B) <= L_i + |L_i| |V'V - I| +
    |E|; both norms are those of Frobenius, of computed matrices. Their own rounding, of sums of n products with |V|_F^2
    about n and of n^2 squares: at most gamma(n + 6) n (1 + max |L|) for the two matrices, and gamma(n^2) of each norm.
    """
    size = blocks.shape[-1]
    values, vectors = np.linalg.eigh(blocks)
    turned = vectors.transpose(0, 2, 1)
    missed = np.linalg.norm(blocks - (vectors * values[:, None, :]) @ turned, axis=(1, 2))
    skewed = np.linalg.norm(turned @ vectors - np.eye(size), axis=(1, 2))
    largest = np.abs(values).max(axis=1)
    own = 4.0 * gamma(size + 8) * size
    skewed = skewed * (1.0 + 4.0 * gamma(size * size)) + own
    missed = missed * (1.0 + 4.0 * gamma(size * size)) + own * (largest + np.abs(blocks).max(axis=(1, 2)))
    errors: Numbers = (largest * skewed + missed) * (1.0 + 8.0 * UNIT) + TINY
    return values + errors[:, None], vectors, errors


def sum_largest(matrix: Numbers, supports: Indices, count: int) -> Numbers:
    """Of every support an upper bound on the sum of the largest eigenvalues of its block."""
    step = max(1, BATCH // supports.shape[1] ** 2) if len(supports) else 1
    sums = [np.zeros(0)]
    for begin in range(0, len(supports), step):
        chosen = supports[begin : begin + step]
        values = decompose(matrix[chosen[:, :, None], chosen[:, None, :]])[0][:, -count:]
        sums.append(values.sum(axis=1) + 2.0 * gamma(count) * np.abs(values).sum(axis=1))
    return np.concatenate(sums)


class _Supports:
    """All supports of some cardinalities in one list, with their largest eigenvalues."""

    def __init__(self, matrix: Numbers, cardinalities: Sequence[int]) -> None:
        self.matrix, size = matrix, len(matrix)
        self.places: dict[int, Indices] = {}
        members, values, begin = [], [], 0
        for k in sorted({c for most in cardinalities for c in (most, most - 1) if c > 0}):
            listed = np.array(list(itertools.combinations(range(size), k)), dtype=np.int64)
            filled = np.zeros((len(listed), size), dtype=bool)
            np.put_along_axis(filled, listed, True, axis=1)
            members.append(filled)
            values.append(sum_largest(matrix, listed, 1))
            self.places[k] = np.arange(begin, begin + len(listed), dtype=np.int64)
            begin += len(listed)
        self.members, self.values = np.vstack(members), np.concatenate(values)
        # Variables as bits: a support is a number, and without one of its variables a smaller number.
        self.numbered = size <= MOST_BITS
        self.bits = np.int64(1) << np.arange(size, dtype=np.int64) if self.numbered else np.zeros(size, dtype=np.int64)
        # Where supports leave variables free, the shared one of a component that is zero there is exchanged for a free
        # one: tuples without pairs that share one variable alone explain as much.
        self.exchangeable = sum(cardinalities) <= size
        self.numbers = self.members @ self.bits
        self.order = np.argsort(self.numbers, kind="stable")

    def find(self, numbers: Indices) -> Numbers:
        """The largest eigenvalues of supports by their numbers; none, minus infinity, of the empty one."""
        at = self.order[np.searchsorted(self.numbers[self.order], numbers).clip(max=len(self.order) - 1)]
        return np.where(numbers == 0, -np.inf, self.values[at])

    def variables(self, places: Indices, k: int) -> Indices:
        """The variables of supports of one cardinality."""
        return np.nonzero(self.members[places])[1].reshape(-1, k).astype(np.int64)

    def limit_unions(self, tuples: Sequence[Indices], limits: Numbers) -> Numbers:
        """The limits, or the largest eigenvalues of the unions where they are smaller."""
        unions = np.logical_or.reduce([self.members[places] for places in tuples])
        sizes = unions.sum(axis=1)
        limits = limits.copy()
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            among = np.nonzero(unions[rows])[1].reshape(-1, size)
            limits[rows] = np.minimum(limits[rows], sum_largest(self.matrix, among, min(len(tuples), int(size))))
        return limits

    def limit_pairs(self, first: Indices, second: Indices, *, uncorrelated: bool) -> Numbers:
        """What two components can explain at most."""
        limits = self.values[first] + self.values[second]
        limits += 2.0 * UNIT * np.abs(limits)
        shared = self.members[first] & self.members[second]
        counts = shared.sum(axis=1)
        if not uncorrelated and not self.numbered and self.exchangeable:
            limits[counts == 1] = -np.inf
        elif not uncorrelated and self.numbered:
            one = np.flatnonzero(counts == 1)
            bits = shared[one] @ self.bits
            left, right = self.find(self.numbers[first[one]] - bits), self.find(self.numbers[second[one]] - bits)
            either = np.maximum(left + self.values[second[one]], self.values[first[one]] + right)
            either += 2.0 * UNIT * np.abs(np.where(np.isfinite(either), either, 0.0))
            limits[one] = np.minimum(limits[one], either)
        fewest = 2 if self.numbered else 1
        joint = np.flatnonzero(((counts >= fewest) | uncorrelated) & np.isfinite(limits))
        limits[joint] = self.limit_unions((first[joint], second[joint]), limits[joint])
        return limits

    def combine(self, first: Indices, second: Indices, needed: Numbers) -> tuple[Indices, Indices] | None:
        """All pairs of a row of ``first`` and a support of ``second`` worth at least what that row needs."""
        needed = needed - 2.0 * UNIT * np.abs(needed)  # a difference, rounded once
        second = second[np.argsort(-self.values[second], kind="stable")]
        counts = np.searchsorted(-self.values[second], -needed, side="right")
        if counts.sum() > MOST_TUPLES:
            return None
        rows = np.repeat(np.arange(len(first)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows.astype(np.int64), second[within]


def list_sets(
    matrix: Numbers, cardinalities: Sequence[int], floor: float, *, uncorrelated: bool, disjoint: bool = False
) -> Listed | None:
    """All tuples of supports that may explain more than the floor, with their limits; None where there are too many.

    Uncorrelated sets need a positive semidefinite matrix.

    Examples
    --------
    >>> import numpy as np
    >>> listed = list_sets(np.diag([4.0, 3.0, 2.0, 1.0]), (1, 1), 5.5, uncorrelated=False)
    >>> [one.tolist() for one in listed.supports], listed.limits.round(6)
    ([[[0], [0]], [[1], [2]]], array([7., 6.]))
    """
    every = _Supports(matrix, cardinalities)
    options = {"uncorrelated": uncorrelated, "disjoint": disjoint}
    if len(cardinalities) == 2:
        found = _list_pairs(every, cardinalities, floor, **options)
        tuples = None if found is None else np.stack(found[:2], axis=1)
        limits = np.zeros(0) if found is None else found[2]
    else:
        tuples, limits = _list_triples(every, cardinalities, floor, **options)
    if tuples is None:
        return None
    supports = [np.zeros((0, 0), dtype=np.int64)] * len(cardinalities)
    ascending = sorted(range(len(cardinalities)), key=lambda t: cardinalities[t])
    for column, t in enumerate(ascending):  # places ascend with the cardinality
        supports[t] = every.variables(tuples[:, column], cardinalities[t])
    return Listed(tuple(supports), limits).ordered()


def _list_pairs(
    every: _Supports, cardinalities: Sequence[int], floor: float, *, uncorrelated: bool, disjoint: bool
) -> tuple[Indices, Indices, Numbers] | None:
    """Places of the supports of pairs above the floor, the smaller place first, and their limits."""
    small, large = sorted(cardinalities)
    first, second = every.places[small], every.places[large]
    found = every.combine(first, second, floor - every.values[first])
    if found is None:
        return None
    left, right = first[found[0]], found[1]
    kept = left <= right
    if disjoint:
        kept &= ~(every.members[left] & every.members[right]).any(axis=1)
    left, right = left[kept], right[kept]
    limits = every.limit_pairs(left, right, uncorrelated=uncorrelated)
    above = limits > floor
    return left[above], right[above], limits[above]


def _list_triples(
    every: _Supports, cardinalities: Sequence[int], floor: float, *, uncorrelated: bool, disjoint: bool
) -> tuple[Indices | None, Numbers]:
    """Places of triples above the floor in ascending order, each once, and their limits."""
    none = np.zeros((0, 3), dtype=np.int64), np.zeros(0)
    found = [none[0]]
    for third in sorted(set(cardinalities)):
        others = list(cardinalities)
        others.remove(third)
        # The two components that explain most explain two thirds at least.
        least = (2.0 / 3.0) * floor - 8.0 * UNIT * abs(floor) if np.isfinite(floor) else floor
        pairs = _list_pairs(every, others, least, uncorrelated=uncorrelated, disjoint=disjoint)
        if pairs is None:
            return None, none[1]
        added = every.combine(pairs[0], every.places[third], floor - pairs[2])
        if added is None:
            return None, none[1]
        rows, places = added
        triples = np.stack([pairs[0][rows], pairs[1][rows], places], axis=1)
        found.append(np.sort(triples, axis=1))
    count = len(every.values)  # places as the digits of one number, which sorts faster than rows
    numbers = np.unique(np.vstack(found) @ np.array([count * count, count, 1], dtype=np.int64))
    triples = np.stack([numbers // (count * count), numbers // count % count, numbers % count], axis=1)
    if disjoint:
        used = sum(every.members[triples[:, t]].astype(np.int64) for t in range(3))
        triples = triples[(np.asarray(used) <= 1).all(axis=1)]
    total = np.zeros(len(triples))
    for t, s in ((0, 1), (0, 2), (1, 2)):
        kinds, which = np.unique(triples[:, t] * count + triples[:, s], return_inverse=True)
        total += every.limit_pairs(kinds // count, kinds % count, uncorrelated=uncorrelated)[which]
    possible = np.isfinite(total)
    triples, total = triples[possible], total[possible]
    limits = 0.5 * total + 4.0 * UNIT * np.abs(total)
    above = limits > floor
    triples, limits = triples[above], limits[above]
    limits = every.limit_unions((triples[:, 0], triples[:, 1], triples[:, 2]), limits)
    above = limits > floor
    return triples[above], limits[above]
