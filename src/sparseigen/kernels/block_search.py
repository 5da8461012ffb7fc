"""The search behind exact proofs of small problems in NumPy: the twin of ``src/cpp/small_search.cpp``.

Are all k x k principal blocks of a symmetric matrix positive semidefinite? A node of the search has taken some
variables in, and keeps the Schur complement of the matrix at them: a block with these variables is positive
semidefinite where the rest of it is in the complement. Rows that are dominant for some weights d > 0, which is
``s_aa d_a >= sum of the k - 1 largest |s_ab| d_b``, cannot make a block indefinite; so every other block holds a row
that is not, and the search takes these in, one after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]

PROVEN, FOUND, OVERSPENT = 0, 1, 2
UNIT, TINY, FLOOR = 2.0**-53, 1e-280, 1e-7
ROOT_PASSES, NODE_PASSES, NARROW = 12, 3, 24
MOST_HELD = 1 << 23
"""Entries of the blocks of all nodes on the way down: 64 MiB."""
CHILD_WORK = 2.0
"""Operations per entry of a block for one more variable, at least."""


class BlockReport(NamedTuple):
    """What a search found."""

    verdict: int
    """PROVEN, FOUND, or OVERSPENT where the work allowed is used up."""
    support: Indices
    """Where found: the variables of a block that is not positive semidefinite as far as the computation sees."""
    nodes: int
    work: float
    """Elementary operations."""


def search_blocks(
    matrix: Numbers, picks: int, most_work: float, weights: Numbers, *, most_held: int = MOST_HELD
) -> BlockReport:
    """Whether all principal blocks of ``picks`` variables are positive semidefinite, up to rounding.

    ``weights`` start the row bounds. The search ends after about ``most_work`` operations, or where blocks of more than
    ``most_held`` entries in all would have to be held. The matrix may be overwritten. How much rounding can hide:
    `certificates.small_proof`.
    """
    search = _Search(most_work, most_held)
    broken = np.flatnonzero(~(matrix.diagonal() > 0.0))
    if broken.size:
        search.report(np.arange(len(matrix)), weights, int(broken[0]), picks)
        verdict = FOUND
    else:
        verdict = search.descend(matrix, weights.copy(), np.arange(len(matrix)), picks, ROOT_PASSES)
    return BlockReport(verdict, np.sort(np.array(search.support, dtype=np.int64)), search.nodes, search.work)


class _Search:
    def __init__(self, most_work: float, most_held: int) -> None:
        self.room = most_held
        self.most_work, self.work, self.nodes, self.overspent = most_work, 0.0, 0, False
        self.taken: list[int] = []
        self.support: list[int] = []

    def descend(self, block: Numbers, weights: Numbers, labels: Indices, picks: int, passes: int) -> int:
        """All supports that hold what is taken in and ``picks`` of the free variables."""
        self.nodes += 1
        if picks == 1:
            return PROVEN  # the diagonal was looked at where the block was made
        if picks == 2:
            return self._look_at_pairs(block, labels)
        while len(block) >= picks:
            if len(block) == picks or len(block) <= NARROW:
                if self.work + len(block) ** 3 / 6.0 > self.most_work:
                    return OVERSPENT
                if self._factorises(block):
                    return PROVEN
                if len(block) == picks:
                    self.report(labels, weights, 0, picks)
                    return FOUND
            kept, weights, chosen = self._settle_rows(block, weights, picks, passes)
            block, weights, labels = block[np.ix_(kept, kept)], weights[kept], labels[kept]
            if chosen is None or len(kept) < picks:
                return PROVEN
            if self.overspent:
                return OVERSPENT
            verdict = self._take_in(block, weights, labels, int(np.flatnonzero(kept == chosen)[0]), picks)
            if verdict != PROVEN:
                return verdict
            passes = NODE_PASSES
            left = kept != chosen
            block, weights, labels = block[np.ix_(left, left)], weights[left], labels[left]
        return PROVEN

    def _take_in(self, block: Numbers, weights: Numbers, labels: Indices, chosen: int, picks: int) -> int:
        """The supports with one more variable, by the Schur complement at it."""
        held = (len(block) - 1) ** 2
        if held > self.room:
            return OVERSPENT
        rest = np.arange(len(block)) != chosen
        column = block[rest, chosen]
        self.work += len(block) ** 2
        with np.errstate(all="ignore"):
            complement = np.tril(block[np.ix_(rest, rest)] - np.outer(column / block[chosen, chosen], column))
        complement += np.tril(complement, -1).T
        self.taken.append(int(labels[chosen]))
        broken = np.flatnonzero(~(complement.diagonal() > 0.0))
        if broken.size:
            self.report(labels[rest], weights[rest], int(broken[0]), picks - 1)
            return FOUND
        self.room -= held
        verdict = self.descend(complement, weights[rest], labels[rest], picks - 1, NODE_PASSES)
        self.room += held
        self.taken.pop()
        return verdict

    def _look_at_pairs(self, block: Numbers, labels: Indices) -> int:
        """Two variables more: s_aa s_bb >= s_ab^2 with the rounding of both products."""
        self.work += 0.5 * len(block) ** 2
        diagonal = block.diagonal()
        held = np.outer(diagonal, diagonal) >= block**2 * (1.0 + 8.0 * UNIT) + TINY
        np.fill_diagonal(held, val=True)
        if held.all():
            return PROVEN
        self.support = [*self.taken, *(int(label) for label in labels[np.argwhere(~held)[0]])]
        return FOUND

    def _factorises(self, block: Numbers) -> bool:
        """L D L' with all pivots positive."""
        rest = block
        while len(rest):
            self.work += 0.5 * len(rest) ** 2
            if not rest[0, 0] > 0.0:
                return False
            with np.errstate(all="ignore"):
                rest = rest[1:, 1:] - np.outer(rest[1:, 0] / rest[0, 0], rest[0, 1:])
        return True

    def _settle_rows(
        self, block: Numbers, weights: Numbers, picks: int, passes: int
    ) -> tuple[Indices, Numbers, int | None]:
        """The variables that remain, weights of all, and the row to take in; None when all rows are dominant."""
        slack = 4.0 * (picks + 8.0) * UNIT
        kept, weights, left = np.arange(len(block)), weights.copy(), passes
        fewest, best = len(block) + 1, weights
        while True:
            left -= 1
            part, own = block[np.ix_(kept, kept)], weights[kept]
            products = np.abs(part) * own
            np.fill_diagonal(products, 0.0)
            self.work += 4.0 * len(part) ** 2
            largest = np.partition(products, len(part) - picks + 1, axis=1)[:, len(part) - picks + 1 :]
            sums, least, held = largest.sum(axis=1), largest[:, 0], part.diagonal() * own
            above = np.flatnonzero(~(held >= sums * (1.0 + slack) + TINY))
            if above.size == 0:
                return kept, weights, None
            if len(above) < fewest:
                fewest, best = len(above), weights.copy()
            chosen = int(kept[above[own[above].argmax()]])
            self.work += 2.0 * len(above) * len(part)
            # Variables with a dominant row and with which in the support all other rows are: in each of these they
            # take the place of the smallest product used.
            gained = least[above, None] - np.minimum(products[above], least[above, None])
            forced = (sums[above, None] - gained + 2.0 * slack * sums[above, None]) * (1.0 + slack) + TINY
            hopeless = (held[above, None] >= forced).all(axis=0)
            hopeless[above] = False
            if left > 0:
                weights[kept] = _improve(own, sums / held)
            kept = kept[~hopeless]
            # The children that this many rows would have; a pass more is taken to halve their number at best.
            ahead = CHILD_WORK * fewest * len(kept) ** 2
            self.overspent = self.work + ahead * 0.5 ** max(left, 0) > self.most_work
            if len(kept) < picks or self.overspent:
                return kept, weights, chosen
            if passes == ROOT_PASSES and left == 0 and len(above) > fewest:
                weights = best  # those since have spread what is too much in a few rows over many
            elif left <= 0:
                return kept, weights, chosen

    def report(self, labels: Indices, weights: Numbers, variable: int, picks: int) -> None:
        """What is taken in, the variable, and the others of largest weight."""
        order = [variable, *(int(i) for i in np.argsort(-weights, kind="stable") if i != variable)]
        self.support = [*self.taken, *(int(labels[i]) for i in order[:picks])]


def _improve(weights: Numbers, ratios: Numbers) -> Numbers:
    """d <- d sqrt(ratio): rows that are not dominant gain weight."""
    improved = weights * np.sqrt(ratios)
    largest = float(improved.max())
    if not 0.0 < largest < 1e300:
        return np.ones(len(weights))
    return np.asarray(np.maximum(improved / largest, FLOOR))
