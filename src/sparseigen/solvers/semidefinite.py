"""DSPCA: the semidefinite relaxation of sparse PCA, by a first-order method.

A. d'Aspremont, L. El Ghaoui, M. I. Jordan, G. R. G. Lanckriet, "A direct formulation for sparse PCA using
semidefinite programming", SIAM Review 49 (2007), 434-448. The splitting is that of S. Ma, "Alternating direction
method of multipliers for sparse principal component analysis", J. Oper. Res. Soc. China 1 (2013), 253-274.

    maximise <A, X>   over  X >= 0,  trace X = 1,  sum |X_ij| <= k

X is split from its copy Y in the l1 ball; the scaled multiplier U gives a point M of the dual, and with it the bound
lambda_max(A - M) + k max |M_ij|, which no k-sparse unit vector exceeds.

Examples
--------
>>> import sparseigen as se
>>> result = se.sparse_eigenvector(se.datasets.load_pitprops().matrix, 5, method="dspca")
>>> round(result.value, 4), bool(result.value <= result.settings["dual_bound"] < 1.02 * result.value)
(3.4062, True)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.arguments import check_numbers
from sparseigen.errors import UnsupportedOperatorError, ZeroMatrixError
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import StopReason
from sparseigen.solvers.eigenpairs import best_on_support
from sparseigen.solvers.interface import SolverOptions, SolverOutcome

Matrix = NDArray[np.float64]

LARGEST_SIZE = 1000
"""Each iteration is one eigendecomposition of the whole matrix; above this size that takes seconds."""
ITERATIONS = 200
"""Eigendecompositions spent at most."""
GAP = 1e-5
"""The relative distance between the relaxation's two sides at which it counts as solved."""


def solve_semidefinite(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """Solve the relaxation, take the k largest loadings of its leading eigenvector, put the best weights on them.

    ``settings["dual_bound"]`` is the relaxation's upper bound, ``settings["relaxation"]`` the value it reached.
    ``step`` is the splitting's own parameter, relative to the largest eigenvalue (default 1).
    """
    if operator.size > LARGEST_SIZE:
        message = (
            f"method='dspca' decomposes the whole matrix many times and accepts up to {LARGEST_SIZE} variables, got "
            f"{operator.size}. Restrict it with candidates=..., or use method='tpower'."
        )
        raise UnsupportedOperatorError(message)
    matrix = operator.to_dense()
    scale = float(np.abs(np.linalg.eigvalsh(matrix)).max())
    if scale == 0.0:
        msg = "the matrix is zero: every sparse vector has value 0, so there is nothing to find."
        raise ZeroMatrixError(msg)
    step = float(check_numbers(options.extra.get("step", 1.0), "step", 1)[0])
    relaxed, bound, reached, iterations, reason = _split(matrix / scale, cardinality, step, options)
    leading = np.linalg.eigh(relaxed)[1][:, -1]
    kept = kernels.largest_magnitudes(leading, cardinality)
    vector, value = best_on_support(operator, SparseVector(kept, leading[kept]))
    options.progress.report(vector, value)
    settings = {
        "start": "identity",
        "polish": None,
        "step": step,
        "dual_bound": float(max(value, scale * bound)),
        "relaxation": scale * reached,
    }
    return SolverOutcome(vector, value, reason, iterations, [value], settings)


def _split(
    matrix: Matrix, cardinality: int, step: float, options: SolverOptions
) -> tuple[Matrix, float, float, int, StopReason]:
    """Alternate X (spectrahedron), Y (l1 ball) and the multiplier U; keep the best dual bound seen."""
    copy = np.eye(len(matrix)) / len(matrix)
    multiplier = np.zeros_like(matrix)
    bound, reached = np.inf, -np.inf
    limit = min(ITERATIONS, options.max_iterations)
    # Every dual point is a valid bound, so spending the whole budget is an ordinary end; a caller's lower limit is not.
    reason = StopReason.COMPLETED if limit == ITERATIONS else StopReason.ITERATION_LIMIT
    iteration = 0
    for iteration in range(1, limit + 1):
        relaxed = _onto_spectrahedron(copy - multiplier + matrix / step)
        copy = _onto_l1_ball(relaxed + multiplier, float(cardinality))
        multiplier = multiplier + relaxed - copy
        if iteration % 10 == 0 or iteration == limit:
            bound = min(bound, _dual_bound(matrix, step * multiplier, cardinality))
            reached = float(np.vdot(matrix, copy))
            if abs(bound - reached) <= GAP * abs(bound):
                reason = StopReason.VALUE_STALLED
                break
    return copy, bound, reached, iteration, reason


def _dual_bound(matrix: Matrix, dual: Matrix, cardinality: int) -> float:
    """lambda_max(A - M) + k max |M|, raised past the rounding of the eigenvalue."""
    values = np.linalg.eigvalsh(matrix - dual)
    margin = 8.0 * len(matrix) * np.finfo(float).eps * float(np.abs(values).max())
    return float(values[-1]) + margin + cardinality * float(np.abs(dual).max())


def _onto_spectrahedron(matrix: Matrix) -> Matrix:
    """The nearest positive semidefinite matrix of trace one: its eigenvalues projected on the simplex."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    kept = _onto_simplex(values, 1.0)
    positive = kept > 0.0
    nearest: Matrix = (vectors[:, positive] * kept[positive]) @ vectors[:, positive].T
    return nearest


def _onto_l1_ball(matrix: Matrix, radius: float) -> Matrix:
    """The nearest matrix with sum |entries| <= radius."""
    magnitudes = np.abs(matrix)
    if float(magnitudes.sum()) <= radius:
        return matrix
    shrunk = _onto_simplex(magnitudes.ravel(), radius).reshape(matrix.shape)
    return np.sign(matrix) * shrunk


def _onto_simplex(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """The nearest nonnegative vector with that sum."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    threshold = excess[np.flatnonzero(ordered > excess)[-1]]
    nearest: NDArray[np.float64] = np.maximum(values - threshold, 0.0)
    return nearest
