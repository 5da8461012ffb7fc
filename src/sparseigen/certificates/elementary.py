"""Bounds that need one look at the matrix."""

from __future__ import annotations

import numpy as np

from sparseigen import kernels
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma, sum_of_largest
from sparseigen.certificates.spectral import psd_shift


def trace_bound(problem: BoundProblem) -> float:
    """Sum of the k largest diagonal entries: the trace of a positive semidefinite block bounds its eigenvalues.

    Holds for Gram matrices. For another matrix a Cholesky factorisation first proves A + shift I positive
    semidefinite for a shift at rounding level; then the block's trace plus (k - 1) shift is the bound.
    """
    cardinality, diagonal = problem.cardinality, problem.diagonal
    largest = sum_of_largest(diagonal, cardinality)
    if largest >= problem.best:  # not worth a proof of semidefiniteness
        return np.inf
    shift = psd_shift(problem)
    if np.isinf(shift):
        return np.inf
    slack = 2.0 * gamma(cardinality) * sum_of_largest(np.abs(diagonal), cardinality)
    return largest + slack + (cardinality - 1) * shift * (1.0 + 4.0 * UNIT) + problem.margin + TINY


def row_bound(problem: BoundProblem) -> float:
    """Gershgorin: for some row of the block, the diagonal entry plus the k - 1 largest others in magnitude."""
    if problem.dense is None and problem.operator.transfers_cost:
        bound = problem.operator.scaled_gershgorin(problem.cardinality, np.ones(problem.size), 1)
        return np.inf if bound is None else stored_rows_bound(problem, bound)
    return scaled_row_values(problem, np.ones(problem.size))[0]


def stored_rows_bound(problem: BoundProblem, bound: float) -> float:
    """An operator's own row bound, scaled. It holds for data as stored; the margin covers what storing them rounded."""
    scaled = problem.scaled(bound)
    return scaled + 4.0 * UNIT * abs(scaled) + problem.margin + TINY


def scaled_row_values(problem: BoundProblem, weights: Numbers) -> tuple[float, Numbers]:
    """The scaled Gershgorin bound max_i r_i for weights d > 0, and every r_i raised past its rounding error.

    r_i = A_ii + (1/d_i) * (sum of the k - 1 largest |A_ij| d_j over j != i). For any support S the matrix A_SS is
    dominated by the nonnegative (off its diagonal) B with B_ij = |A_ij|, and lambda_max(B) <= max_i (Bd)_i / d_i
    (Collatz and Wielandt). The computed r_i is off by at most (k + 6) roundings of |A_ii| + the rest.

    Where the matrix is not in memory, rows that cannot reach the answer found are not formed: `row_ceilings`.
    """
    rows = row_ceilings(problem, weights)
    wanted = None if problem.dense is not None else np.flatnonzero(rows > problem.achieved)
    if wanted is not None and not problem.affords(len(wanted), "row sums"):
        return np.inf, rows
    for own, block in problem.blocks(wanted):
        sums, _ = kernels.top_row_sums(block, own, weights, problem.cardinality - 1)
        rest = sums / weights[own]
        diagonal = problem.diagonal[own]
        rows[own] = diagonal + rest + 2.0 * gamma(problem.cardinality + 6) * (np.abs(diagonal) + rest)
    return float(rows.max()) + problem.margin + TINY, rows


def row_ceilings(problem: BoundProblem, weights: Numbers) -> Numbers:
    """Above every r_i without a look at the matrix: |A_ij| <= sqrt(A_ii A_jj) in a Gram matrix, infinite in others."""
    if problem.dense is not None or np.isinf(problem.negative_part):
        return np.full(problem.size, np.inf)
    squares = problem.diagonal + problem.entry_errors + problem.negative_part
    roots = np.sqrt(squares)
    largest = sum_of_largest(roots * weights, problem.cardinality - 1) if problem.cardinality > 1 else 0.0
    ceilings: Numbers = (squares + roots * largest / weights) * (1.0 + 4.0 * gamma(problem.cardinality + 6))
    return ceilings
