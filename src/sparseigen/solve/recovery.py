"""Theorem 1 of the paper as a checker: when truncated power iterations recover a sparse leading eigenvector.

X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_cardinality, check_start_vector
from sparseigen.checks.arrays import check_symmetric
from sparseigen.errors import InputError, ShapeError, SparseigenError, ZeroMatrixError
from sparseigen.operators.build import as_operator
from sparseigen.results.certificate import RecoveryCheck, RecoveryTerms
from sparseigen.solve.eigenvector import WHICH, Request

NAN = float("nan")


def restricted_norm(E: Any, s: int) -> tuple[float, float]:
    """Bracket rho(E, s), the largest magnitude of an s-sparse eigenvalue of E.

    Parameters
    ----------
    E : array, scipy sparse matrix, DataFrame, or operator
        A symmetric matrix: the perturbation in the paper's analysis. The zero matrix is allowed.
    s : int
        The sparsity.

    Returns
    -------
    low, high : float
        rho(E, s) lies between them. The lower end is reached by a vector that the solver found for E or -E, the upper
        end is the larger of the default upper bounds of the two.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> low, high = se.restricted_norm(np.diag([1.0, -3.0, 2.0]), 2)
    >>> bool(low <= 3.0 <= high and high - low < 1e-12)
    True
    """
    try:
        operator = as_operator(E)
    except ZeroMatrixError:
        check_cardinality(s, int(np.shape(E)[0]), subject="s")
        return 0.0, 0.0
    s = check_cardinality(s, operator.size, subject="s")
    largest, smallest = (Request(operator, which=which).bracket(s) for which in WHICH)
    low = max(0.0, largest.lower_bound, -smallest.upper_bound)
    return low, max(largest.upper_bound, -smallest.lower_bound)


def recovery_check(A_true: Any, A_observed: Any, cardinality: int, start: Any) -> RecoveryCheck:
    """Evaluate Theorem 1: whether TPower with this k and start provably recovers the true leading eigenvector.

    Parameters
    ----------
    A_true : array, scipy sparse matrix or DataFrame
        The symmetric matrix without noise; its leading eigenvalue must be positive and simple.
    A_observed : array, scipy sparse matrix or DataFrame
        What the iteration runs on; E = A_observed - A_true.
    cardinality : int
        k of the iteration.
    start : array of shape (n_features,)
        x_0, at most k non-zeros.

    Returns
    -------
    RecoveryCheck
        Verdict, the failing condition, and gamma, delta, mu_1, mu_2, the rate and the error level at both ends of a
        proven bracket for rho(E, s), s = 2k + (non-zeros of the true eigenvector).

    Notes
    -----
    The theorem's constants are large: without noise mu_1 > 0 needs k > 27 times the true sparsity, because
    u (1 - u^2) / 2 is at most 0.19245 = 3^-1.5 and (1 / 27)^0.5 is the same number.

    References
    ----------
    X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> true = np.diag([10.0, 1.0, 1.0, 1.0, 1.0])
    >>> str(se.recovery_check(true, true, 4, [1, 0, 0, 0, 0]))
    'fails: mu_1 > 0'
    """
    (true, names), (observed, observed_names) = _check_square(A_true, "A_true"), _check_square(A_observed, "A_observed")
    if (
        names is not None
        and observed_names is not None
        and names != observed_names
        and sorted(names) == sorted(observed_names)
    ):
        msg = "A_true and A_observed have the same variables in another order; bring both into one order first."
        raise InputError(msg)
    if true.shape != observed.shape:
        message = f"A_true has shape {true.shape}, A_observed {observed.shape}; they must be equal."
        raise ShapeError(message)
    size = len(true)
    k = check_cardinality(cardinality, size)
    x = check_start_vector(start, size)
    eigenvalue, gap, vector = _find_leading(true)
    sparsity = int((np.abs(vector) > 1e-8 * np.abs(vector).max()).sum())
    s = min(2 * k + sparsity, size)
    overlap = min(1.0, abs(float(x @ vector)))
    fits = int(np.count_nonzero(x)) <= k
    ends = restricted_norm(observed - true, s)
    low, high = (_build_terms(rho, eigenvalue, gap, sparsity, k, overlap, fits) for rho in ends)
    verdict = "fails" if low.failed else "undecided" if high.failed else "applies"
    condition = low.failed or high.failed
    return RecoveryCheck(verdict, condition, k, sparsity, s, eigenvalue, gap, overlap, low, high)


def _check_square(matrix: Any, name: str) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """A symmetric matrix as a dense array, and the names of its variables; it may be zero."""
    try:
        checked = check_symmetric(matrix)
    except ZeroMatrixError:
        return np.zeros(np.shape(matrix)), None
    except ShapeError as error:
        message = f"{name} has shape {np.shape(matrix)}; it must be a square matrix."
        raise ShapeError(message) from error
    except SparseigenError as error:
        message = f"{name}: {error}"
        raise type(error)(message) from error
    values = checked.values.toarray() if checked.layout == "sparse" else checked.values
    return values.astype(np.float64), checked.names


def _find_leading(matrix: NDArray[np.float64]) -> tuple[float, float, NDArray[np.float64]]:
    values, vectors = np.linalg.eigh(matrix)
    magnitudes = np.abs(values[:-1])
    gap = float(values[-1] - (magnitudes.max() if magnitudes.size else 0.0))
    if values[-1] <= 0.0 or gap <= 1e-12 * float(values[-1]):
        message = (
            f"the leading eigenvalue of A_true is {values[-1]:.6g} and its distance to the other magnitudes "
            f"{gap:.6g}; Theorem 1 assumes a positive simple one. Check A_true, or shift it."
        )
        raise InputError(message)
    return float(values[-1]), gap, vectors[:, -1]


def _build_terms(
    rho: float, eigenvalue: float, gap: float, sparsity: int, k: int, overlap: float, fits: bool
) -> RecoveryTerms:
    """The theorem's quantities at one value of rho, in the order of its statement; the first failure is named."""
    ratio = math.sqrt(sparsity / k)
    gamma = delta = u = mu_1 = mu_2 = NAN
    if rho <= gap / 2.0:
        gamma = (eigenvalue - gap + rho) / (eigenvalue - rho)
        delta = math.sqrt(2.0) * rho / math.hypot(rho, gap - 2.0 * rho)
        u = min(overlap - delta, 3.0**-0.5)  # u (1 - u^2) grows up to there
        mu_1 = (1.0 - gamma**2) * u * (1.0 - u**2) / 2.0 - (2.0 * delta + ratio)
        mu_2 = math.sqrt((1.0 + 3.0 * ratio) * (1.0 - 0.45 * (1.0 - gamma**2)))
    conditions = {
        "k >= 4 times the true sparsity": k >= 4 * sparsity,
        "the start has at most k non-zeros": fits,
        "rho(E, s) <= gap / 2": rho <= gap / 2.0,
        "gamma < 1": gamma < 1.0,
        "the start's overlap is at least u + delta": u >= 0.0,
        "mu_1 > 0": 0.0 < mu_1 < 1.0,
        "mu_2 < 1": mu_2 < 1.0,
    }
    failed = next((name for name, holds in conditions.items() if not holds), None)
    if failed is not None:
        return RecoveryTerms(rho, gamma, delta, u, mu_1, mu_2, NAN, NAN, failed)
    rate = max(math.sqrt(1.0 - mu_1), mu_2)
    return RecoveryTerms(rho, gamma, delta, u, mu_1, mu_2, rate, math.sqrt(5.0) * delta / (1.0 - mu_2), None)
