"""The search behind exact proofs of small problems in NumPy: the twin of ``src/cpp/small_search.cpp``.

Are all k x k principal blocks of a symmetric matrix positive semidefinite? A node of the search has taken some
variables in, and keeps the Schur complement of the matrix at them: a block with these variables is positive
semidefinite where the rest of it is in the complement. Rows that are dominant for some weights d > 0, which is
``s_aa d_a >= sum of the k - 1 largest |s_ab| d_b``, cannot make a block indefinite; so every other block holds a row
that is not, and the search takes these in, one after the other. Where two groups of variables have numbers of their
own, a row adds up the largest products of each group, as many as may be chosen there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]
Picks = tuple[int, int]
"""How many variables are still to be taken of the first group (labels below the boundary) and of the second."""

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
    matrix: Numbers,
    picks: int,
    most_work: float,
    weights: Numbers,
    *,
    most_held: int = MOST_HELD,
    others: int = 0,
    boundary: int | None = None,
    narrow: int = NARROW,
) -> BlockReport:
    """Whether all principal blocks of ``picks`` variables are positive semidefinite, up to rounding.

    With ``others`` the blocks meant have ``picks`` variables below ``boundary`` and ``others`` from there on.
    ``weights`` start the row bounds. The search ends after about ``most_work`` operations, or where blocks of more than
    ``most_held`` entries in all would have to be held. Blocks of up to ``narrow`` variables are also looked at as a
    whole: where they are positive semidefinite, so is every block in them. The matrix may be overwritten. How much
    rounding can hide: `certificates.small_proof`.
    """
    search = _Search(most_work, most_held, len(matrix) if boundary is None else boundary, narrow)
    both = (picks, others)
    broken = np.flatnonzero(~(matrix.diagonal() > 0.0))
    if broken.size:
        search.report(np.arange(len(matrix)), weights, int(broken[0]), both)
        verdict = FOUND
    else:
        verdict = search.descend(matrix, weights.copy(), np.arange(len(matrix)), both, ROOT_PASSES)
    return BlockReport(verdict, np.sort(np.array(search.support, dtype=np.int64)), search.nodes, search.work)


class _Search:
    def __init__(self, most_work: float, most_held: int, boundary: int, narrow: int) -> None:
        self.room, self.boundary, self.narrow = most_held, boundary, narrow
        self.most_work, self.work, self.nodes, self.overspent = most_work, 0.0, 0, False
        self.taken: list[int] = []
        self.support: list[int] = []

    def _enough(self, labels: Indices, picks: Picks) -> bool:
        """Whether as many variables are left as are to be taken, in both groups."""
        if 0 in picks:
            return len(labels) >= sum(picks)
        first = int((labels < self.boundary).sum())
        return first >= picks[0] and len(labels) - first >= picks[1]

    def descend(self, block: Numbers, weights: Numbers, labels: Indices, picks: Picks, passes: int) -> int:
        """All supports that hold what is taken in and ``picks`` of the free variables of the two groups."""
        self.nodes += 1
        total = sum(picks)
        if total == 1:
            return PROVEN  # the diagonal was looked at where the block was made
        if total == 2:
            return self._look_at_pairs(block, labels, picks)
        while self._enough(labels, picks):
            if len(block) == total or len(block) <= self.narrow:
                if self.work + len(block) ** 3 / 6.0 > self.most_work:
                    return OVERSPENT
                if self._factorises(block):
                    return PROVEN
                if len(block) == total:
                    self.report(labels, weights, 0, picks)
                    return FOUND
            kept, weights, chosen = self._settle_rows(block, weights, labels, picks, passes)
            block, weights, labels = block[np.ix_(kept, kept)], weights[kept], labels[kept]
            if chosen is None or not self._enough(labels, picks):
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

    def _take_in(self, block: Numbers, weights: Numbers, labels: Indices, chosen: int, picks: Picks) -> int:
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
        group = int(labels[chosen] >= self.boundary)
        fewer = (picks[0] - 1, picks[1]) if group == 0 else (picks[0], picks[1] - 1)
        labels, weights = labels[rest], weights[rest]
        if fewer[group] == 0:  # what is left of that group can no longer be chosen
            free = (labels >= self.boundary) != bool(group)
            complement, labels, weights = complement[np.ix_(free, free)], labels[free], weights[free]
        broken = np.flatnonzero(~(complement.diagonal() > 0.0))
        if broken.size:
            self.report(labels, weights, int(broken[0]), fewer)
            return FOUND
        self.room -= held
        verdict = self.descend(complement, weights, labels, fewer, NODE_PASSES)
        self.room += held
        self.taken.pop()
        return verdict

    def _look_at_pairs(self, block: Numbers, labels: Indices, picks: Picks) -> int:
        """Two variables more: s_aa s_bb >= s_ab^2 with the rounding of both products."""
        self.work += 0.5 * len(block) ** 2
        diagonal = block.diagonal()
        held = np.outer(diagonal, diagonal) >= block**2 * (1.0 + 8.0 * UNIT) + TINY
        np.fill_diagonal(held, val=True)
        if 0 not in picks:  # one of each
            held |= (labels < self.boundary)[:, None] == (labels < self.boundary)
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

    def _sum_rows(self, products: Numbers, labels: Indices, picks: Picks) -> tuple[Numbers, Numbers]:
        """Of each row the sum of the largest products, and per group the smallest of them, -1 where there is none."""
        count, total = len(products), sum(picks)
        if 0 in picks:
            largest = np.partition(products, count - total + 1, axis=1)[:, count - total + 1 :]
            return largest.sum(axis=1), np.tile(largest[:, :1], 2)
        sums, least = np.zeros(count), np.full((count, 2), -1.0)
        groups = (labels >= self.boundary).astype(np.int64)
        for row in range(count):
            for group in (0, 1):
                used = picks[group] - int(groups[row] == group)
                if used > 0:
                    chosen = np.sort(products[row, (groups == group) & (np.arange(count) != row)])[-used:]
                    sums[row] += chosen.sum()
                    least[row, group] = chosen[0]
        return sums, least

    def _settle_rows(
        self, block: Numbers, weights: Numbers, labels: Indices, picks: Picks, passes: int
    ) -> tuple[Indices, Numbers, int | None]:
        """The variables that remain, weights of all, and the row to take in; None when all rows are dominant."""
        slack = 4.0 * (sum(picks) + 8.0) * UNIT
        kept, weights, left = np.arange(len(block)), weights.copy(), passes
        fewest, best = len(block) + 1, weights
        while True:
            left -= 1
            part, own = block[np.ix_(kept, kept)], weights[kept]
            products = np.abs(part) * own
            np.fill_diagonal(products, 0.0)
            self.work += 4.0 * len(part) ** 2
            groups = (labels[kept] >= self.boundary).astype(np.int64)
            (sums, smallest), held = self._sum_rows(products, labels[kept], picks), part.diagonal() * own
            above = np.flatnonzero(~(held >= sums * (1.0 + slack) + TINY))
            if above.size == 0:
                return kept, weights, None
            if len(above) < fewest:
                fewest, best = len(above), weights.copy()
            chosen = int(kept[above[own[above].argmax()]])
            self.work += 2.0 * len(above) * len(part)
            # Variables with a dominant row and with which in the support all other rows are: in each of these they
            # take the place of the smallest product used.
            least = smallest[above][:, groups]  # of the group of the variable that comes in
            gained = least - np.minimum(products[above], least)
            forced = (sums[above, None] - gained + 2.0 * slack * sums[above, None]) * (1.0 + slack) + TINY
            apart = least < 0.0  # the two are never chosen together
            hopeless: NDArray[np.bool_] = np.asarray(((held[above, None] >= forced) | apart).all(axis=0))
            hopeless[above] = False
            if left > 0:
                weights[kept] = _improve(own, sums / held)
            kept = kept[~hopeless]
            # The children that this many rows would have; a pass more is taken to halve their number at best.
            ahead = CHILD_WORK * fewest * len(kept) ** 2
            self.overspent = self.work + ahead * 0.5 ** max(left, 0) > self.most_work
            if not self._enough(labels[kept], picks) or self.overspent:
                return kept, weights, chosen
            if passes == ROOT_PASSES and left == 0 and len(above) > fewest:
                weights = best  # those since have spread what is too much in a few rows over many
            elif left <= 0:
                return kept, weights, chosen

    def report(self, labels: Indices, weights: Numbers, variable: int, picks: Picks) -> None:
        """What is taken in, the variable, and the others of largest weight."""
        order = [variable, *(int(i) for i in np.argsort(-weights, kind="stable") if i != variable)]
        left = [sum(picks), 0] if 0 in picks else list(picks)
        self.support = self.taken.copy()
        for i in order:
            group = 0 if 0 in picks else int(labels[i] >= self.boundary)
            if left[group] > 0:
                left[group] -= 1
                self.support.append(int(labels[i]))


def _improve(weights: Numbers, ratios: Numbers) -> Numbers:
    """d <- d sqrt(ratio): rows that are not dominant gain weight."""
    improved = weights * np.sqrt(ratios)
    largest = float(improved.max())
    if not 0.0 < largest < 1e300:
        return np.ones(len(weights))
    return np.asarray(np.maximum(improved / largest, FLOOR))
