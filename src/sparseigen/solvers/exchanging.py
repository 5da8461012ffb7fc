"""Exchange several variables at a time: what moves a search on where power steps stand still.

A power step compares |A x| inside and outside the support, and inside a variable's own variance counts in its favour:
on data without much structure nearly every support is a fixed point. Without it the comparison is fair. Let x be the
leading eigenvector on the support S, lambda its value, and b_i = (A x)_i - A_ii x_i what variable i has in common
with the others of S. To the second order S gains b_j^2 / (lambda - A_jj) when j enters, and loses
b_i^2 / (lambda - A_ii) when i leaves. So the t weakest variables inside are exchanged for the t strongest outside, as
long as each pair promises a gain; where the value falls, half as many, down to one.

One product with the data serves all t. `race` does this for many starts at once, with approximate eigenvectors, and
keeps the best; `climb` does it for one vector, with exact ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.operators.contract import Indices, Operator, SparseVector, Vector
from sparseigen.operators.iteration import Iteration
from sparseigen.solvers.eigenpairs import LARGEST_DENSE_PROBLEM, best_of_block, best_on_support, has_narrow_factor
from sparseigen.solvers.interface import Progress

Start = tuple[str, SparseVector]

SMALLEST_MARGIN = 0.05
"""lambda - A_jj counts as this share of lambda, or of the largest b, at least: nearer to zero there is no expansion."""
SCATTERED = 0.5
"""The share of its variables that a vector around another one has exchanged."""
LEAPS = ((3, 4), (4, 16))
"""Stages of a race: steps, and the share of the runs, one in so many, that goes on after them."""


@dataclass(frozen=True)
class ClimbReport:
    """Where a climb ended, the values on its way, and whether its rounds were used up."""

    vector: SparseVector
    value: float
    history: list[float]
    limited: bool


class Proposal(NamedTuple):
    """A vector on a changed support; which places of the old support its new variables take."""

    vector: SparseVector
    leaving: Indices
    entering: Indices


def measure_strengths(
    diagonal: NDArray[np.float64], vector: SparseVector, value: float, product: Vector, *, nonnegative: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every variable what it brings to the value or takes with it, to the second order; and b / (lambda - A_jj)."""
    shared = np.array(product, dtype=np.float64)
    shared[vector.indices] -= diagonal[vector.indices] * vector.weights
    if nonnegative:
        np.maximum(shared, 0.0, out=shared)
    margins = value - diagonal
    unit = max(abs(value), float(shared.max()), -float(shared.min()))
    np.maximum(margins, SMALLEST_MARGIN * unit + np.finfo(np.float64).tiny, out=margins)
    weights = np.divide(shared, margins, out=margins)
    shared *= weights
    return shared, weights


def propose(
    diagonal: NDArray[np.float64],
    vector: SparseVector,
    value: float,
    product: Vector,
    most: int,
    *,
    nonnegative: bool = False,
) -> Proposal:
    """The weakest variables of the support exchanged for stronger ones, at most so many.

    The weights are those of a power step; a variable that enters gets what the eigenvector of the new support has
    there to the first order.
    """
    inside, count = vector.indices, min(most, len(vector.indices), len(diagonal) - len(vector.indices))
    weights = np.array(product[inside], dtype=np.float64)
    leaving = entering = inside[:0]
    if count > 0:
        strengths, entered = measure_strengths(diagonal, vector, value, product, nonnegative=nonnegative)
        held = strengths[inside]
        leaving = held.argsort(kind="stable")[:count]
        strengths[inside] = 0.0
        entering = kernels.largest_magnitudes(strengths, count)
        offered = strengths[entering]
        strongest = (-offered).argsort(kind="stable")
        better = int(np.count_nonzero(offered[strongest] > held[leaving]))  # a prefix: one list falls, one rises
        leaving, entering = leaving[:better], entering[strongest[:better]]
        weights[leaving] = value * entered[entering]
    if nonnegative:
        np.maximum(weights, 0.0, out=weights)
    length = kernels.length(weights)
    if not 0.0 < length < np.inf:
        return Proposal(vector, inside[:0], inside[:0])
    weights /= length
    if not len(leaving):
        return Proposal(SparseVector(inside, weights), leaving, entering)
    indices = inside.copy()
    indices[leaving] = entering
    order = indices.argsort()
    return Proposal(SparseVector(indices[order], weights[order]), leaving, entering)


class _Block:
    """A on the support of a climb; a proposal needs only the rows of the variables that enter."""

    def __init__(self, operator: Operator, vector: SparseVector) -> None:
        self.operator = operator
        self.narrow = has_narrow_factor(operator, len(vector.indices))
        self.matrix = np.empty((0, 0)) if self.narrow else operator.submatrix(vector.indices)

    def try_out(self, proposal: Proposal, *, nonnegative: bool) -> tuple[SparseVector, float, NDArray[np.float64]]:
        """The best vector on the proposed support, its value, and A there."""
        indices, operator = proposal.vector.indices, self.operator
        if self.narrow and not nonnegative:
            return *best_on_support(operator, proposal.vector), self.matrix
        if self.narrow or 2 * len(proposal.entering) > len(indices):
            matrix = operator.submatrix(indices)
        else:
            places = np.searchsorted(indices, proposal.entering)
            stay = np.delete(np.arange(len(indices)), proposal.leaving)
            kept = np.delete(np.arange(len(indices)), places)
            matrix = np.empty((len(indices), len(indices)))
            matrix[np.ix_(kept, kept)] = self.matrix[np.ix_(stay, stay)]
            rows = operator.submatrix(indices, proposal.entering)
            matrix[:, places], matrix[places] = rows, rows.T
        found, value = best_of_block(matrix, proposal.vector, nonnegative=nonnegative)
        return found, value, matrix


def climb(
    operator: Operator,
    vector: SparseVector,
    value: float,
    *,
    rounds: int,
    progress: Progress,
    nonnegative: bool = False,
) -> ClimbReport:
    """Exchange while the exact value on the support rises, at most so many supports tried."""
    diagonal, most = operator.diagonal(), len(vector.indices)
    history: list[float] = []
    if len(vector.indices) > LARGEST_DENSE_PROBLEM:
        return ClimbReport(vector, value, history, limited=True)
    product, block = operator.apply_support(vector.indices, vector.weights), None
    for _ in range(rounds):
        proposal = propose(diagonal, vector, value, product, most, nonnegative=nonnegative)
        exchanged = len(proposal.entering)
        if exchanged == 0:
            return ClimbReport(vector, value, history, limited=False)
        block = _Block(operator, vector) if block is None else block
        found, reached, matrix = block.try_out(proposal, nonnegative=nonnegative)
        if reached > value + 1e-12 * abs(value):
            vector, value, most = found, reached, 2 * exchanged
            block.matrix = matrix
            history.append(value)
            product = operator.apply_support(vector.indices, vector.weights)
            progress.report(vector, value)
        else:
            most = exchanged // 2
    return ClimbReport(vector, value, history, limited=True)


class _Lanes:
    """The runs of a race side by side, one row for each: the best vector so far and the product that leads on."""

    def __init__(self, vectors: Sequence[SparseVector], diagonal: NDArray[np.float64], *, nonnegative: bool) -> None:
        self.diagonal, self.nonnegative = diagonal, nonnegative
        self.indices = self.trial_indices = np.stack([vector.indices for vector in vectors])
        self.weights = self.trial_weights = np.stack([vector.weights for vector in vectors])
        self.values = np.full(len(vectors), -np.inf)
        self.most = np.full(len(vectors), self.indices.shape[1])
        self.exchanged = np.zeros(len(vectors), dtype=np.int64)
        self.rows = np.arange(len(vectors))[:, None]

    def look(self, steps: Iteration) -> None:
        """Take the trials that are better; the others go back and exchange fewer."""
        trials = zip(self.trial_indices, self.trial_weights, strict=True)
        products = steps.multiply([SparseVector(*trial) for trial in trials])
        values = (products[self.rows, self.trial_indices] * self.trial_weights).sum(axis=1, dtype=np.float64)
        better = values > self.values
        if better.all():
            self.indices, self.weights, self.products = self.trial_indices, self.trial_weights, products
        else:
            self.products[better] = products[better]
            self.indices = np.where(better[:, None], self.trial_indices, self.indices)
            self.weights = np.where(better[:, None], self.trial_weights, self.weights)
        self.values = np.where(better, values, self.values)
        more = np.where(self.exchanged > 0, 2 * self.exchanged, np.maximum(self.most, 1))
        self.most = np.where(better, more, self.exchanged // 2)

    def step(self) -> None:
        """The next trials, as `propose` makes them."""
        inside, rows, diagonal = self.indices, self.rows, self.diagonal
        count = min(inside.shape[1], len(diagonal) - inside.shape[1])
        weights = self.products[rows, inside].astype(np.float64)
        shared = np.array(self.products, dtype=np.float64)
        shared[rows, inside] -= diagonal[inside] * self.weights
        if self.nonnegative:
            np.maximum(shared, 0.0, out=shared)
        units = np.maximum(np.abs(self.values), np.maximum(shared.max(axis=1), -shared.min(axis=1)))
        least = SMALLEST_MARGIN * units + np.finfo(np.float64).tiny
        margins = np.subtract(self.values[:, None], diagonal)
        np.maximum(margins, least[:, None], out=margins)
        entered = np.divide(shared, margins, out=margins)
        shared *= entered
        held = shared[rows, inside]
        shared[rows, inside] = 0.0
        leaving = held.argsort(axis=1, kind="stable")[:, :count]
        entering = np.stack([kernels.largest_magnitudes(row, count) for row in shared])
        offered = shared[rows, entering]
        order = (-offered).argsort(axis=1, kind="stable")
        entering, offered = entering[rows, order], offered[rows, order]
        better = (offered > held[rows, leaving]) & (np.arange(count) < self.most[:, None])
        self.exchanged = better.sum(axis=1)
        indices = inside.copy()
        indices[rows, leaving] = np.where(better, entering, inside[rows, leaving])
        weights[rows, leaving] = np.where(
            better, self.values[:, None] * entered[rows, entering], weights[rows, leaving]
        )
        if self.nonnegative:
            np.maximum(weights, 0.0, out=weights)
        lengths = np.sqrt((weights * weights).sum(axis=1, keepdims=True))
        usable = (lengths > 0.0) & (lengths < np.inf)
        indices = np.where(usable, indices, inside)
        weights = np.where(usable, weights / np.where(usable, lengths, 1.0), self.weights)
        order = indices.argsort(axis=1)
        self.trial_indices, self.trial_weights = indices[rows, order], weights[rows, order]

    def choose_best(self, count: int) -> list[int]:
        """The rows of largest value, one for each support."""
        distinct: dict[bytes, int] = {}
        for row in np.argsort(-self.values, kind="stable").tolist():
            distinct.setdefault(self.indices[row].tobytes(), row)
        return list(distinct.values())[:count]

    def keep(self, chosen: list[int]) -> None:
        """Go on with these rows alone."""
        for name in ("indices", "weights", "values", "most", "exchanged", "products"):
            setattr(self, name, getattr(self, name)[chosen])
        self.rows = np.arange(len(chosen))[:, None]


def race(
    operator: Operator,
    starts: Sequence[Start],
    kept: int,
    *,
    nonnegative: bool = False,
    leaps: Sequence[tuple[int, int]] = LEAPS,
) -> list[Start]:
    """The best of many starts after a few steps that they make together, best first and of distinct supports.

    All starts have the same number of variables.
    """
    labels = [label for label, _ in starts]
    steps = operator.iteration([len(starts[0][1].indices)])
    lanes = _Lanes([vector for _, vector in starts], operator.diagonal(), nonnegative=nonnegative)
    lanes.look(steps)
    for leap, share in leaps:
        for _ in range(leap):
            lanes.step()
            lanes.look(steps)
        chosen = lanes.choose_best(max(kept, len(starts) // share))
        lanes.keep(chosen)
        labels = [labels[row] for row in chosen]
    vectors = [SparseVector(*row) for row in zip(lanes.indices, lanes.weights, strict=True)]
    return list(zip(labels, vectors, strict=True))[:kept]


def scatter(
    operator: Operator, vector: SparseVector, value: float, count: int, *, nonnegative: bool = False
) -> list[SparseVector]:
    """Vectors around one: some of its variables, chosen at random, exchanged for others among the strongest outside.

    The choice is the same every time.
    """
    size, cardinality, rng = operator.size, len(vector.indices), np.random.default_rng(0)
    product = operator.apply_support(vector.indices, vector.weights)
    strengths, entered = measure_strengths(operator.diagonal(), vector, value, product, nonnegative=nonnegative)
    strengths[vector.indices] = 0.0
    pool = kernels.largest_magnitudes(strengths, min(size, 2 * cardinality))
    pool = pool[strengths[pool] > 0.0]
    some = min(len(pool), max(1, int(cardinality * SCATTERED)))
    scattered = []
    for _ in range(count if some else 0):
        leaving, entering = rng.choice(cardinality, some, replace=False), rng.choice(pool, some, replace=False)
        indices, weights = vector.indices.copy(), vector.weights.copy()
        indices[leaving], weights[leaving] = entering, entered[entering]
        length, order = kernels.length(weights), indices.argsort()
        if length > 0.0:
            scattered.append(SparseVector(indices[order], weights[order] / length))
    return scattered
