"""A = FF' with few columns, and a proven bound on what the factorisation leaves out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma, sum_of_largest
from sparseigen.checks.memory import check_room

LARGEST_WORK = 1.5e9
"""Multiplications the factorisation and its check may cost."""
SMALL = 48
"""Up to this size the factorisation runs without LAPACK."""
RANK_TOLERANCE = 1e-13
"""Pivots below this share of the largest diagonal entry count as zero; what they carry goes into ``rest``."""


@dataclass(frozen=True)
class Factor:
    """The scaled matrix is ``rows @ rows.T`` up to a matrix whose k x k blocks have eigenvalues below ``rest``."""

    rows: Numbers
    rest: float


def factorise(problem: BoundProblem) -> Factor | None:
    """The data where the operator has them, else a pivoted Cholesky factor; None when neither is affordable."""
    samples = getattr(problem.operator, "n_samples", None)
    if samples is not None and samples <= problem.size:
        # The factor, the dual points made from it, and what computing them takes: eight times the data in float64.
        check_room(64 * samples * problem.size, f"a certificate from {samples} samples", "use certify=False")
    rows = problem.operator.factor()
    if rows is not None:
        half, odd = divmod(problem.exponent, 2)
        scaled = np.ldexp(rows, -half) * (2.0**-0.5 if odd else 1.0)
        # Scaling rounds each entry twice more: at most 8 roundings of the diagonal, on top of the entries' own.
        own = 8.0 * UNIT * sum_of_largest(np.abs(problem.diagonal), problem.cardinality)
        return Factor(np.ascontiguousarray(scaled), 2.0 * problem.margin + 2.0 * own + TINY)
    if problem.dense is None or problem.operator.positive_semidefinite is False:
        return None
    return _pivoted_cholesky(problem.dense, problem.cardinality, problem.margin)


def _pivoted_cholesky(matrix: Numbers, cardinality: int, margin: float) -> Factor | None:
    size = len(matrix)
    if size**3 / 3.0 > LARGEST_WORK:
        return None
    largest = max(float(matrix.diagonal().max()), TINY)
    rows = (_small_factor if size <= SMALL else _lapack_factor)(matrix, RANK_TOLERANCE * size * largest)
    rank = rows.shape[1]
    if rank == 0 or float(size) ** 2 * rank > LARGEST_WORK:
        return None
    rest = matrix - rows @ rows.T
    # |computed - exact| of the difference: r-term sums of products at most |f_i| |f_j|, and one subtraction.
    lengths = np.einsum("ij,ij->i", rows, rows)
    rounding = 2.0 * gamma(rank + 4) * (sum_of_largest(lengths, cardinality) + cardinality * largest)
    return Factor(rows, _row_norm(rest, cardinality) + rounding + margin + TINY)


def _lapack_factor(matrix: Numbers, tolerance: float) -> Numbers:
    from scipy.linalg.lapack import dpstrf

    packed, pivots, rank, _ = dpstrf(matrix, tol=tolerance, lower=1)
    rows = np.empty((len(matrix), rank))
    rows[pivots - 1] = np.tril(packed)[:, :rank]
    return rows


def _small_factor(matrix: Numbers, tolerance: float) -> Numbers:
    """The same without scipy.linalg, whose import would cost more than the whole solve of a small matrix."""
    rows = np.zeros_like(matrix)
    left = matrix.diagonal().copy()
    for rank in range(len(matrix)):
        pivot = int(left.argmax())
        if not left[pivot] > tolerance:
            return np.ascontiguousarray(rows[:, :rank])
        column = matrix[:, pivot] - rows[:, :rank] @ rows[pivot, :rank]
        column *= left > 0.0  # rows that are done have nothing left; rounding must not give it back
        rows[:, rank] = column / np.sqrt(left[pivot])
        rows[pivot, rank] = np.sqrt(left[pivot])
        left -= rows[:, rank] ** 2
        left[pivot] = 0.0
        np.maximum(left, 0.0, out=left)
    return rows


def _row_norm(matrix: Numbers, cardinality: int) -> float:
    """The largest sum of k magnitudes in a row: bounds the eigenvalues of every k x k block."""
    width = matrix.shape[1]
    magnitudes = np.abs(matrix)
    if cardinality < width:
        magnitudes = np.partition(magnitudes, width - cardinality, axis=1)[:, width - cardinality :]
    return float(magnitudes.sum(axis=1).max()) * (1.0 + 2.0 * gamma(cardinality))
