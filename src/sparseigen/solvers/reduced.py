"""The default solve of large covariances: the variables of large variance first, and a proof that they are enough.

The block of A at the variables of largest variance is formed once (of data on disk: in one pass), and everything else
happens on that small matrix: starts, exchanges, bounds. What variables outside could add is bounded by their variances
(`certificates.outside`). Where that leaves the answer unproven, all variables are searched as before.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from sparseigen.certificates.outside import bound_outside, sum_outside
from sparseigen.certificates.problem import TARGET_GAP, Proven
from sparseigen.certificates.rounding import achieved_value
from sparseigen.checks.arrays import CheckedArray
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Operator, SparseVector
from sparseigen.operators.matrix import DenseSymmetric
from sparseigen.results import Stage
from sparseigen.solvers.interface import KeepWhenInterrupted, Progress, SolverOptions, SolverOutcome
from sparseigen.solvers.steered import solve_steered

NEAR, FEWEST_NEAR = 2048, 512
"""Variables whose block is formed: at most, and at least where samples are many."""
BLOCK_WORK = 3.0e11
"""Multiplications that the block may cost; a few seconds."""
MOST_CHOSEN = 4
"""At most one near variable in so many is chosen: more, and the others are too few to find the answer among."""
FLAT = 0.8
"""Where the largest variance outside is above this share of the largest of all, variances tell nothing."""
HOPELESS = 0.01
"""A gap above this is left to the bounds of the whole matrix."""


def solve_reduced(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """The steered solve on the variables of largest variance, if the others are proven not to matter; else on all."""
    near = choose_near(operator, cardinality, options)
    if near is None:
        return solve_steered(operator, cardinality, options)
    block = form_block(operator, near)
    placed = replace(options, progress=PlacedProgress(options.progress, near))
    with KeepWhenInterrupted(lambda inner: place(inner, near) if isinstance(inner, SolverOutcome) else None):
        outcome = solve_steered(block, cardinality, placed)
        upper, seconds = prove_enough(operator, block, near, cardinality, outcome, placed)
    if not np.isfinite(upper):
        return solve_steered(operator, cardinality, options)
    found = place(outcome, near)
    proven = outcome.proven
    assert proven is not None, "the solve was certified"
    stage = Stage("bound", seconds, outcome.value, upper)
    method = f"{proven.method}, {len(near)} of {operator.size} variables"
    settings = found.settings | {"variables_searched": len(near)}
    return replace(found, settings=settings, proven=Proven(upper, method, proven.scale), stages=(*found.stages, stage))


def choose_near(operator: Operator, cardinality: int, options: SolverOptions) -> Indices | None:
    """The variables of largest variance, in ascending order; None where a solve on them would prove nothing."""
    if operator.size <= LARGEST_MATERIALISED or not options.certify or options.effort == "quick":
        return None
    if not np.isfinite(operator.negative_part) or operator.costs.transfers:
        return None
    count = int(np.clip(np.sqrt(BLOCK_WORK / max(count_samples(operator), 1)), FEWEST_NEAR, NEAR))
    if MOST_CHOSEN * cardinality > count:
        return None
    variances = operator.diagonal()
    order = np.argpartition(-variances, count)
    if variances[order[count]] > FLAT * float(variances.max()):
        return None
    near: Indices = np.sort(order[:count]).astype(np.int64)
    return near


def count_samples(operator: Any) -> int:
    """The samples behind a covariance, or behind the one that it was made of; 0 where there are none."""
    while not hasattr(operator, "n_samples") and hasattr(operator, "base"):
        operator = operator.base
    return int(getattr(operator, "n_samples", 0))


def form_block(operator: Operator, near: Indices) -> DenseSymmetric:
    """The principal submatrix as a matrix of its own, with the errors that its entries inherit."""
    matrix = operator.submatrix(near)
    np.fill_diagonal(matrix, operator.diagonal()[near])  # the same bits, so that ties fall the same way
    names = None if operator.names is None else tuple(operator.names[i] for i in near)
    block = DenseSymmetric(
        CheckedArray(matrix, "dense", names), positive_semidefinite=True, entry_errors=operator.entry_errors()[near]
    )
    block.taken_out = operator.taken_out
    return block


def prove_enough(
    operator: Operator,
    block: Operator,
    near: Indices,
    cardinality: int,
    outcome: SolverOutcome,
    options: SolverOptions,
) -> tuple[float, float]:
    """A bound for all variables, infinite where the variables outside could matter; and the seconds it took."""
    began, proven = time.perf_counter(), outcome.proven
    assert proven is not None, "the solve was certified"
    outside = np.ones(operator.size, dtype=bool)
    outside[near] = False
    variances = (operator.diagonal() + operator.entry_errors())[outside]
    traces = sum_outside(block.diagonal() + block.entry_errors(), cardinality)
    achieved = achieved_value(block, outcome.vector)
    cutoff = achieved + TARGET_GAP * abs(achieved)

    @cache
    def solve_inside(count: int) -> float:
        part = solve_steered(block, count, replace(options, progress=Progress(block.size)))
        return np.inf if part.proven is None else part.proven.upper_bound

    def bound_inside(count: int, enough: float) -> float:
        """The trace where that will do, else what a solve proves; when the time limit is over, the trace."""
        trace = float(traces[count]) + count * operator.negative_part
        return trace if trace <= enough or count == 0 or options.out_of_time else min(trace, solve_inside(count))

    far = bound_outside(
        bound_inside,
        variances,
        cardinality,
        negative_part=operator.negative_part,
        cutoff=cutoff,
        hopeless=max(achieved * (1.0 + HOPELESS), proven.upper_bound),
    )
    return max(proven.upper_bound, far), time.perf_counter() - began


def place(outcome: SolverOutcome, near: Indices) -> SolverOutcome:
    """The outcome on some variables as one on all of them."""
    vector = SparseVector(near[outcome.vector.indices], outcome.vector.weights)
    return replace(outcome, vector=vector)


class PlacedProgress(Progress):
    """Reports of a solve on some variables, passed on as vectors of all."""

    def __init__(self, outer: Progress, near: Indices) -> None:
        super().__init__(len(near))
        self.outer, self.near = outer, near

    def report(self, vector: SparseVector, value: float) -> None:
        """Remember the vector as it is, and pass it on with the numbers of its variables in the whole."""
        super().report(vector, value)
        self.outer.report(SparseVector(self.near[vector.indices], vector.weights), value)

    def begin_stage(self, name: str) -> None:
        """Passed on."""
        self.outer.begin_stage(name)
