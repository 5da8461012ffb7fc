"""The penalised dual in closed form for data that do not come to this memory.

`penalised_dual` proves its bound from a factor of A. An operator whose data live on a device makes the dual points
there and hands over what the proof needs (`Operator.closed_form_dual`): their n x n Gram matrix and one remainder a
variable.
"""

from __future__ import annotations

import numpy as np

from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma
from sparseigen.certificates.spectral import largest_eigenvalue_bound
from sparseigen.operators.contract import DualParts
from sparseigen.solvers.interface import SparseVector

TRIALS = 9
"""Penalties tried for one cardinality: two and seven steps of a golden section."""


def streamed_dual_bound(problem: BoundProblem) -> float:
    """The closed form for the answer found; infinite where the operator does not offer it or nothing was found."""
    if problem.dense is not None or problem.vector is None:
        return np.inf
    values = streamed_dual_values(problem, [problem.vector], [problem.cardinality], TRIALS)
    return np.inf if values is None else float(values[problem.cardinality - 1]) + 2.0 * problem.margin


def streamed_dual_values(
    problem: BoundProblem, vectors: list[SparseVector], cardinalities: list[int], trials: int
) -> Numbers | None:
    """For every cardinality 1..p the smallest bound that the points for any of the answers prove.

    The entries' own errors are not in it: twice their margin has to be added, because the operator's rows are a
    factor up to twice `entry_errors`.
    """
    answers = [(vector.indices, vector.weights) for vector in vectors]
    found = problem.operator.closed_form_dual(answers, cardinalities, trials)
    if found is None:
        return None
    best = np.full(problem.size, np.inf)
    for parts in found:
        best = np.minimum(best, np.ldexp(proven_values(parts), -problem.exponent))
    return best


def proven_values(parts: DualParts) -> Numbers:
    """What one set of dual points proves for every cardinality, in the units of A; infinite where rounding failed."""
    size = len(parts.remainders)
    nothing = np.full(size, np.inf)
    if not (np.isfinite(parts.gram).all() and np.isfinite(parts.remainders).all() and np.isfinite(parts.squares)):
        return nothing
    totals = np.cumsum(np.sort(parts.remainders)[::-1]) * (1.0 + 2.0 * gamma(size))
    slack = 2.0 * gamma(size) * parts.squares + TINY  # the Gram matrix: p-term sums, in the spectral norm
    values = (largest_eigenvalue_bound(parts.gram) + totals + slack) * (1.0 + 16.0 * UNIT) * parts.scale
    raised: Numbers = values * (1.0 + 4.0 * UNIT)
    return raised
