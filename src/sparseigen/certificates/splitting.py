"""The dual of the DSPCA relaxation: split A into a spectral part and a part with small entries.

For any symmetric M and any support S of size k, lambda_max(A_SS) <= lambda_max(A - M) + lambda_max(M_SS), and the last
term is at most k max|M_ij|, or the scaled row bound of M, whichever is smaller. The best M for k max|M| is the dual
solution of

    max <A, X> over X >= 0, trace X = 1, sum |X_ij| <= k,

found by the alternating direction method: X is projected on the spectrahedron, Y on the l1 ball, and the scaled
multiplier U of X = Y gives M = penalty * U. Every M on the way proves a bound.

A. d'Aspremont, L. El Ghaoui, M. I. Jordan, G. R. G. Lanckriet, "A direct formulation for sparse PCA using
semidefinite programming", SIAM Review 49 (2007), 434-448. The splitting is that of S. Ma, "Alternating direction method
of multipliers for sparse principal component analysis", J. Oper. Res. Soc. China 1 (2013), 253-274.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sparseigen import kernels
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT
from sparseigen.certificates.scaled_rows import row_values
from sparseigen.certificates.spectral import largest_eigenvalue_bound

LARGEST_SIZE = 600
"""Each step decomposes a p x p matrix."""
MOST_STEPS = 600
START_PENALTY = 0.3
"""Relative to the spectral norm; balanced as the residuals tell."""
OVER_RELAXATION = 1.6
LOOK_EVERY = 10
"""Steps between two looks at the bound."""


def splitting_bound(problem: BoundProblem) -> float:
    """The best bound of the form lambda_max(A - M) + row bound of M over the iterates M."""
    if problem.dense is None or problem.size > LARGEST_SIZE or problem.cardinality == problem.size:
        return np.inf
    kept, promised, stale = None, np.inf, 0
    for split in splits(problem.dense, problem.cardinality, lambda: problem.out_of_time):
        value = float(np.linalg.eigvalsh(problem.dense - split)[-1]) + problem.cardinality * float(np.abs(split).max())
        stale = 0 if value < promised * (1.0 - 1e-4) else stale + 1
        if value < promised:
            kept, promised = split, value
        if problem.out_of_time or stale >= 5 or promised <= problem.achieved * (1.0 + problem.target_gap):
            break
    return np.inf if kept is None else split_value(problem, kept)


def split_value(problem: BoundProblem, split: Numbers) -> float:
    """The proven bound of one symmetric M, rounding included."""
    matrix = problem.dense
    if matrix is None:
        return np.inf
    rest = matrix - split
    rounding = 2.0 * UNIT * problem.size * float(np.abs(rest).max())
    spectral = largest_eigenvalue_bound(rest) + rounding
    return spectral + _row_bound(split, problem.cardinality) + problem.margin + TINY


@dataclass(frozen=True)
class Split:
    """One look at the alternating direction method: M, the feasible matrix of the l1 ball, and the steps made."""

    dual: Numbers
    relaxed: Numbers
    steps: int


def alternate(
    matrix: Numbers,
    cardinality: int,
    penalty: float,
    *,
    start: Numbers | None = None,
    over_relaxation: float = OVER_RELAXATION,
    balanced: bool = True,
    most_steps: int = MOST_STEPS,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Iterator[Split]:
    """The alternating direction method for DSPCA's relaxation, at every LOOK_EVERY-th step and at the last one.

    With ``balanced`` the penalty follows the residuals, which keeps the two halves of the method in step.
    """
    copy = np.zeros_like(matrix) if start is None else start
    multiplier = np.zeros_like(matrix)
    for step in range(1, most_steps + 1):
        spectral = project_on_spectrahedron(copy - multiplier + matrix / penalty)
        relaxed = over_relaxation * spectral + (1.0 - over_relaxation) * copy
        previous, copy = copy, project_on_l1_ball(relaxed + multiplier, float(cardinality))
        multiplier = multiplier + relaxed - copy
        if step % LOOK_EVERY and step < most_steps and not out_of_time():
            continue
        dual = penalty * multiplier
        yield Split(0.5 * (dual + dual.T), copy, step)
        if balanced:
            apart, moved = float(np.linalg.norm(spectral - copy)), float(np.linalg.norm(copy - previous))
            factor = 2.0 if apart > 4.0 * moved else 0.5 if moved > 4.0 * apart else 1.0
            penalty, multiplier = penalty * factor, multiplier / factor


def splits(matrix: Numbers, cardinality: int, out_of_time: Callable[[], bool] = lambda: False) -> Iterator[Numbers]:
    """The M of the method from a penalty relative to the spectral norm."""
    penalty = START_PENALTY * max(float(np.linalg.norm(matrix, 2)), TINY)
    return (split.dual for split in alternate(matrix, cardinality, penalty, out_of_time=out_of_time))


def project_on_spectrahedron(matrix: Numbers) -> Numbers:
    """The nearest positive semidefinite matrix of trace one to a symmetric one."""
    values, vectors = np.linalg.eigh(matrix)
    descending = values[::-1]
    excess = np.cumsum(descending) - 1.0
    count = int(np.flatnonzero(descending * np.arange(1, len(values) + 1) > excess)[-1]) + 1
    kept = np.maximum(values - excess[count - 1] / count, 0.0)
    positive = kept > 0.0
    projected: Numbers = (vectors[:, positive] * kept[positive]) @ vectors[:, positive].T
    return projected


def project_on_l1_ball(matrix: Numbers, radius: float) -> Numbers:
    """The nearest matrix whose magnitudes add up to at most the radius."""
    magnitudes = np.abs(matrix)
    if float(magnitudes.sum()) <= radius:
        return matrix
    threshold = (float(magnitudes.sum()) - radius) / magnitudes.size
    while True:  # Newton on a convex piecewise linear function: ends after finitely many steps, from below
        above = magnitudes[magnitudes > threshold]
        following = (float(above.sum()) - radius) / above.size
        if following <= threshold * (1.0 + 1e-12):
            break
        threshold = following
    projected: Numbers = np.sign(matrix) * np.maximum(magnitudes - threshold, 0.0)
    return projected


def _row_bound(matrix: Numbers, cardinality: int) -> float:
    """The row bound of a symmetric matrix, with all weights one."""
    everything, ones = np.arange(len(matrix), dtype=np.int64), np.ones(len(matrix))
    sums, _ = kernels.top_row_sums(np.ascontiguousarray(matrix), everything, ones, cardinality - 1)
    return float(row_values(matrix.diagonal(), sums, ones, cardinality).max())
