"""Sets on given supports, priced: what components on S_1, ..., S_r can explain, for many tuples of supports at once.

With U the union of the supports, K = FF' any positive semidefinite matrix on U and R_t = I for orthogonal sets,
R_t = A[U]^(1/2) / sqrt(h_t) for uncorrelated ones, h_t >= lambda_max(A[S_t]),

    sum_t u_t'Au_t <= trace K + sum_t lambda_max( (A - R_t'KR_t)[S_t] ),

the terms of uncorrelated sets counting zero at least: sections 1 and 3 of `docs/theory-sets.md` on U. The right-hand
side is convex in K. Polyak's steps towards the value that is to be undercut lower it, all tuples in one batch; what the
best K proves is then computed once more, upward.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma
from sparseigen.certificates.set_listing import Listed, can_list, decompose, list_sets
from sparseigen.operators.contract import Indices

STEPS = 150
FIRST_STEPS = (20, 80)
"""A few steps first shorten the list."""
OVERSTEP, BELOW = 1.6, 1e-3
"""Polyak's steps are this much longer, and aim this share below the value that is to be undercut."""
SMALLEST = 1e-9
"""Eigenvalues of A[U] below this share of the largest count as that."""
AT_ONCE = 4096
"""Tuples of one batch."""
CLOSED = 1e-7
"""How far above the set that was found the bound of an empty list lies, relatively."""


def bound_listed(
    problem: BoundProblem,
    cardinalities: Sequence[int],
    reached: float,
    *,
    uncorrelated: bool,
    disjoint: bool,
    steps: int,
    most_work: float,
) -> float:
    """The largest limit of a set of two or three components, all supports listed; infinite where there are too many.

    ``reached`` is the value of a set; of the scaled matrix like the bound, which leaves the errors of the entries out.
    Prices take ``most_work`` operations at most.
    """
    matrix = problem.dense
    if matrix is None or not can_list(len(matrix), cardinalities, disjoint=disjoint) or not reached > 0.0:
        return np.inf
    floor = reached * (1.0 + CLOSED)
    listed = list_sets(matrix, cardinalities, floor, uncorrelated=uncorrelated, disjoint=disjoint)
    if listed is None:
        return np.inf
    for part in (*FIRST_STEPS, steps):
        if len(listed) and measure_work(listed) * min(part, steps) <= most_work:
            listed = price_tuples(
                matrix, problem.entry_errors, listed, floor, uncorrelated=uncorrelated, steps=min(part, steps)
            )
    return max(floor, float(listed.limits[0])) if len(listed) else floor


def measure_work(listed: Listed) -> float:
    """Operations of one step of prices, up to a factor."""
    return float(len(listed) * sum(one.shape[1] for one in listed.supports) ** 3)


def price_tuples(
    matrix: Numbers, errors: Numbers, listed: Listed, floor: float, *, uncorrelated: bool, steps: int = STEPS
) -> Listed:
    """The tuples with smaller limits where prices prove them, less those that fall to the floor.

    ``errors`` are those of the entries: |A_ij| is known up to sqrt(errors_i errors_j). Limits of orthogonal sets leave
    them out, as those of `list_sets` do.
    """
    filled = np.zeros((len(listed), len(matrix)), dtype=bool)
    for one in listed.supports:
        np.put_along_axis(filled, one, True, axis=1)
    sizes, limits = filled.sum(axis=1), listed.limits.copy()
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        for begin in range(0, len(rows), AT_ONCE):
            chosen = rows[begin : begin + AT_ONCE]
            batch = _Batch(matrix, errors, [one[chosen] for one in listed.supports], filled[chosen], uncorrelated)
            limits[chosen] = np.minimum(limits[chosen], batch.lower(floor, steps))
    return Listed(listed.supports, limits).take(np.flatnonzero(limits > floor)).ordered()


class _Batch:
    """Tuples of supports whose unions have one size, with everything that a price needs of the matrix."""

    def __init__(
        self,
        matrix: Numbers,
        errors: Numbers,
        supports: Sequence[Indices],
        filled: NDArray[np.bool_],
        uncorrelated: bool,
    ) -> None:
        self.count, self.size, self.uncorrelated = len(filled), int(filled[0].sum()), uncorrelated
        union = np.nonzero(filled)[1].reshape(-1, self.size)
        self.roots = np.sqrt(errors[union])
        self.whole = matrix[union[:, :, None], union[:, None, :]]
        places = np.cumsum(filled, axis=1) - 1
        self.at: list[Indices] = [np.take_along_axis(places, one, axis=1) for one in supports]
        self.blocks = [matrix[one[:, :, None], one[:, None, :]] for one in supports]
        self.most, self.shapes = [], []
        if uncorrelated:
            values, vectors = np.linalg.eigh(self.whole)
            values = np.maximum(values, SMALLEST * np.maximum(values[:, -1:], TINY))
            root = (vectors * np.sqrt(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
            self.inverse = (vectors / np.sqrt(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
        for block, at in zip(self.blocks, self.at, strict=True):
            if uncorrelated:
                inherited = np.take_along_axis(self.roots, at, axis=1).sum(axis=1) ** 2
                most = (decompose(block)[0][:, -1] + inherited) * (1.0 + 4.0 * gamma(at.shape[1])) + TINY
                self.most.append(most)
                shape = np.take_along_axis(root, at[:, None, :], axis=2) / np.sqrt(most)[:, None, None]
            else:
                shape = np.zeros((self.count, self.size, at.shape[1]))
                np.put_along_axis(shape, at[:, None, :], 1.0, axis=1)
            self.shapes.append(shape)

    def lower(self, floor: float, steps: int) -> Numbers:
        """The proven value of the best K of so many steps."""
        price = np.zeros((self.count, self.size, self.size))
        best, kept = np.full(self.count, np.inf), price.copy()
        active = np.arange(self.count)
        aim = floor - BELOW * abs(floor)
        for _ in range(steps):
            value, slope = self._look(price[active], active)
            better = value < best[active]
            best[active[better]], kept[active[better]] = value[better], price[active[better]]
            going = value > 0.5 * (aim + floor)
            if not going.any():
                break
            active, value, slope = active[going], value[going], slope[going]
            length = OVERSTEP * (value - aim) / np.maximum((slope**2).sum(axis=(1, 2)), TINY)
            values, vectors = np.linalg.eigh(price[active] - length[:, None, None] * slope)
            price[active] = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
        return self._prove(kept)

    def _look(self, price: Numbers, active: Indices) -> tuple[Numbers, Numbers]:
        """What K reaches up to rounding, and a subgradient."""
        value = np.einsum("nii->n", price)
        slope = np.tile(np.eye(self.size), (len(active), 1, 1))
        for block, shapes in zip(self.blocks, self.shapes, strict=True):
            shape = shapes[active]
            values, vectors = np.linalg.eigh(block[active] - shape.transpose(0, 2, 1) @ price @ shape)
            top, leading = values[:, -1], vectors[:, :, -1]
            if self.uncorrelated:
                leading, top = leading * (top > 0.0)[:, None], np.maximum(top, 0.0)
            image = np.einsum("nmk,nk->nm", shape, leading)
            value = value + top
            slope -= image[:, :, None] * image[:, None, :]
        return value, slope

    def _prove(self, price: Numbers) -> Numbers:
        """The bound that K proves, rounding included.

        K = FF' for the numbers in F; of orthogonal sets the computed FF' is off by gamma(q) |F|_F^2 in the spectral
        norm. Of uncorrelated sets G = A^(-1/2) F stands for K: its cost and its image under A are computed with the
        margins of `set_scores.prove_scores`, and Z_t is off by at most 2 |F_t| |E_t| + |E_t|^2 + gamma(q) |F_t|^2.
        """
        values, vectors = np.linalg.eigh(price)
        factor = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        size, extra = self.size, 2.0 * gamma(self.size + 8)
        if self.uncorrelated:
            combined = self.inverse @ factor
            factor, magnitude = self.whole @ combined, np.abs(combined)
            reach, spread = np.abs(self.whole) @ magnitude, np.einsum("nm,nmq->nq", self.roots, magnitude)
            total = np.einsum("nmq,nmq->n", combined, factor)
            total = total + 4.0 * gamma(2 * size + size * size) * np.einsum("nmq,nmq->n", magnitude, reach)
            total += (spread**2).sum(axis=1) * (1.0 + 4.0 * gamma(2 * size)) + TINY
            error = extra * reach + self.roots[:, :, None] * spread[:, None, :] * (1.0 + 4.0 * gamma(size))
        else:
            total = (factor**2).sum(axis=(1, 2)) * (1.0 + 2.0 * gamma(size * size)) + TINY
            error = np.zeros_like(factor)
        magnitude = np.abs(total)
        for t, (block, at) in enumerate(zip(self.blocks, self.at, strict=True)):
            part, missed = (np.take_along_axis(one, at[:, :, None], axis=1) for one in (factor, error))
            if self.uncorrelated:
                part, missed = (one / np.sqrt(self.most[t])[:, None, None] for one in (part, missed))
                missed = missed * (1.0 + 8.0 * UNIT) + 4.0 * UNIT * np.abs(part)
            rest = block - part @ part.transpose(0, 2, 1)
            rest = 0.5 * (rest + rest.transpose(0, 2, 1))
            length, off = (np.linalg.norm(one, axis=(1, 2)) * (1.0 + extra * size) for one in (part, missed))
            slack = 2.0 * length * off * (1.0 + 1e-9) + off**2 + extra * length**2
            slack += 4.0 * UNIT * at.shape[1] * (np.abs(rest).max(axis=(1, 2)) + length**2) + TINY
            reached = decompose(rest)[0][:, -1] + slack
            if self.uncorrelated:
                inherited = np.take_along_axis(self.roots, at, axis=1).sum(axis=1) ** 2
                reached = np.maximum(reached + inherited * (1.0 + 4.0 * gamma(size)), 0.0)
            total, magnitude = total + reached, magnitude + np.abs(reached)
        proven: Numbers = total + 4.0 * gamma(len(self.at) + 8) * magnitude
        return proven
