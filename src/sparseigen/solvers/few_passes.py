"""The default solve of data read in passes: candidates come home, and passes only look for variables that are missed.

1. Some variables, the ones of largest variance and others spread over all, give leading directions of the samples
   (the eigenvectors of their small covariance); one pass multiplies every variable with these directions.
2. Variables that load most on them are near. Their block of A is formed, and solved in memory by every start and
   exchange that a matrix in memory gets.
3. One pass multiplies the answer with every variable. Where all of the k largest are near, the answer is a fixed point
   of Algorithm 1 on all variables, and done; else those that are missed become near, and step 2 follows again.

Bounds are those that need no columns of A: the trace, and what variances prove of the variables outside.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.certificates.portfolio import try_bounds
from sparseigen.certificates.problem import BoundProblem, Proven
from sparseigen.certificates.rounding import achieved_value
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Operator, SparseVector
from sparseigen.operators.matrix import DenseSymmetric
from sparseigen.results import Stage
from sparseigen.solvers.interface import KeepWhenInterrupted, SolverOptions, SolverOutcome
from sparseigen.solvers.near import FEWEST_NEAR, PlacedProgress, count_near, form_block, place
from sparseigen.solvers.steered import solve_steered

DIRECTIONS, COLUMNS = 8, 8
"""Leading directions, and single variables, that all variables are multiplied with in the first pass."""
MOST_CHOSEN = 4
"""At least so many near variables per variable that is chosen."""
ROUNDS = 4
"""Solves of a block before the best answer so far is taken."""
MISSED = 4
"""Variables that become near in a round, in multiples of k."""


def is_read_in_passes(operator: Operator) -> bool:
    """Whether products cost passes over data, and the matrix is too large to be formed in one."""
    costs = operator.costs
    return costs.columns_per_pass is not None and operator.size > LARGEST_MATERIALISED and not costs.transfers


def solve_in_few_passes(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """Solve on near variables, and add those that a product with all variables shows to be missed."""
    with one_blas_thread():  # another thread reads ahead, and products with blocks are short
        return _solve_in_rounds(operator, cardinality, options)


def _solve_in_rounds(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    near = find_near(operator, max(count_near(operator), MOST_CHOSEN * cardinality))
    best: tuple[SolverOutcome, Indices, DenseSymmetric] | None = None
    stages: list[Stage] = []

    def keep(inner: object) -> SolverOutcome | None:
        return place(inner, near) if isinstance(inner, SolverOutcome) else best and place(best[0], best[1])

    with KeepWhenInterrupted(keep):
        for _ in range(ROUNDS):
            block = form_block(operator, near)
            placed = replace(options, progress=PlacedProgress(options.progress, near), certify=False)
            outcome = solve_steered(block, cardinality, placed)
            stages += outcome.stages
            if best is None or outcome.value > best[0].value:
                best = outcome, near, block
            elif best is not None:
                break
            missed = find_missed(operator, place(outcome, near).vector, near, cardinality)
            if not missed.size or options.out_of_time:
                break
            near = np.union1d(near, missed)
    assert best is not None, "the first round has an answer"
    outcome, near, block = best
    found = place(outcome, near)
    settings = found.settings | {"variables_searched": len(near)}
    if not options.certify:
        return replace(found, settings=settings, stages=tuple(stages))
    began = time.perf_counter()
    proven = _prove(operator, block, cardinality, outcome)
    stages.append(Stage("bound", time.perf_counter() - began, found.value, proven.upper_bound))
    return replace(found, settings=settings, proven=proven, stages=tuple(stages))


def _prove(operator: Operator, block: Operator, cardinality: int, outcome: SolverOutcome) -> Proven:
    """The bounds that need no columns."""
    problem = BoundProblem(operator, cardinality)
    problem.achieved = problem.scale_value(achieved_value(block, outcome.vector))
    method = try_bounds(problem, ["trace"]) or "none"
    return Proven(problem.unscale_bound(problem.best), method, problem.scale)


def find_near(operator: Operator, wanted: int) -> Indices:
    """Variables of large variance, and those that load most on leading directions of the samples."""
    variances = operator.diagonal()
    by_variance = np.argsort(-variances, kind="stable")
    seen = min(FEWEST_NEAR, wanted, operator.size)
    spread = by_variance[np.linspace(0, operator.size - 1, seen // 2).astype(np.int64)]
    drawn: Indices = np.union1d(by_variance[: seen // 2], spread).astype(np.int64)
    block = operator.submatrix(drawn)
    _, vectors = np.linalg.eigh(block)
    directions = [(drawn, vectors[:, -1 - place]) for place in range(min(DIRECTIONS, len(drawn)))]
    heads = by_variance[np.linspace(0, min(operator.size, 16 * COLUMNS) - 1, COLUMNS).astype(np.int64)]
    directions += [(np.array([index], dtype=np.int64), np.ones(1)) for index in np.unique(heads)]
    products: list[NDArray[Any]] = operator.run_together(
        [lambda pair=pair: operator.apply_support(*pair) for pair in directions]  # type: ignore[misc]
    )
    each = max(1, (3 * wanted // 4) // len(products))
    chosen = [kernels.largest_magnitudes(np.ascontiguousarray(product), each) for product in products]
    near: Indices = np.unique(np.concatenate([by_variance[: wanted - wanted // 4 * 3], *chosen])).astype(np.int64)
    return near


def find_missed(operator: Operator, vector: SparseVector, near: Indices, cardinality: int) -> Indices:
    """Variables outside whose product with the answer is among the largest; none where the k largest are all near."""
    product = np.ascontiguousarray(operator.apply_support(vector.indices, vector.weights))
    largest = kernels.largest_magnitudes(product, cardinality)
    if np.isin(largest, near).all():
        return np.zeros(0, dtype=np.int64)
    wider = kernels.largest_magnitudes(product, min(MISSED * cardinality, operator.size))
    missed: Indices = np.setdiff1d(wider, near)
    return missed
