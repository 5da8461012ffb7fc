"""One bound for every number of vertices, from any matrix of multipliers, proven in floating point.

For a symmetric A (loops on the diagonal), any matrix C, any vectors u_t, charges c_t >= 0 and every set S of j vertices

    sum of A over S x S  <=  j lambda_max(A - sym C - sum_t c_t u_t u_t')  +  sum_t c_t max (u_t'1_S)^2
                             + sum of the j largest r_i,     r_i = C_ii + sum of the j - 1 largest C_ij, j != i,

because the part of A - sym C is at most its largest eigenvalue times |1_S|^2 = j, and row i of C gives S at most r_i.
docs/theory-bounds.md has the proof, and what the older bounds are in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseigen.certificates.rounding import UNIT, gamma
from sparseigen.certificates.spectral import prove_eigenvalues_below
from sparseigen.graphs.relaxation import Relaxation
from sparseigen.kernels.eigen import run_arpack
from sparseigen.kernels.set_cone import Numbers, Singles

DIRECT = 200
"""Up to this size all eigenvalues are computed, above those that the relaxation's basis leads to."""
KRYLOV_STEPS = 2
MOST_CHARGED = 48
"""Eigenvectors that may be paid for one by one."""
PROOF_STEPS = (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""How far above its estimate, relative to the matrix, an eigenvalue is tried to be proven."""


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A matrix of multipliers with the eigenvectors that are paid for separately; nothing of it is proven yet."""

    weights: Numbers
    multipliers: Singles
    count: int
    charges: Numbers
    vectors: Numbers
    level: float
    """Estimate of the largest eigenvalue of what is left."""

    @classmethod
    def at(cls, weights: Numbers, multipliers: Singles, relaxation: Relaxation) -> DualPoint:
        """The point where a relaxation stands: the charges are those that are best for its own count."""
        values, vectors = _leading_pairs(_slack_matrix(weights, multipliers), relaxation.basis)
        count = relaxation.count
        squares = _largest_squares(vectors, np.array([count]))[:, 0]
        drops = np.maximum(values[:, None] - values[None, :], 0.0)
        totals = count * values + squares @ drops
        best = int(totals.argmin())
        return cls(weights, multipliers, count, drops[:best, best], vectors[:, :best], float(values[best]))

    def estimate(self) -> float:
        """The bound for sets of `count` as it will probably be proven."""
        sizes = np.array([self.count])
        return float(_add_up(self, self.level, sizes)[0])

    def prove(self) -> DualProof:
        """Prove the eigenvalue by Cholesky factorisations."""
        slack, charges = _slack_matrix(self.weights, self.multipliers), self.charges
        largest = float(np.abs(self.weights).max()) + float(np.abs(self.multipliers).max())
        if not np.isfinite(largest):
            return DualProof(self, np.inf, 0.0, slack)
        if charges.size:
            slack -= (self.vectors * charges) @ self.vectors.T
        size, top = len(slack), float(np.abs(slack).max())
        # Forming the matrix: two roundings of sums, one of the weight, then charged products and their subtraction; on
        # the diagonal a sum of weights.
        formed = 4.0 * UNIT * size * (largest + top) + 1.1 * gamma(len(charges) + 4) * float(charges.sum())
        formed += gamma(size) * largest
        estimate = self.level
        if size > DIRECT:
            values, _ = run_arpack(slack, 1, _generic_start(size), tol=1e-6, ncv=min(40, size - 1), maxiter=20)
            estimate = max(estimate, float(values[0])) if len(values) else estimate
        for step in PROOF_STEPS:
            proven = prove_eigenvalues_below(slack, estimate + step * max(abs(estimate), 1e-3 * top))
            if np.isfinite(proven):
                return DualProof(self, proven, formed, slack)
        return DualProof(self, np.inf, 0.0, slack)


@dataclass(frozen=True, eq=False)
class DualProof:
    """A dual point with a proven eigenvalue: bounds for every number of vertices."""

    point: DualPoint
    raw_eigenvalue: float
    """Proven for the matrix below."""
    formed: float
    """What the rounding errors of forming that matrix can add to its eigenvalues."""
    slack: Numbers
    """The matrix that the eigenvalue is of: weights without multipliers and charges."""

    @property
    def eigenvalue(self) -> float:
        """The proven bound on the eigenvalues of the exact matrix."""
        return self.raw_eigenvalue + self.formed

    def bounds(self, sizes: np.ndarray) -> Numbers:
        """A proven upper bound on the weight of any set of as many vertices, for each of some sizes > 0."""
        if not np.isfinite(self.eigenvalue):
            return np.full(len(sizes), np.inf)
        return _add_up(self.point, self.eigenvalue, sizes)


def _add_up(point: DualPoint, eigenvalue: float, sizes: np.ndarray) -> Numbers:
    """The sum of the three parts for each size, moved up past every rounding error."""
    squares = _largest_squares(point.vectors, sizes)
    rows = _row_parts(point.multipliers, sizes)
    charged = point.charges @ squares
    total = sizes * eigenvalue + charged + rows
    most, largest = int(sizes.max()), float(np.abs(point.multipliers).max())
    margin = gamma(2 * most + 8) * sizes * most * largest + 8.0 * UNIT * (np.abs(sizes * eigenvalue) + np.abs(rows))
    return total + margin + charged * 8.0 * gamma(most + len(point.charges) + 8)


def _slack_matrix(weights: Numbers, multipliers: Singles) -> Numbers:
    slack = multipliers.astype(np.float64)
    slack = slack + slack.T
    slack *= -0.5
    slack += weights
    return slack


def _leading_pairs(matrix: Numbers, basis: Singles) -> tuple[Numbers, Numbers]:
    """Leading eigenvalues, decreasing, and vectors, as far as a small space shows them."""
    if len(matrix) <= DIRECT:
        values, vectors = np.linalg.eigh(matrix)
        return values[::-1][:MOST_CHARGED], vectors[:, ::-1][:, :MOST_CHARGED]
    space = np.linalg.qr(basis.astype(np.float64))[0]
    images = last = matrix @ space
    for _ in range(KRYLOV_STEPS):
        fresh = last - space @ (space.T @ last)
        fresh -= space @ (space.T @ fresh)
        fresh = np.linalg.qr(fresh)[0]
        last = matrix @ fresh
        space, images = np.hstack([space, fresh]), np.hstack([images, last])
    inner = space.T @ images
    values, turn = np.linalg.eigh((inner + inner.T) / 2.0)
    kept = min(MOST_CHARGED, len(values) // 2)
    return values[::-1][:kept], space @ turn[:, ::-1][:, :kept]


def _generic_start(size: int) -> Numbers:
    start: Numbers = 1.0 + 0.1 * np.sin(np.arange(size) + 1.0)
    return start


def _largest_squares(vectors: Numbers, sizes: np.ndarray) -> Numbers:
    """For every vector u and size the largest (u'1_S)^2: S takes the largest or the smallest entries."""
    ordered = np.sort(vectors, axis=0)
    low = np.abs(np.cumsum(ordered, axis=0))[sizes - 1]
    high = np.abs(np.cumsum(ordered[::-1], axis=0))[sizes - 1]
    # The sums of entries of a unit vector are off by at most gamma times sqrt(n).
    slack = gamma(int(sizes.max())) * 1.1 * len(vectors) ** 0.5
    squares: Numbers = ((np.maximum(low, high) + slack) ** 2).T
    return squares


def find_reach(multipliers: Singles, count: int) -> Numbers:
    """What each row gives a set of so many vertices at most: its own entry and the count - 1 largest others."""
    others = multipliers.copy()
    np.fill_diagonal(others, -np.inf)
    reach: Numbers = multipliers.diagonal().astype(np.float64) + _largest_entries(others, count - 1).sum(axis=1)
    return reach


def _row_parts(multipliers: Singles, sizes: np.ndarray) -> Numbers:
    """For every size j the sum of the j largest r_i, r_i the own entry of row i and its j - 1 largest others."""
    size, most = len(multipliers), int(sizes.max())
    if len(sizes) == 1:
        return np.array([np.sort(find_reach(multipliers, most))[size - most :].sum()])
    own = multipliers.diagonal().astype(np.float64)
    others = multipliers.copy()
    np.fill_diagonal(others, -np.inf)
    leading = -np.sort(-_largest_entries(others, most - 1), axis=1)
    reach = np.empty((size, most))
    reach[:, 0] = own
    np.cumsum(leading, axis=1, out=reach[:, 1:])
    reach[:, 1:] += own[:, None]
    ordered = -np.sort(-reach[:, sizes - 1], axis=0)
    totals = np.cumsum(ordered, axis=0)
    return np.asarray(totals[sizes - 1, np.arange(len(sizes))])


def _largest_entries(rows: Singles, count: int) -> Numbers:
    """The largest entries of every row, in no order."""
    start = rows.shape[1] - count
    chosen: Numbers = (rows[:, start:] if count == 0 else np.partition(rows, start, axis=1)[:, start:]).astype(
        np.float64
    )
    return chosen
