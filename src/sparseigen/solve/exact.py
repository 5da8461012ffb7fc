"""Proofs on request: `solve_exact` closes the bracket by search, `upper_bound` proves one without an answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparseigen.certificates.portfolio import EFFORTS
from sparseigen.certificates.problem import Proven
from sparseigen.checks.arguments import check_choice, check_positive, check_result, check_start_vector, check_tolerance
from sparseigen.errors import StartError
from sparseigen.operators.build import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.results import Certificate, SparseEigResult
from sparseigen.solve.eigenvector import Request, refuse_ridge
from sparseigen.solve.generalised import PencilRequest
from sparseigen.solvers.branch_and_bound import KNOWN
from sparseigen.solvers.eigenpairs import recompute_value
from sparseigen.solvers.interface import OnIteration

SAME_VALUE = 1e-6
"""Relative difference up to which two values are the same, whatever way the matrix is held."""


def solve_exact(
    A: Any,
    cardinality: int,
    *,
    which: str = "largest",
    metric: Any = None,
    ridge: float = 0.0,
    time_limit: float = 60.0,
    gap: float = 1e-6,
    warm_start: Any = None,
    on_iteration: OnIteration | None = None,
) -> SparseEigResult:
    """Find the k-sparse unit vector with the largest (or smallest) x'Ax and prove that it is.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, LinearOperator, or operator from `covariance`
        A symmetric matrix; it may be indefinite.
    cardinality : int
        Number of non-zeros allowed (*k*).
    which : {"largest", "smallest"}
        Which end of the spectrum. Of the smallest the certificate reads the other way round: the answer attains
        ``upper_bound``, and ``lower_bound`` is proven.
    metric, ridge : optional
        B, positive definite, and what is added to its diagonal: then x'Ax / x'Bx is meant, as in
        `sparse_eigenvector`. An earlier result gives its variables to start from.
    time_limit : float
        Seconds after which the bracket reached so far is returned.
    gap : float
        Stop when the relative gap is proven to be at most this.
    warm_start : array of shape (n_features,) or SparseEigResult, optional
        A vector to start the search for good answers from, instead of the default solver's own starts. An earlier
        result is continued: its answer and the end of the bracket that it proved (for this many variables or more) are
        taken over, so that the bracket does not become wider. The caller vouches that it belongs to the same matrix.
    on_iteration : callable, optional
        Called as ``on_iteration(iteration, vector, value)`` at iterations and nodes; if it has a method
        ``on_bracket``, that is called as ``on_bracket(iteration, low, high)`` at every node.

    Returns
    -------
    SparseEigResult
        ``certificate`` is the bracket; ``stop_reason`` is "bracket_closed", "gap" or "time_limit", or "completed" where
        the matrix is so large that the time allows no further step; ``settings`` holds the number of ``nodes`` and
        ``presolved_size``, the number of variables that could not be ruled out before.

    Raises
    ------
    StartError
        If ``warm_start`` is a result whose value is not that of its vector for this matrix.
    SolveInterrupted
        On Ctrl-C; a KeyboardInterrupt whose ``result`` has the bracket reached.

    References
    ----------
    B. Moghaddam, Y. Weiss, S. Avidan, "Spectral bounds for sparse PCA: exact and greedy algorithms", NIPS 2006.

    Examples
    --------
    >>> import sparseigen as se
    >>> result = se.solve_exact(se.datasets.load_pitprops().matrix, 5)
    >>> round(result.value, 6), result.stop_reason.value, result.certificate.optimal
    (3.406155, 'bracket_closed', True)
    """
    operator = as_operator(A)
    start = "auto" if warm_start is None else check_start_vector(warm_start, operator.size, "warm_start")
    limits = {"time_limit": time_limit, "gap": gap}
    if metric is not None:
        options: dict[str, Any] = {"method": "exact", "start": start, "method_options": limits}
        tolerance = check_tolerance(gap, "gap")
        pencil = PencilRequest(
            operator, metric, ridge=ridge, gap=tolerance, which=which, on_iteration=on_iteration, **options
        )
        check_positive(time_limit, "time_limit")
        return pencil.answer(pencil.check_cardinality(cardinality))
    refuse_ridge(ridge)
    request = Request(
        operator, which=which, method="exact", start=start, on_iteration=on_iteration, method_options=limits
    )
    cardinality = request.check_cardinality(cardinality)
    if isinstance(warm_start, SparseEigResult):
        known = _continue_from(check_result(warm_start, "warm_start"), request, cardinality)
        if known is not None:
            request.options.extra[KNOWN] = known
    return request.answer(cardinality)


def _continue_from(earlier: SparseEigResult, request: Request, cardinality: int) -> Proven | None:
    """The bound that an earlier result proves for this question; refused where it belongs to another matrix."""
    indices = np.flatnonzero(earlier.vector).astype(np.int64)
    value = recompute_value(request.operator, SparseVector(indices, earlier.vector[indices]))
    size = max(abs(value), abs(earlier.value))
    if not abs(value - earlier.value) <= SAME_VALUE * size:
        message = (
            f"warm_start has the value {earlier.value:.9g}, but x'Ax of its vector is {value:.9g}: it is the result of "
            "another matrix. Pass warm_start=result.vector to use the vector alone."
        )
        raise StartError(message, parameter="warm_start")
    proof, settings = earlier.certificate, earlier.settings
    same_question = settings.get("which") == request.which and "candidates" not in settings
    if proof is None or not same_question or earlier.cardinality < cardinality:
        return None
    end = proof.upper_bound if request.unit > 0.0 else proof.lower_bound
    upper = end * request.unit
    if abs(request.unit) != 1.0:
        upper = math.nextafter(upper, math.inf)
    return Proven(upper, proof.method, proof.scale * abs(request.unit)) if math.isfinite(upper) else None


def upper_bound(A: Any, cardinality: int, *, which: str = "largest", effort: str = "default") -> Certificate:
    """Prove how large the largest k-sparse eigenvalue of A can be, or how small the smallest.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, LinearOperator, or operator from `covariance`
        A symmetric matrix; it may be indefinite.
    cardinality : int
        Number of non-zeros allowed (*k*).
    which : {"largest", "smallest"}
        Which end of the spectrum. For "smallest" the proven end is ``lower_bound``: no k-sparse unit vector has a
        smaller x'Ax.
    effort : {"cheap", "default", "tight"}
        "cheap": trace of the k largest diagonal entries (Gram and other positive semidefinite matrices), largest
        eigenvalue, row sums (Gershgorin). "default": scaled row sums and the dual of the penalised problem as well.
        "tight": that dual to convergence, and a split of A into a spectral and a row part, for up to about 10 s.

    Returns
    -------
    Certificate
        ``upper_bound`` is proven; ``lower_bound`` is reached by the answer of the default solver, which the bounds
        start from. With ``which="smallest"`` the two change places.

    Raises
    ------
    UnsupportedOperatorError
        If no bound of this effort applies.

    Notes
    -----
    Everything holds in floating point. Row bounds are raised by 2 (k + 6) roundings of their terms; eigenvalues are
    proven by a Cholesky factorisation that succeeds, with Rump's margin; dual points are checked one by one; the
    rounding errors of the entries of a covariance add at most the sum of the k largest `Operator.entry_errors`.

    References
    ----------
    A. d'Aspremont, F. Bach, L. El Ghaoui, "Optimal solutions for sparse principal component analysis", JMLR 9 (2008).
    S. M. Rump, "Verification of positive definiteness", BIT 46 (2006), 433-452.

    Examples
    --------
    >>> import sparseigen as se
    >>> certificate = se.upper_bound(se.datasets.load_pitprops().matrix, 5)
    >>> bool(certificate.lower_bound <= 3.406156 and certificate.upper_bound >= 3.406154)
    True
    """
    request = Request(A, which=which)
    cardinality = request.check_cardinality(cardinality)
    check_choice(effort, EFFORTS, "effort")
    return request.bound(cardinality, effort=effort)
