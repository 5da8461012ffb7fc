"""One component under linear constraints: the best weights on many supports at once, and exchanges of variables.

Given the other components a constraint on pairs is linear in this one: it is the leading eigenvector of its block in
the null space of the constraints. Blocks of one size are decomposed in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Support = NDArray[np.int64]

LEAST_GAIN = 1e-10
"""Relative gain below which a change is rounding."""
EXCHANGES, MOST_EXCHANGES = 24, 20
"""Supports tried at a time that differ by a variable, and how often."""
STARTS = 4
"""Columns of the matrix that a component without a start begins from."""
POWER_STEPS = 30


def rises(value: float, before: float) -> bool:
    """Whether a value is above an earlier one by more than rounding."""
    return bool(value > before + LEAST_GAIN * abs(before)) if np.isfinite(before) else bool(value > before)


def solve_supports(matrix: Matrix, supports: Support, constraints: Matrix) -> tuple[Vector, Matrix]:
    """The best unit vector on each of many supports of one size, orthogonal to the constraints; -infinity for none."""
    blocks = matrix[supports[:, :, None], supports[:, None, :]]
    if constraints.shape[1] == 0:
        values, vectors = np.linalg.eigh(blocks)
        return values[:, -1], vectors[:, :, -1]
    left, singular, _ = np.linalg.svd(constraints[supports], full_matrices=False)
    lengths = np.linalg.norm(constraints, axis=0).max()
    left = left * (singular > 1e-10 * lengths)[:, None, :]
    apart = np.eye(supports.shape[1]) - left @ left.transpose(0, 2, 1)
    shift = float(np.abs(blocks).sum(axis=2).max())  # no eigenvalue is larger
    blocks += 2.0 * shift * np.eye(supports.shape[1])
    values, vectors = np.linalg.eigh(apart @ blocks @ apart)
    values = values[:, -1]
    # Where nothing but zero meets the constraints, the largest eigenvalue is that of the zero matrix.
    return np.where(values > 0.5 * shift, values - 2.0 * shift, -np.inf), vectors[:, :, -1]


def find_slopes(matrix: Matrix, supports: Support, weights: Matrix, values: Vector, constraints: Matrix) -> Matrix:
    """Per support the gradient of u'Au less its part along the constraints, as seen on the support."""
    gradients: Matrix = np.einsum("mk,mkp->mp", weights, matrix[supports])
    if constraints.shape[1]:
        rows = constraints[supports]
        target = np.take_along_axis(gradients, supports, axis=1) - values[:, None] * weights
        multipliers = np.einsum("mck,mk->mc", np.linalg.pinv(rows, rcond=1e-10), target)
        gradients = gradients - multipliers @ constraints.T
    return gradients


def truncate(scores: Vector, cardinality: int, allowed: NDArray[np.bool_]) -> Support:
    """The variables of largest magnitude among those allowed."""
    wanted = np.where(allowed, np.abs(scores), -1.0)
    kept = np.argpartition(-wanted, min(cardinality, len(wanted)) - 1)[:cardinality]
    return np.sort(kept[wanted[kept] >= 0.0]).astype(np.int64)


def propose_exchanges(
    matrix: Matrix, support: Support, k: int, allowed: NDArray[np.bool_], constraints: Matrix
) -> Support:
    """The supports that differ from this one by one variable and promise most.

    Without a variable the component is solved anew; with j in its place it reaches about the larger eigenvalue of the
    2 x 2 matrix of both, whose off-diagonal entry is the slope at j.
    """
    kept = support[None, :] if len(support) < k else np.array([np.delete(support, i) for i in range(len(support))])
    if not kept.shape[1]:
        return np.flatnonzero(allowed & (np.arange(len(matrix)) != support[0]))[:, None].astype(np.int64)
    values, weights = solve_supports(matrix, kept, constraints)
    alone = np.where(np.isfinite(values), values, float(matrix.diagonal().min()))
    slopes = find_slopes(matrix, kept, weights, alone, constraints)
    middle, half = 0.5 * (alone[:, None] + matrix.diagonal()), 0.5 * (alone[:, None] - matrix.diagonal())
    promise = middle + np.sqrt(half**2 + slopes**2)
    promise[:, ~allowed] = -np.inf
    promise[:, support] = -np.inf
    count = min(EXCHANGES, int(np.isfinite(promise).sum()))
    if count == 0:
        return np.zeros((0, k), dtype=np.int64)
    best = np.argpartition(-promise.ravel(), count - 1)[:count]
    leaving, entering = np.unravel_index(best, promise.shape)
    return np.sort(np.hstack([kept[leaving], entering[:, None]]), axis=1).astype(np.int64)


def find_component(
    matrix: Matrix,
    k: int,
    starts: Sequence[Vector],
    allowed: NDArray[np.bool_],
    constraints: Matrix,
    *,
    exchanges: int = MOST_EXCHANGES,
) -> tuple[float, Vector]:
    """One component under linear constraints: truncated gradients from every start, exchanges from the best."""
    best, held, weights = -np.inf, np.zeros(0, dtype=np.int64), np.zeros(0)
    for start in starts:
        scores, value = start, -np.inf
        for _ in range(POWER_STEPS):
            support = truncate(scores, k, allowed)
            if not len(support):
                break
            values, vectors = solve_supports(matrix, support[None, :], constraints)
            if not rises(values[0], value):
                break
            value = float(values[0])
            if value > best:
                best, held, weights = value, support, vectors[0]
            scores = find_slopes(matrix, support[None, :], vectors, values, constraints)[0]
    if not np.isfinite(best) and len(starts) and allowed.any():  # nothing meets the constraints there: look around
        supports = propose_exchanges(matrix, truncate(starts[0], k, allowed), k, allowed, constraints)
        if len(supports):
            values, vectors = solve_supports(matrix, supports, constraints)
            first = int(values.argmax())
            best, held, weights = float(values[first]), supports[first], vectors[first]
    if not np.isfinite(best):
        return best, np.zeros(len(matrix))
    for _ in range(exchanges):
        supports = propose_exchanges(matrix, held, k, allowed, constraints)
        if not len(supports):
            break
        values, vectors = solve_supports(matrix, supports, constraints)
        first = int(values.argmax())
        if not rises(values[first], best):
            break
        best, held, weights = float(values[first]), supports[first], vectors[first]
    return best, spread(len(matrix), held, weights)


def spread(size: int, support: Support, weights: Vector) -> Vector:
    """A unit vector from its weights on a support."""
    vector = np.zeros(size)
    vector[support] = weights / np.linalg.norm(weights)
    return vector


def list_columns(matrix: Matrix, k: int, count: int = STARTS) -> list[Vector]:
    """The columns whose k largest entries have most energy."""
    squares = matrix**2
    if k < len(matrix):
        squares = np.partition(squares, len(matrix) - k, axis=0)[len(matrix) - k :]
    order = np.argsort(-squares.sum(axis=0), kind="stable")[:count]
    return [matrix[:, j] for j in order]
