"""The scaled Gershgorin iteration: the bound that closes most gaps when k is well below p."""

from __future__ import annotations

import numpy as np

from sparseigen import kernels
from sparseigen.certificates.elementary import row_ceilings, scaled_row_values, stored_rows_bound
from sparseigen.certificates.problem import BoundProblem, Numbers

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
    return np.inf if problem.operator.transfers_cost and problem.dense is None else _iterated(problem)[0]


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
