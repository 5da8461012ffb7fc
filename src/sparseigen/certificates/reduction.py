"""Bounds on fewer variables: what probing removes cannot be part of a better answer.

Supports that hold a removed variable stay below the cutoff, so the optimum is at most the larger of the cutoff and the
bound for the variables that remain. On real data a few dozen remain, and the dense duals become cheap and sharp.
"""

from __future__ import annotations

import numpy as np

from sparseigen.certificates.penalised_dual import converged_penalised_bound
from sparseigen.certificates.probing import Node, Tree, bounded
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import UNIT, ZERO
from sparseigen.certificates.scaled_rows import starting_weights
from sparseigen.certificates.spectral import spectral_bound
from sparseigen.certificates.splitting import splitting_bound
from sparseigen.operators.contract import Indices
from sparseigen.solvers.interface import SparseVector

PASSES = 12
BOUNDS = (spectral_bound, converged_penalised_bound, splitting_bound)
"""Tried on the variables that remain."""


def reduced_bound(problem: BoundProblem) -> float:
    """The larger of the cutoff, just above the answer found, and the bounds on the variables that can beat it."""
    if problem.dense is None or not np.isfinite(problem.achieved):
        return np.inf
    cutoff = problem.achieved + problem.target_gap * max(abs(problem.achieved), ZERO)
    everything = np.arange(problem.size, dtype=np.int64)
    root = Node(everything, 0, starting_weights(problem), np.inf, np.full(problem.size, np.inf))
    tree = Tree(problem.dense, problem.diagonal, problem.cardinality, problem.margin)
    root = bounded(tree, root, cutoff, PASSES)
    if len(root.members) == problem.size:
        return root.bound
    if root.bound <= cutoff:
        return cutoff
    rest = _restricted(problem, root.members)
    rest.best = rest.scaled(problem.unscaled(min(problem.best, root.bound)))
    for bound in BOUNDS:
        rest.best = min(rest.best, bound(rest))
        if rest.closed or rest.out_of_time:
            break
    remaining = problem.scaled(rest.unscaled(rest.best))
    return max(cutoff, min(root.bound, remaining + 4.0 * UNIT * abs(remaining)))


def _restricted(problem: BoundProblem, members: Indices) -> BoundProblem:
    """The same question about the members alone."""
    vector = problem.vector
    if vector is not None:
        inside = bool(np.isin(vector.indices, members).all())
        vector = SparseVector(np.searchsorted(members, vector.indices), vector.weights) if inside else None
    achieved = float(np.ldexp(problem.achieved, problem.exponent))
    return BoundProblem(
        problem.operator.restricted(members),
        problem.cardinality,
        vector,
        achieved=achieved,
        deadline=problem.deadline,
        target_gap=problem.target_gap,
    )
