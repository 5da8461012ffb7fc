"""The best weights of a set on fixed supports, under its constraint: Newton steps on the Lagrangian.

Maximise 1/2 sum_t u_t'Au_t over vectors on given supports with u_t'u_t = 1 and u_s'G u_t = 0, G = I (orthogonal) or A
(uncorrelated). A step solves the linear system of stationarity, damped until the objective rises, and ends on the
constraint: `retract` moves to it by Gauss-Newton steps, which reach rounding level. Pairs of components without a
common variable are orthogonal by themselves and have no equation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

MOST_STEPS, MOST_TRIALS, RETRACTIONS = 40, 9, 20
CONVERGED = 1e-10
"""Length of the projected gradient, relative to the gradient."""
UPWARD = 1e-7
"""Curvature, relative to the matrix, above which a stationary point is a saddle."""
FEASIBLE = 1e-9
"""What a retraction must reach at least for the step to count."""
SMALL = 1e-6
"""Variances below this share of the largest count as that much when correlations are measured."""


def violation(matrix: Matrix, columns: Matrix, *, uncorrelated: bool) -> float:
    """The largest |u_s'u_t|, or the largest correlation of two scores, s != t."""
    if columns.shape[1] < 2:
        return 0.0
    products = columns.T @ (matrix @ columns) if uncorrelated else columns.T @ columns
    if uncorrelated:
        variances = np.maximum(products.diagonal(), 0.0)
        least = SMALL * max(float(variances.max()), np.finfo(float).tiny)
        deviations = np.sqrt(np.maximum(variances, least))
        products = products / np.outer(deviations, deviations)
    return float(np.abs(np.triu(products, 1)).max())


class _Supports:
    """A set on its supports: the weights as one vector, the constraints and their derivatives."""

    def __init__(self, matrix: Matrix, columns: Matrix, uncorrelated: bool) -> None:
        self.shape, self.uncorrelated = columns.shape, uncorrelated
        self.used = np.flatnonzero(columns.any(axis=1))
        self.matrix = matrix[np.ix_(self.used, self.used)]
        small = columns[self.used]
        self.owner, self.row = np.nonzero(small.T)
        self.weights = small[self.row, self.owner]
        self.scale = max(float(np.abs(self.matrix.diagonal()).max()), np.finfo(float).tiny)
        # Constraints on covariances count in units of the matrix.
        self.metric = self.matrix / self.scale if uncorrelated else None
        first, second = np.triu_indices(self.shape[1], 1)
        if not uncorrelated:
            filled = (small != 0.0).astype(float)
            meet = (filled.T @ filled)[first, second] > 0.0
            first, second = first[meet], second[meet]
        self.first, self.second = first, second
        same = self.owner[:, None] == self.owner
        self.form = np.where(same, self.matrix[np.ix_(self.row, self.row)], 0.0)
        if self.metric is None:
            self.link = (self.row[:, None] == self.row).astype(float)
        else:
            self.link = self.metric[np.ix_(self.row, self.row)]
        self.link[same] = 0.0
        self.top = float(np.linalg.norm(self.form, 2))

    def spread(self, weights: Vector) -> Matrix:
        small = np.zeros((len(self.used), self.shape[1]))
        small[self.row, self.owner] = weights
        return small

    def restore(self, weights: Vector) -> Matrix:
        columns = np.zeros(self.shape)
        columns[self.used] = self.spread(weights)
        return columns

    def constraints(self, weights: Vector) -> tuple[Vector, Matrix]:
        """Their values, lengths first, and the Jacobian."""
        small = self.spread(weights)
        images = small if self.metric is None else self.metric @ small
        count = self.shape[1]
        own = self.owner == np.arange(count)[:, None]
        lengths = 0.5 * (np.einsum("ij,ij->j", small, small) - 1.0)
        products = np.einsum("ij,ij->j", small[:, self.first], images[:, self.second])
        here = images[self.row]
        pairs = np.where(own[self.first], here[:, self.second].T, 0.0)
        pairs += np.where(own[self.second], here[:, self.first].T, 0.0)
        return np.concatenate([lengths, products]), np.vstack([own * weights, pairs])

    def curvature(self, multipliers: Vector) -> Matrix:
        """The Hessian of the Lagrangian."""
        count = self.shape[1]
        coupled = np.diag(multipliers[:count])
        coupled[self.first, self.second] = coupled[self.second, self.first] = multipliers[count:]
        between = coupled[np.ix_(self.owner, self.owner)] * self.link
        between[np.diag_indices(len(between))] = multipliers[self.owner]
        curved: Matrix = self.form - between
        return curved

    def retract(self, weights: Vector) -> tuple[Vector, float]:
        """The nearest weights that meet the constraints, as far as Gauss-Newton steps go, and what is left."""
        values, jacobian = self.constraints(weights)
        left = float(np.abs(values).max())
        for _ in range(RETRACTIONS):
            if left <= 2e-16:
                break
            step, length = np.linalg.lstsq(jacobian, values, rcond=1e-12)[0], 1.0
            for _ in range(4):
                trial = weights - length * step
                values, jacobian = self.constraints(trial)
                size = float(np.abs(values).max())
                if size < left:
                    break
                length *= 0.4
            else:
                break
            weights, left = trial, size
        return weights, left


def climb(matrix: Matrix, columns: Matrix, *, uncorrelated: bool = False, most_steps: int = MOST_STEPS) -> Matrix:
    """The set with better weights on the same supports, on the constraint; as it was where that cannot be met."""
    place = _Supports(matrix, columns, uncorrelated)
    weights, left = place.retract(place.weights)
    if left > FEASIBLE:
        return columns
    value, damping = 0.5 * float(weights @ place.form @ weights), place.top
    for _ in range(most_steps):
        gradient = place.form @ weights
        _, jacobian = place.constraints(weights)
        multipliers: Vector = np.asarray(np.linalg.lstsq(jacobian.T, gradient, rcond=1e-12)[0], dtype=np.float64)
        across = gradient - jacobian.T @ multipliers
        curvature = place.curvature(multipliers)
        if float(np.linalg.norm(across)) <= CONVERGED * float(np.linalg.norm(gradient)):
            escaped = _leave_saddle(place, weights, value, curvature, jacobian)
            if escaped is None:
                break
            (weights, value), damping = escaped, place.top
            continue
        for _ in range(MOST_TRIALS):
            step = _solve(curvature, jacobian, across, damping)
            trial, left = place.retract(weights + step)
            reached = 0.5 * float(trial @ place.form @ trial)
            if left <= FEASIBLE and reached > value:
                break
            damping = max(4.0 * damping, 0.05 * place.top)
        else:
            break
        gain, weights, value = reached - value, trial, reached
        damping = 0.25 * damping if damping > 1e-3 * place.top else 0.0
        if gain <= 1e-15 * abs(value):
            break
    return place.restore(place.retract(weights)[0])


def _leave_saddle(
    place: _Supports, weights: Vector, value: float, curvature: Matrix, jacobian: Matrix
) -> tuple[Vector, float] | None:
    """A better point along the direction of the largest upward curvature; None where there is none."""
    _, singular, right = np.linalg.svd(jacobian)
    free = right[int((singular > 1e-10).sum()) :].T
    if not free.shape[1]:
        return None
    values, vectors = np.linalg.eigh(free.T @ curvature @ free)
    if not values[-1] > UPWARD * place.top:
        return None
    for length in (0.5, -0.5, 0.1, -0.1):
        trial, left = place.retract(weights + length * (free @ vectors[:, -1]))
        reached = 0.5 * float(trial @ place.form @ trial)
        if left <= FEASIBLE and reached > value * (1.0 + 1e-12):
            return trial, reached
    return None


def _solve(curvature: Matrix, jacobian: Matrix, across: Vector, damping: float) -> Vector:
    """The step of the damped Newton system, tangent to the constraints."""
    size, count = len(curvature), len(jacobian)
    system = np.zeros((size + count, size + count))
    system[:size, :size] = curvature
    system[np.arange(size), np.arange(size)] -= damping
    system[:size, size:], system[size:, :size] = jacobian.T, jacobian
    # Constraints that depend on each other would make the system singular.
    system[np.arange(size, size + count), np.arange(size, size + count)] = 1e-11
    right = np.concatenate([-across, np.zeros(count)])
    try:
        step: Vector = np.linalg.solve(system, right)[:size]
    except np.linalg.LinAlgError:
        step = np.linalg.lstsq(system, right, rcond=1e-12)[0][:size]
    return step
