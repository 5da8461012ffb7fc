"""Bounds from the trace and from rows: Gershgorin's theorem for sparse vectors, with weights."""

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
    if problem.dense is None and problem.operator.costs.transfers:
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


PASSES = 5
"""Passes over a matrix in memory. Each costs one read of it."""
PASSES_FROM_DATA = 3
"""Passes when each has to form rows again, block by block."""
WHOLE_PASSES = 2
"""Of those, how many may form more than a quarter of the rows."""
FLOOR = 1e-7
"""Smallest weight, relative to the largest."""


def scaled_row_bound(problem: BoundProblem) -> float:
    """The best value of `scaled_row_values` over the iteration d <- d r(d) from d = |A x|, x the answer found.

    With x the Perron vector of the optimal block and k = p the iteration is the power method, and the bound tends
    to the eigenvalue; any d > 0 gives a valid bound, so the best one seen is returned.
    """
    if problem.dense is None:
        ready = _made_by_operator(problem)
        if ready is not None:
            return ready
    return np.inf if problem.operator.costs.transfers and problem.dense is None else _iterated(problem)[0]


def _made_by_operator(problem: BoundProblem) -> float | None:
    """The same from an operator that forms its rows where its data are; None if it does not offer that."""
    bound = problem.operator.scaled_gershgorin(problem.cardinality, starting_weights(problem), PASSES_FROM_DATA)
    return None if bound is None else stored_rows_bound(problem, bound)


def settled_weights(problem: BoundProblem) -> Numbers:
    """The weights d that gave the best bound of the iteration; they prove a bound for every cardinality."""
    return _iterated(problem)[1]


def _iterated(problem: BoundProblem) -> tuple[float, Numbers]:
    passes = PASSES if problem.dense is not None else PASSES_FROM_DATA
    weights = best_weights = starting_weights(problem)
    best, previous = np.inf, np.inf
    for done in range(passes):
        formed = int((row_ceilings(problem, weights) > problem.achieved).sum())
        if problem.dense is None and done >= WHOLE_PASSES and 4 * formed > problem.size:
            break
        bound, rows = scaled_row_values(problem, weights)
        if np.isinf(bound):
            break
        if bound < best:
            best, best_weights = bound, weights
        settled = done > 1 and bound > previous * (1.0 - 1e-5)
        if settled or best <= problem.achieved * (1.0 + problem.target_gap) or problem.out_of_time:
            break
        previous = bound
        weights = _floored(weights * rows)
    return best, best_weights


def starting_weights(problem: BoundProblem) -> Numbers:
    """|A x| raised to its k-th largest entry; ones where no answer is known or it says nothing."""
    if problem.vector is None:
        return np.ones(problem.size)
    indices, weights = problem.vector.indices, problem.vector.weights
    product = np.abs(np.asarray(problem.operator.apply_support(indices, weights), dtype=np.float64))
    if not (np.isfinite(product).all() and product.any()):
        return np.ones(problem.size)
    product /= product.max()
    kept = kernels.largest_magnitudes(product, problem.cardinality)
    return _floored(np.maximum(product, product[kept].min()))


def _floored(weights: Numbers) -> Numbers:
    largest = float(weights.max())
    if not largest > 0.0:
        return np.ones(len(weights))
    with np.errstate(over="ignore"):  # negative ones, which the floor replaces
        return np.maximum(weights / largest, FLOOR)
