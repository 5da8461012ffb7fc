"""The relaxation behind the dual bound: a first-order method in float32 that may be stopped anywhere.

Of pi pi', pi a set of k vertices, it keeps that X is positive semidefinite with trace k, and that each row is in the
cone of `kernels.set_cone`. The alternating direction method of multipliers splits the two, X = Y: X is the
nearest point of the first kind (its rank is small, so a few eigenvectors that are warm from the last step give it), Y
that of the second, row by row. The multipliers C of X = Y are what `dual_bound` makes a proof of; where the method
stands when it is stopped decides how good the proof is, never whether it holds.

S. Boyd et al., "Distributed optimization and statistical learning via ADMM", Found. Trends Mach. Learn. 3 (2011).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers
from sparseigen.kernels.set_cone import Numbers, Singles

OVER_RELAXATION = 1.6
FIRST_PENALTY = 5.0
"""The penalty on X - Y where the average pair of a good set weighs about one."""
PENALTY_RANGE = (1.0, 12.0)
ADAPTED = range(20, 300)
"""Iterations in which the penalty follows the residuals."""
LOOKS = 10
"""Iterations between two changes of the penalty."""
BALANCE = 2.0
"""The ratio of the two residuals that the penalty is steered to: the multipliers are what is wanted."""
SAMPLED_ROWS = 24
DIRECT = 90
"""Up to this size a step takes all eigenvectors, above only as many as the iterate's rank, and SPARE_RANK more."""
LARGEST_SHARE = 8
"""All eigenvectors are taken where the rank exceeds this part of the size: Krylov spaces are several times the rank."""
SPARE_RANK, RANK_STEP, FIRST_RANK = 6, 8, 12
KRYLOV_STEPS = 4
CLOSE_ENOUGH = 1e-2
"""Residual of the eigenvectors relative to the largest part; the multipliers correct what it leaves."""


class Relaxation:
    """One state of the method for sets of ``count`` among the rows of a symmetric float32 matrix."""

    def __init__(self, weights: Singles, count: int, start: Integers, *, penalty: float = FIRST_PENALTY) -> None:
        size = len(weights)
        self.weights, self.count, self.penalty = weights, count, penalty
        self.rng = np.random.default_rng(0)
        members = np.zeros(size, dtype=np.float32)
        members[start] = 1.0
        self.factor: Singles = np.asfortranarray(members[:, None])
        self.point: Singles = np.outer(members, members)
        self.mirror = np.empty_like(self.point)
        self.thresholds, self.heights = np.zeros(size), members.astype(np.float64)
        self.basis = self._widen(members[:, None] + np.float32(1e-3), min(FIRST_RANK, size))
        self.iterations, self.settled = 0, False
        inside, rows = np.flatnonzero(members), np.arange(size)
        sampled = [self.rng.permutation(part)[:SAMPLED_ROWS] for part in (inside, rows)]
        self._sample = np.unique(np.concatenate(sampled))
        self._last_rows: Singles | None = None
        self._ratios: list[float] = []

    @classmethod
    def near(cls, other: Relaxation, weights: Singles, count: int, multipliers: Singles, kept: Integers) -> Relaxation:
        """A state for some of the rows, or another count, that goes on where another one stands."""
        fresh = cls(weights, count, kept[:0], penalty=other.penalty)
        fresh.factor = np.asfortranarray(other.factor[kept] * np.float32(math.sqrt(count / other.count)))
        fresh.point = multipliers / np.float32(other.penalty) + fresh.factor @ fresh.factor.T
        fresh.thresholds, fresh.heights = other.thresholds[kept], other.heights[kept]
        fresh.basis = fresh._widen(other.basis[kept], min(max(other.basis.shape[1], FIRST_RANK), len(kept)))
        fresh.iterations = other.iterations
        return fresh

    def advance(self, steps: int) -> Singles:
        """Go some steps on; the multipliers C of X = Y after them."""
        for step in range(steps):
            graph_kernels.project_rows(
                self.point, self.mirror, self.count, OVER_RELAXATION, self.thresholds, self.heights
            )
            if step == steps - 1:
                projected = (self.point + self.mirror) * np.float32(1.0 / (2.0 - OVER_RELAXATION))
                projected -= self.mirror
                projected *= np.float32(self.penalty)
            if self.iterations in ADAPTED:
                self._adapt()
            graph_kernels.symmetrise(self.mirror, self.weights, 1.0 / self.penalty)
            self.factor = np.asfortranarray(self._nearest_factor())
            self._add_square(self.factor)
            self.iterations += 1
        return projected

    def vertex_weights(self) -> Numbers:
        """How much of each vertex the relaxed set holds: the diagonal of X."""
        squares: Numbers = (self.factor.astype(np.float64) ** 2).sum(axis=1)
        return squares

    def _add_square(self, factor: Singles) -> None:
        from scipy.linalg.blas import sgemm

        sgemm(OVER_RELAXATION, factor, factor, beta=1.0, c=self.point.T, trans_b=1, overwrite_c=1)

    def _nearest_factor(self) -> Singles:
        """A factor F of the nearest X = FF' with trace k to the symmetric matrix that `mirror` holds."""
        size, rank = len(self.mirror), self.basis.shape[1]
        if size <= DIRECT or rank > size // LARGEST_SHARE:
            values, vectors = np.linalg.eigh(self.mirror.astype(np.float64) if size <= DIRECT else self.mirror)
            values, vectors = values[::-1], vectors[:, ::-1]
            parts = project_spectrum(values.astype(np.float64), self.count)
            held = int(np.count_nonzero(parts))
            self.basis = np.ascontiguousarray(vectors[:, : max(held + 4, 8)], dtype=np.float32)
        else:
            parts, held = self._leading_parts(rank)
        root = np.sqrt(parts[:held]).astype(np.float32)
        return self.basis[:, :held] * root

    def _leading_parts(self, rank: int) -> tuple[Numbers, int]:
        """Eigenvalues of X from a block Krylov space around the last basis, which is renewed."""
        matrix = self.mirror
        space = np.linalg.qr(self.basis)[0]
        images = last = matrix @ space
        for _ in range(KRYLOV_STEPS):
            fresh = last - space @ (space.T @ last)
            fresh -= space @ (space.T @ fresh)
            fresh = np.linalg.qr(fresh)[0]
            last = matrix @ fresh
            space, images = np.hstack([space, fresh]), np.hstack([images, last])
            inner = (space.T @ images).astype(np.float64)
            values, vectors = np.linalg.eigh((inner + inner.T) / 2.0)
            values, turn = values[::-1], vectors[:, ::-1].astype(np.float32)
            parts = project_spectrum(values, self.count)
            held = max(1, int(np.count_nonzero(parts)))
            rest = images @ turn[:, :held] - (space @ turn[:, :held]) * values[:held].astype(np.float32)
            if held <= rank and np.linalg.norm(rest, axis=0).max() <= CLOSE_ENOUGH * parts[0]:
                break
        held = min(held, rank)
        self.basis = np.ascontiguousarray(space @ turn[:, :rank])
        if held > rank - SPARE_RANK:
            self.basis = self._widen(self.basis, rank + RANK_STEP)
        elif held < rank - 3 * SPARE_RANK:
            self.basis = np.ascontiguousarray(self.basis[:, : rank - RANK_STEP // 2])
        return parts, held

    def _widen(self, basis: NDArray[np.float32], rank: int) -> Singles:
        """A basis of this many columns: random ones are added."""
        missing = rank - basis.shape[1]
        if missing <= 0:
            return np.ascontiguousarray(basis[:, :rank])
        return np.hstack([basis, self.rng.standard_normal((len(basis), missing)).astype(np.float32)])

    def _adapt(self) -> None:
        """Steer the penalty by how far X is from Y, and Y from the last one, on some rows."""
        rows = self._sample
        projected = (self.mirror[rows] + self.point[rows]) / np.float32(2.0 - OVER_RELAXATION)
        multipliers = projected - self.mirror[rows]
        if self._last_rows is not None:
            apart = np.linalg.norm(self.factor[rows] @ self.factor.T - projected) / _length(projected)
            moved = np.linalg.norm(projected - self._last_rows) / _length(multipliers)
            if apart > 0.0 and moved > 0.0:
                self._ratios.append(math.log(apart / moved))
        self._last_rows = projected
        if len(self._ratios) < LOOKS:
            return
        excess, self._ratios = float(np.mean(self._ratios)) - math.log(BALANCE), []
        if abs(excess) <= 0.4:
            return
        wanted = self.penalty * math.exp(min(max(0.5 * excess, -0.5), 0.5))
        change = min(max(wanted, PENALTY_RANGE[0]), PENALTY_RANGE[1]) / self.penalty
        # The multipliers stay, so that their share of point and mirror changes.
        whole = (self.mirror + self.point) * np.float32((OVER_RELAXATION - 1.0) / (2.0 - OVER_RELAXATION))
        whole += self.point
        whole *= np.float32(1.0 / change - 1.0)
        self.point += whole
        self.mirror -= whole
        self.penalty *= change
        self._last_rows = None


def project_spectrum(values: Numbers, total: float) -> Numbers:
    """The nearest nonnegative numbers with this sum to decreasing ones."""
    excess = (np.cumsum(values) - total) / np.arange(1, len(values) + 1)
    level = excess[np.flatnonzero(values > excess)[-1]]
    parts: Numbers = np.maximum(values - level, 0.0)
    return parts


def _length(matrix: NDArray[np.float32]) -> float:
    return max(float(np.linalg.norm(matrix)), 1e-12)
