"""Eigenvalue bounds proven by a Cholesky factorisation, never by an eigenvalue routine's word.

If the floating-point Cholesky factorisation of a symmetric B runs to its end, then B + E is positive semidefinite
for some E with |E_ij| <= g / (1 - g) sqrt(B_ii B_jj), g = (n + 1) u / (1 - (n + 1) u); hence lambda_min(B) is at
least -g / (1 - g) trace(B). The order of summation does not matter.

S. M. Rump, "Verification of positive definiteness", BIT 46 (2006), 433-452.
"""

from __future__ import annotations

import numpy as np

from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma
from sparseigen.kernels.eigen import run_arpack
from sparseigen.operators.contract import LARGEST_MATERIALISED

PANEL = 128
"""Columns of a matrix that are factorised at a time."""
DIRECT = 160
"""Up to this size the eigenvalue that the proof starts from is computed directly, above by Lanczos."""


def cholesky_defect(matrix: Numbers) -> float:
    """How far below zero the smallest eigenvalue can be, given that Cholesky succeeds; infinite if it does not.

    The matrix is overwritten.
    """
    defect = 2.0 * gamma(len(matrix) + 2) * float(matrix.trace()) + TINY
    return defect if _factorise(matrix) else np.inf


def _factorise(matrix: Numbers) -> bool:
    """Whether the Cholesky factorisation runs to its end; the lower triangle becomes the factor.

    Panel by panel, as LAPACK does it: one call for the whole of a large matrix could not be interrupted for seconds,
    and would take as much memory again.
    """
    from scipy.linalg.blas import dtrsm
    from scipy.linalg.lapack import dpotrf

    size = len(matrix)
    for begin in range(0, size, PANEL):
        end = min(begin + PANEL, size)
        if begin:
            matrix[begin:, begin:end] -= matrix[begin:, :begin] @ matrix[begin:end, :begin].T
        corner, failed = dpotrf(matrix[begin:end, begin:end], lower=1)
        if failed or not np.isfinite(corner.diagonal()).all():
            return False
        matrix[begin:end, begin:end] = corner
        if end < size:
            matrix[end:, begin:end] = dtrsm(1.0, corner, matrix[end:, begin:end].T, lower=1).T
    return True


def largest_eigenvalue_bound(matrix: Numbers, *, hopeless_above: float = np.inf) -> float:
    """A proven upper bound on the largest eigenvalue of a symmetric matrix with entries of size about one.

    ``hopeless_above``: give up (return infinity) when the eigenvalue is seen to lie above this.
    """
    size = len(matrix)
    if size > DIRECT and _rayleigh(matrix) > hopeless_above:
        return np.inf
    scale = max(float(matrix.max()), -float(matrix.min()), TINY)
    estimate = estimate_largest_eigenvalue(matrix)
    if estimate > hopeless_above:
        return np.inf
    step = 8.0 * (size + 4) * UNIT * max(abs(estimate), scale)
    for _ in range(60):
        proven = prove_eigenvalues_below(matrix, estimate + step)
        if np.isfinite(proven):
            return proven
        step *= 8.0
    return np.inf


def prove_eigenvalues_below(matrix: Numbers, candidate: float) -> float:
    """A proven upper bound on the eigenvalues of a symmetric matrix near a candidate; infinite if that is none."""
    shifted = -matrix
    shifted[np.diag_indices(len(matrix))] += candidate
    largest = float(np.abs(shifted.diagonal()).max())
    positive = bool(shifted.diagonal().min() > 0.0)
    defect = cholesky_defect(shifted) + 4.0 * UNIT * largest if positive else np.inf
    return candidate + defect + 4.0 * UNIT * abs(candidate)


def spectral_bound(problem: BoundProblem) -> float:
    """The largest eigenvalue of the whole matrix, which wins when k is a large part of p."""
    if problem.size > LARGEST_MATERIALISED or problem.dense is None:
        return np.inf
    return largest_eigenvalue_bound(problem.dense, hopeless_above=problem.best) + problem.margin


def psd_shift(problem: BoundProblem) -> float:
    """A shift for which A + shift I is known to be positive semidefinite; infinite if none near rounding level is."""
    if problem.negative_part == 0.0 or problem.dense is None:
        return problem.negative_part
    if problem.operator.positive_semidefinite is False:
        return np.inf
    shift = 16.0 * (problem.size + 4) * UNIT * max(float(np.abs(problem.diagonal).sum()), TINY)
    shifted = problem.dense.copy()
    shifted[np.diag_indices(problem.size)] += shift
    rounding = 4.0 * UNIT * float(np.abs(shifted.diagonal()).max())
    return shift + cholesky_defect(shifted) + rounding


def _rayleigh(matrix: Numbers) -> float:
    """A quick value from below: the Rayleigh quotient after two power steps."""
    vector = _generic(len(matrix))
    for _ in range(2):
        vector = matrix @ vector
        vector = vector / max(float(np.linalg.norm(vector)), TINY)
    return float(vector @ (matrix @ vector))


def _generic(size: int) -> Numbers:
    """A reproducible vector with weight in every direction that matters."""
    vector: Numbers = 1.0 + 0.1 * np.sin(np.arange(size) + 1.0)
    return vector


def estimate_largest_eigenvalue(matrix: Numbers) -> float:
    """The largest eigenvalue as LAPACK or Lanczos sees it: where the search for a proof starts."""
    if len(matrix) <= DIRECT:
        return float(np.linalg.eigvalsh(matrix)[-1])
    for tolerance, basis in ((1e-9, 20), (1e-4, 100)):
        start, basis = _generic(len(matrix)), min(basis, len(matrix) - 1)
        values, _ = run_arpack(matrix, 1, start, tol=tolerance, ncv=basis, return_eigenvectors=False)
        if len(values):
            return float(values[0])
    return float(np.linalg.norm(matrix, np.inf))  # never below, and all eigenvalues at once would take minutes
