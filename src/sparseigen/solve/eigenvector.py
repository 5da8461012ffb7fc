"""From a request to a result: one sparse eigenvector, its exact solution, an upper bound alone."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.portfolio import EFFORTS
from sparseigen.certificates.portfolio import certify as certify_value
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import warn_of_rounding
from sparseigen.checks.arguments import (
    check_candidates,
    check_cardinality,
    check_choice,
    check_count,
    check_flag,
    check_method_options,
    check_positive,
    check_rng,
    check_start_vector,
    check_tolerance,
)
from sparseigen.errors import ConvergenceWarning, OptionError, SolveInterrupted, UnsupportedOperatorError, one_of
from sparseigen.operators import Operator, as_operator
from sparseigen.operators.contract import Indices, SparseVector
from sparseigen.operators.wrapped import scaled, search_unit
from sparseigen.results import Certificate, SparseEigResult, StopReason
from sparseigen.solvers import SOLVERS, check_definite, check_solver
from sparseigen.solvers.branch_and_bound import branch_and_bound
from sparseigen.solvers.eigenpairs import recomputed_value
from sparseigen.solvers.interface import OnIteration, Progress, SolverOptions, SolverOutcome
from sparseigen.solvers.starts import STARTS
from sparseigen.solvers.truncated_power import POLISHES, solve_truncated_power


def sparse_eigenvector(
    A: Any,
    cardinality: int,
    *,
    which: str = "largest",
    method: str = "tpower",
    start: Any = "auto",
    polish: str | None = "swap",
    nonnegative: bool = False,
    candidates: Any = None,
    rtol: float = 1e-7,
    atol: float = 0.0,
    max_iterations: int = 1000,
    certify: bool = True,
    rng: Any = None,
    on_iteration: OnIteration | None = None,
    method_options: Mapping[str, Any] | None = None,
) -> SparseEigResult:
    """Find the unit vector with at most k non-zeros that makes x'Ax largest (or smallest).

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, or operator from `covariance`
        A symmetric matrix. For data pass ``covariance(X)``.
    cardinality : int
        Number of non-zeros allowed (*k* of the paper).
    which : {"largest", "smallest"}
        Which end of the spectrum.
    method : str
        The solver, a name in the table of methods.
    start : {"auto", "max-variance", "top-k-variance", "warm", "backward", "columns", "random"} or array
        Where to start. "max-variance" is the paper's; "auto" tries that and about fifteen others.
    polish : {"swap", "solve", None}
        What to do with the answer of the power method: exchange variables while the value rises, only solve
        exactly on the support found, or nothing. ``start="max-variance", polish=None`` is Algorithm 1 of the
        paper, iterate by iterate.
    nonnegative : bool
        Only loadings >= 0. The certificate's proven end is that of the problem without signs: it holds for this one
        too, and may stay away from the answer however good that is.
    candidates : array of indices or names, or boolean mask, optional
        The only variables that may be chosen.
    rtol, atol : float
        Stop when the objective changes by at most ``max(atol, rtol * |value|)``. The paper's rule is
        ``rtol=0, atol=1e-4``. With float32 data changes below 5e-7 are rounding, and rtol is at least that.
    max_iterations : int
        Limit for each run.
    certify : bool
        Prove a bound on how far the value can be from the optimum.
    rng : None, int or numpy.random.Generator
        For ``start="random"``; None is seed 0.
    on_iteration : callable, optional
        Called as ``on_iteration(iteration, vector, value)``; `progress_bar` makes one.
    method_options : mapping, optional
        The method's own parameters by name, for example ``{"gamma": 0.3}`` for "gpower-l1". Methods other than
        "tpower" have their own start and end, and do not use ``start`` and ``polish``; what they used instead is
        in the result's settings.

    Returns
    -------
    SparseEigResult

    Raises
    ------
    SolveInterrupted
        On Ctrl-C; a KeyboardInterrupt whose ``result`` is the best answer so far.

    References
    ----------
    X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.

    Examples
    --------
    >>> import sparseigen as se
    >>> pitprops = se.datasets.load_pitprops()
    >>> result = se.sparse_eigenvector(pitprops.frame(), cardinality=5)
    >>> round(result.value, 6)
    3.406155
    >>> [pitprops.names[i] for i in result.support]
    ['topdiam', 'length', 'ringbut', 'bowdist', 'whorls']
    """
    operator = as_operator(A)
    allowed = check_candidates(candidates, operator.size, operator.names)
    problem = operator if allowed is None else operator.restricted(allowed)
    of = "variables" if allowed is None else "candidates"
    cardinality = check_cardinality(cardinality, problem.size, of=of)
    check_choice(which, ("largest", "smallest"), "which")
    nonnegative = check_flag(nonnegative, "nonnegative")
    spec = check_solver(method, problem, nonnegative=nonnegative)
    unit = search_unit(problem, which)
    searched = scaled(problem, unit)
    if unit < 0.0 and problem.positive_semidefinite:
        searched.positive_semidefinite = False
    progress = Progress(problem.size, spreading(on_iteration, allowed, operator.size), lambda value: value / unit)
    options = SolverOptions(
        start=_check_start(start, operator.size, allowed),
        polish=check_choice(polish, POLISHES, "polish"),
        nonnegative=nonnegative,
        rtol=check_tolerance(rtol, "rtol"),
        atol=check_tolerance(atol, "atol"),
        max_iterations=check_count(max_iterations, "max_iterations"),
        rng=check_rng(rng),
        progress=progress,
        extra=check_method_options(method_options, spec.parameters, method),
    )
    check_definite(method, searched)
    certify = check_flag(certify, "certify")
    if on_iteration is not None and not callable(on_iteration):
        message = f"on_iteration={on_iteration!r} must be a function (iteration, vector, value) or None."
        raise OptionError(message)
    request = _Request(operator, problem, searched, unit, allowed, cardinality, which, method, options)
    began = time.perf_counter()
    try:
        outcome = spec.solve(searched, cardinality, options)
    except KeyboardInterrupt as stop:
        raise SolveInterrupted(request.best_so_far(stop, time.perf_counter() - began)) from None
    result = request.result(outcome, time.perf_counter() - began)
    if outcome.stop_reason is StopReason.ITERATION_LIMIT:
        message = (
            f"stopped at max_iterations={max_iterations} before the objective settled; the answer is valid but may "
            "improve. Raise max_iterations, or use polish='swap'."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    if not certify:
        return result
    try:
        proof = request.certificate(outcome)
    except KeyboardInterrupt:  # the answer is there; only its proof is not
        raise SolveInterrupted(result) from None
    warn_of_rounding(problem, cardinality, proof)
    return replace(result, certificate=proof)


def sparse_eigenvector_block(
    A: Any,
    cardinalities: list[int],
    *,
    method: str,
    rtol: float = 1e-7,
    atol: float = 0.0,
    max_iterations: int = 1000,
    certify: bool = False,
    rng: Any = None,
    method_options: Mapping[str, Any] | None = None,
) -> list[SparseEigResult]:
    """Several components at once, by a method that can (`sparse_components` with ``deflation="block"`` calls this).

    The components come in the order of the cardinalities. The set as a whole has no bound, so there are no
    certificates.
    """
    operator = as_operator(A)
    spec = check_solver(method, operator, nonnegative=False)
    check_definite(method, operator)
    if spec.solve_block is None:
        able = one_of(name for name, other in SOLVERS.items() if other.solve_block is not None)
        message = f"method={method!r} finds one component at a time; deflation='block' needs one of: {able}."
        raise OptionError(message)
    options = SolverOptions(
        rtol=check_tolerance(rtol, "rtol"),
        atol=check_tolerance(atol, "atol"),
        max_iterations=check_count(max_iterations, "max_iterations"),
        rng=check_rng(rng),
        progress=Progress(operator.size),
        extra=check_method_options(method_options, spec.parameters, method),
    )
    if check_flag(certify, "certify"):
        msg = "certify=True: a block of components found at once has no bound; use certify=False."
        raise OptionError(msg)
    began = time.perf_counter()
    outcomes = spec.solve_block(operator, cardinalities, options)
    seconds = time.perf_counter() - began
    return [
        _Request(operator, operator, operator, 1.0, None, cardinality, "largest", method, options).result(
            outcome, seconds
        )
        for cardinality, outcome in zip(cardinalities, outcomes, strict=True)
    ]


class _Request:
    """One call of `sparse_eigenvector`: what is needed to turn a solver's outcome into the caller's answer."""

    def __init__(
        self,
        operator: Operator,
        problem: Operator,
        searched: Operator,
        unit: float,
        allowed: Indices | None,
        cardinality: int,
        which: str,
        method: str,
        options: SolverOptions,
    ) -> None:
        self.operator, self.problem, self.searched, self.unit = operator, problem, searched, unit
        self.allowed, self.cardinality, self.which, self.method = allowed, cardinality, which, method
        self.options = options

    def result(self, outcome: SolverOutcome, seconds: float) -> SparseEigResult:
        vector = _signed(self._in_full(outcome.vector), nonnegative=self.options.nonnegative)
        history = np.asarray(outcome.history, dtype=np.float64) / self.unit
        vector.flags.writeable = history.flags.writeable = False
        return SparseEigResult(
            vector=vector,
            value=outcome.value / self.unit,
            cardinality=self.cardinality,
            stop_reason=outcome.stop_reason,
            n_iterations=outcome.n_iterations,
            history=history,
            certificate=None,
            solver=self.method,
            settings=self._settings() | outcome.settings,
            seconds=seconds,
            names=self.operator.names,
        )

    def certificate(self, outcome: SolverOutcome) -> Certificate:
        """The bracket found in the units of the search, in the caller's units."""
        found = certify_value(self.searched, self.cardinality, outcome.vector, proven=outcome.proven)
        low, high = sorted([found.lower_bound / self.unit, found.upper_bound / self.unit])
        if abs(self.unit) != 1.0:  # a power of two divides exactly, except where the quotient is denormal
            low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
        return replace(found, lower_bound=low, upper_bound=high, scale=found.scale / abs(self.unit))

    def best_so_far(self, stop: KeyboardInterrupt, seconds: float) -> SparseEigResult | None:
        if isinstance(stop, SolveInterrupted) and isinstance(stop.result, SolverOutcome):  # a solver with a bracket
            result = self.result(stop.result, seconds)
            return replace(result, certificate=self.certificate(stop.result))
        progress = self.options.progress
        if progress.best is None:
            return None
        value = recomputed_value(self.searched, progress.best)
        iterations = progress.iterations
        return self.result(SolverOutcome(progress.best, value, StopReason.INTERRUPTED, iterations, [value]), seconds)

    def _in_full(self, vector: SparseVector) -> NDArray[np.float64]:
        within = vector.spread(self.problem.size)
        if self.allowed is None:
            return within
        full = np.zeros(self.operator.size)
        full[self.allowed] = within
        return full

    def _settings(self) -> dict[str, Any]:
        options = self.options
        return self.problem.describe() | {
            "which": self.which,
            "method": self.method,
            "polish": options.polish,
            "nonnegative": options.nonnegative,
            "rtol": options.rtol,
            "atol": options.atol,
            "max_iterations": options.max_iterations,
        }


def _check_start(start: Any, size: int, allowed: Indices | None) -> Any:
    if isinstance(start, str):
        return check_choice(start, STARTS, "start")
    vector = check_start_vector(start, size)
    if allowed is None:
        return vector
    within = vector[allowed]
    if not within.any():
        msg = "start is zero on all candidates; give a start with weight on them, or start='auto'."
        raise OptionError(msg)
    return within


def spreading(on_iteration: OnIteration | None, allowed: Indices | None, size: int) -> OnIteration | None:
    """The caller's callback, seeing vectors of full length even when the search runs over candidates."""
    if on_iteration is None or allowed is None:
        return on_iteration

    def spread(iteration: int, vector: NDArray[np.float64], value: float) -> None:
        full = np.zeros(size)
        full[allowed] = vector
        on_iteration(iteration, full, value)

    return spread


def _signed(vector: NDArray[np.float64], *, nonnegative: bool) -> NDArray[np.float64]:
    """The vector with its entry of largest magnitude positive, so that signs are reproducible."""
    leading = vector[int(np.abs(vector).argmax())]
    return vector if nonnegative or leading >= 0.0 else -vector


def solve_exact(
    A: Any,
    cardinality: int,
    *,
    time_limit: float = 60.0,
    gap: float = 1e-6,
    warm_start: Any = None,
    on_iteration: OnIteration | None = None,
) -> SparseEigResult:
    """Find the k-sparse unit vector with the largest x'Ax and prove that it is.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, or operator from `covariance`
        A symmetric matrix; it may be indefinite.
    cardinality : int
        Number of non-zeros allowed (*k*).
    time_limit : float
        Seconds after which the bracket reached so far is returned.
    gap : float
        Stop when the relative gap is proven to be at most this.
    warm_start : array of shape (n_features,), optional
        A vector to start the search for good answers from, instead of the default solver's own starts.
    on_iteration : callable, optional
        Called as ``on_iteration(iteration, vector, value)`` at iterations and nodes; if it has a method
        ``on_bracket``, that is called as ``on_bracket(iteration, low, high)`` at every node.

    Returns
    -------
    SparseEigResult
        ``certificate`` is the bracket; ``stop_reason`` is "optimal", "gap" or "time_limit"; ``settings`` holds the
        number of ``nodes`` and ``presolved_size``, the number of variables that probing left.

    Raises
    ------
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
    (3.406155, 'optimal', True)
    """
    operator = as_operator(A)
    cardinality = check_cardinality(cardinality, operator.size)
    extra = {"time_limit": check_positive(time_limit, "time_limit"), "gap": check_tolerance(gap, "gap")}
    start = "auto" if warm_start is None else check_start_vector(warm_start, operator.size)
    progress = Progress(operator.size, on_iteration)
    options = SolverOptions(start=start, progress=progress, extra=extra)
    began = time.perf_counter()
    try:
        outcome = branch_and_bound(operator, cardinality, options)
    except SolveInterrupted as stop:
        outcome = stop.result  # type: ignore[assignment]  # branch_and_bound's own, a SolverOutcome
        raise SolveInterrupted(_result(operator, cardinality, outcome, extra, began)) from None
    result = _result(operator, cardinality, outcome, extra, began)
    if result.certificate is not None:
        warn_of_rounding(operator, cardinality, result.certificate)
    return result


def _result(
    operator: Operator, cardinality: int, outcome: SolverOutcome, extra: dict[str, float], began: float
) -> SparseEigResult:
    vector = outcome.vector.spread(operator.size)
    if vector[int(np.abs(vector).argmax())] < 0.0:
        vector = -vector
    history = np.asarray(outcome.history, dtype=np.float64)
    vector.flags.writeable = history.flags.writeable = False
    return SparseEigResult(
        vector=vector,
        value=outcome.value,
        cardinality=cardinality,
        stop_reason=outcome.stop_reason,
        n_iterations=outcome.n_iterations,
        history=history,
        certificate=certify_value(operator, cardinality, outcome.vector, proven=outcome.proven),
        solver="exact",
        settings=operator.describe() | {"which": "largest", "method": "exact"} | extra | outcome.settings,
        seconds=time.perf_counter() - began,
        names=operator.names,
    )


def upper_bound(A: Any, cardinality: int, *, effort: str = "default") -> Certificate:
    """Prove how large the largest k-sparse eigenvalue of A can be.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, or operator from `covariance`
        A symmetric matrix; it may be indefinite.
    cardinality : int
        Number of non-zeros allowed (*k*).
    effort : {"cheap", "default", "tight"}
        "cheap": trace of the k largest diagonal entries (Gram and other positive semidefinite matrices), largest
        eigenvalue, row sums (Gershgorin). "default": scaled row sums and the dual of the penalised problem as well.
        "tight": that dual to convergence, and a split of A into a spectral and a row part, for up to about 10 s.

    Returns
    -------
    Certificate
        ``upper_bound`` is proven; ``lower_bound`` is reached by the answer of the default solver, which the bounds
        start from.

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
    operator = as_operator(A)
    cardinality = check_cardinality(cardinality, operator.size)
    check_choice(effort, EFFORTS, "effort")
    options = SolverOptions(progress=Progress(operator.size))
    problem = BoundProblem(operator, cardinality)
    outcome = solve_truncated_power(problem.searchable(), cardinality, options)
    certificate = certify_value(operator, cardinality, outcome.vector, effort=effort)
    if not np.isfinite(certificate.upper_bound):
        message = (
            f"no bound of effort={effort!r} applies to this {type(operator).__name__} of size {operator.size}. "
            "Use effort='default', or a matrix with smaller entries."
        )
        raise UnsupportedOperatorError(message)
    warn_of_rounding(operator, cardinality, certificate)
    return certificate
