"""DSPCA: the semidefinite relaxation of sparse PCA, by a first-order method.

A. d'Aspremont, L. El Ghaoui, M. I. Jordan, G. R. G. Lanckriet, "A direct formulation for sparse PCA using
semidefinite programming", SIAM Review 49 (2007), 434-448.

    maximise <A, X>   over  X >= 0,  trace X = 1,  sum |X_ij| <= k

`certificates.splitting` has the alternating direction method; its multiplier gives a point M of the dual, and with it
the bound lambda_max(A - M) + k max |M_ij|, which no k-sparse unit vector exceeds.

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
from sparseigen.certificates.splitting import Split, alternate
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
    last, bound, reached, reason = _solve_relaxation(matrix / scale, cardinality, step, options)
    leading = np.linalg.eigh(last.relaxed)[1][:, -1]
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
    return SolverOutcome(vector, value, reason, last.steps, [value], settings)


def _solve_relaxation(
    matrix: Matrix, cardinality: int, step: float, options: SolverOptions
) -> tuple[Split, float, float, StopReason]:
    """The last look at the alternating direction method, the best dual bound seen and the value reached."""
    bound = np.inf
    limit = min(ITERATIONS, options.max_iterations)
    looks = alternate(
        matrix,
        cardinality,
        step,
        start=np.eye(len(matrix)) / len(matrix),
        over_relaxation=1.0,
        balanced=False,
        most_steps=limit,
    )
    for look in looks:
        bound = min(bound, _dual_bound(matrix, look.dual, cardinality))
        reached = float(np.vdot(matrix, look.relaxed))
        if abs(bound - reached) <= GAP * abs(bound):
            return look, bound, reached, StopReason.VALUE_STALLED
    # Every dual point is a valid bound, so spending the whole budget is an ordinary end; a caller's lower limit is not.
    return look, bound, reached, StopReason.COMPLETED if limit == ITERATIONS else StopReason.ITERATION_LIMIT


def _dual_bound(matrix: Matrix, dual: Matrix, cardinality: int) -> float:
    """lambda_max(A - M) + k max |M|, raised past the rounding of the eigenvalue."""
    values = np.linalg.eigvalsh(matrix - dual)
    margin = 8.0 * len(matrix) * np.finfo(float).eps * float(np.abs(values).max())
    return float(values[-1]) + margin + cardinality * float(np.abs(dual).max())
