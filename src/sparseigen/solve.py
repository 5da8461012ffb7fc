"""The way through the house: input -> operator -> solver -> certificate -> result."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates import certify as certify_value
from sparseigen.certificates.rounding_share import warn_of_rounding
from sparseigen.errors import ConvergenceWarning, OptionError, SolveInterrupted, one_of
from sparseigen.exact import EXACT_SOLVER
from sparseigen.inputs.arguments import (
    check_candidates,
    check_cardinality,
    check_choice,
    check_count,
    check_flag,
    check_method_options,
    check_rng,
    check_start_vector,
    check_tolerance,
)
from sparseigen.operators import Operator, as_operator
from sparseigen.operators.contract import Indices
from sparseigen.operators.shifted import ShiftedOperator, search_unit
from sparseigen.results import Certificate, SparseEigResult, StopReason
from sparseigen.solvers import SOLVERS, SolverOptions, SolverOutcome, check_definite, check_solver
from sparseigen.solvers.interface import OnIteration, Progress, SparseVector
from sparseigen.solvers.starts import STARTS
from sparseigen.solvers.support import recomputed_value
from sparseigen.solvers.truncated_power import POLISHES

SOLVERS["exact"] = EXACT_SOLVER  # it proves with the certificates' bounds, so it lives above the other solvers


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
    searched = problem if unit == 1.0 else ShiftedOperator(problem, sign=unit)
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
        raise OptionError(message, parameter="method")
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
