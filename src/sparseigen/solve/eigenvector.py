"""`sparse_eigenvector`, and the way from a request to its result.

`Request` checks the arguments, restricts the matrix to the candidates, gives it the sign and the scale it is searched
with, runs a solver, proves a bound, and says both in the caller's units. Every public function of `solve` makes one.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.portfolio import certify
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
from sparseigen.errors import ConvergenceWarning, OptionError, UnsupportedOperatorError, one_of
from sparseigen.operators.build import as_operator
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Operator, computed_once, scale_exponent
from sparseigen.operators.wrapped import scale_operator
from sparseigen.results import Certificate, SparseEigResult, Stage, StopReason
from sparseigen.solvers import SOLVERS
from sparseigen.solvers.eigenpairs import recompute_value
from sparseigen.solvers.interface import (
    EFFORTS,
    KeepWhenInterrupted,
    OnIteration,
    Progress,
    SolverOptions,
    SolverOutcome,
    SolverSpec,
)
from sparseigen.solvers.reduced import solve_reduced
from sparseigen.solvers.starts import STARTS
from sparseigen.solvers.steered import BOUND_EFFORTS, proof_seconds, solve_steered
from sparseigen.solvers.truncated_power import POLISHES

AS_NEEDED = "auto"
"""The `polish` of those who leave the search to the proof."""
WHICH = ("largest", "smallest")
"""The ends of the spectrum that can be asked for."""


def sparse_eigenvector(
    A: Any,
    cardinality: int,
    *,
    which: str = "largest",
    metric: Any = None,
    ridge: float = 0.0,
    method: str = "tpower",
    start: Any = None,
    polish: str | None = "auto",
    nonnegative: bool = False,
    candidates: Any = None,
    rtol: float = 1e-7,
    atol: float = 0.0,
    max_iterations: int = 1000,
    certify: bool = True,
    effort: str = "default",
    time_limit: float | None = None,
    rng: Any = None,
    on_iteration: OnIteration | None = None,
    method_options: Mapping[str, Any] | None = None,
) -> SparseEigResult:
    """Find the unit vector with at most k non-zeros that makes x'Ax largest (or smallest).

    With ``metric`` the quotient x'Ax / x'Bx is meant: canonical correlations, discriminants, slow modes.

    Parameters
    ----------
    A : array, scipy sparse matrix, DataFrame, LinearOperator, or operator from `covariance`
        A symmetric matrix. For data pass ``covariance(X)``.
    cardinality : int
        Number of non-zeros allowed (*k* of the paper).
    which : {"largest", "smallest"}
        Which end of the spectrum.
    metric : array, scipy sparse matrix, DataFrame, or operator, optional
        B, positive definite, of the size of A. The result's ``value`` is then x'Ax / x'Bx of its vector, which has unit
        length as always; divide it by sqrt(x'Bx) where x'Bx = 1 is wanted.
    ridge : float
        Added to the diagonal of the metric. A metric that is singular, or so nearly that rounding would take every
        digit of a proof, is refused without one.
    method : str
        The solver, a name in the table of methods.
    start : {"auto", "max-variance", "top-k-variance", "warm", "backward", "columns", "random"} or array, optional
        Where to start. "max-variance" is the paper's; "auto" also lets many others race. Instead of an array
        an earlier answer may be given. By default as many starts are tried as the proof asks for: see ``effort``.
    polish : {"auto", "swap", "solve", None}
        What to do with the answer of the power method: exchange variables while the value rises, only solve
        exactly on the support found, or nothing. ``start="max-variance", polish=None`` is Algorithm 1 of the
        paper, iterate by iterate. "auto" is "swap", as far as the proof asks for it. A caller who names ``start`` or
        ``polish`` gets exactly that, and ``effort`` is that of the bound alone.
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
    effort : {"quick", "default", "thorough"}
        The stages plain run, bound, dual ascent, more starts, swaps, further bounds and branch and bound follow one
        another until the answer is proven optimal. "quick" ends after the first bound, "default" keeps every stage
        within a budget, "thorough" carries all of them to their end, for up to about 20 s.
    time_limit : float, optional
        Seconds after which the best answer and bracket so far are returned, with ``stop_reason`` "time_limit".
        Without one the answer does not depend on the clock.
    rng : None, int or numpy.random.Generator
        For ``start="random"``; None is seed 0.
    on_iteration : callable, optional
        Called as ``on_iteration(iteration, vector, value)``; `progress_bar` makes one. If it has a method
        ``on_stage``, that is called with the name of every stage that begins.
    method_options : mapping, optional
        The method's own parameters by name, for example ``{"gamma": 0.3}`` for "gpower-l1". Methods other than
        "tpower" have their own start and end, and do not use ``start`` and ``polish``; what they used instead is
        in the result's settings.

    Returns
    -------
    SparseEigResult

    Raises
    ------
    NotDefiniteError
        If the metric, with its ridge, is not proven positive definite.
    SolveInterrupted
        On Ctrl-C; a KeyboardInterrupt whose ``result`` is the best answer so far, with the bracket so far.

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
    options: dict[str, Any] = {
        "which": which,
        "method": method,
        "start": start,
        "polish": polish,
        "nonnegative": nonnegative,
        "candidates": candidates,
        "rtol": rtol,
        "atol": atol,
        "max_iterations": max_iterations,
        "effort": effort,
        "time_limit": time_limit,
        "rng": rng,
        "on_iteration": on_iteration,
        "method_options": method_options,
    }
    if metric is None:
        refuse_ridge(ridge)
        request = Request(A, **options)
    else:
        from sparseigen.solve.generalised import PencilRequest  # which is a Request itself

        request = PencilRequest(A, metric, ridge=ridge, **options)
    certify = check_flag(certify, "certify")
    return request.answer(request.check_cardinality(cardinality), certify=certify)


SAME = 1e-12
"""Relative difference up to which the solver's value is that of its vector."""


class Request:
    """A checked question: which sparse vector makes x'Ax largest, or smallest.

    ``operator`` is the caller's matrix, ``problem`` its part at the candidates, ``searched`` that part times ``unit``:
    solvers and bounds see ``searched`` and look for its largest sparse eigenvalue; results speak of ``operator``.
    """

    def __init__(
        self,
        A: Any,
        *,
        which: str = "largest",
        method: str = "tpower",
        start: Any = None,
        polish: str | None = "auto",
        nonnegative: bool = False,
        candidates: Any = None,
        rtol: float = 1e-7,
        atol: float = 0.0,
        max_iterations: int = 1000,
        effort: str = "default",
        time_limit: float | None = None,
        rng: Any = None,
        on_iteration: OnIteration | None = None,
        method_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.operator: Operator = as_operator(A)
        self.allowed = check_candidates(candidates, self.operator.size, self.operator.names)
        self.problem = self.operator if self.allowed is None else self.operator.restricted(self.allowed)
        self.which: str = check_choice(which, WHICH, "which")
        self.method = method
        nonnegative = check_flag(nonnegative, "nonnegative")
        self.spec = check_solver(method, self.problem, nonnegative=nonnegative)
        if on_iteration is not None and not callable(on_iteration):
            message = f"on_iteration={on_iteration!r} must be a function (iteration, vector, value) or None."
            raise OptionError(message)
        reported = _report_in_full(on_iteration, self.allowed, self.operator.size)
        check_choice(polish, (AS_NEEDED, *POLISHES), "polish")
        self.time_limit = None if time_limit is None else check_positive(time_limit, "time_limit")
        named = start is not None or polish != AS_NEEDED
        default = solve_reduced if self.problem.size > LARGEST_MATERIALISED else solve_steered
        self.solve = default if method == "tpower" and not named else self.spec.solve
        self.options = SolverOptions(
            start="auto" if start is None else _check_start(start, self.operator.size, self.allowed),
            polish="swap" if polish == AS_NEEDED else polish,
            nonnegative=nonnegative,
            rtol=check_tolerance(rtol, "rtol"),
            atol=check_tolerance(atol, "atol"),
            max_iterations=check_count(max_iterations, "max_iterations"),
            effort=check_choice(effort, EFFORTS, "effort"),
            rng=None if rng is None else check_rng(rng),
            progress=Progress(self.problem.size, reported, lambda value: value / self.unit),
            extra=check_method_options(method_options, self.spec.parameters, method),
        )
        if self.time_limit is not None and "time_limit" in self.spec.parameters:
            self.options.extra.setdefault("time_limit", self.time_limit)

    def check_cardinality(self, cardinality: Any, *, subject: str = "cardinality") -> int:
        """The cardinality as an int between 1 and the number of variables that may be chosen."""
        of = "variables" if self.allowed is None else "candidates"
        return check_cardinality(cardinality, self.problem.size, subject=subject, of=of)

    @computed_once
    def unit(self) -> float:
        """What the matrix is multiplied with for the search: -1 for the smallest end, a power of two where extreme."""
        return find_search_unit(self.problem, self.which)

    @computed_once
    def searched(self) -> Operator:
        """The matrix that solvers and bounds see; refused where the method is not defined for it."""
        searched = scale_for_search(self.problem, self.unit)
        check_definite(self.method, searched)
        return searched

    def answer(self, cardinality: int, *, certify: bool = True) -> SparseEigResult:
        """Solve and prove. On Ctrl-C raises SolveInterrupted with the best answer so far."""
        began = time.perf_counter()
        self.begin()
        result: SparseEigResult | None = None
        with KeepWhenInterrupted(lambda inner: result or self._find_best(inner, cardinality, began)):
            outcome = self.solve(self.searched, cardinality, replace(self.options, certify=certify))
            seconds = time.perf_counter() - began - proof_seconds(outcome.stages)
            result = self.build_result(outcome, cardinality, seconds)
            if outcome.stop_reason is StopReason.ITERATION_LIMIT:
                self.warn_of_limit()
            if not certify:
                return result
            found = time.perf_counter()
            proof = self.prove(outcome, cardinality, effort=BOUND_EFFORTS[self.options.effort])
        warn_of_rounding(self.problem, cardinality, proof)
        if outcome.proven is None:
            bound = proof.upper_bound if self.unit > 0.0 else proof.lower_bound
            stage = Stage("bound", time.perf_counter() - found, result.value, bound)
            result = replace(result, stages=(*result.stages, stage))
        return attach_proof(result, proof)

    def begin(self) -> None:
        """The time limit begins now."""
        deadline = math.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        self.options = replace(self.options, deadline=deadline)

    def bound(self, cardinality: int, *, effort: str) -> Certificate:
        """The bracket alone, from the default solver's answer; refused where no bound applies."""
        proof = self.bracket(cardinality, effort=effort)
        if not (math.isfinite(proof.lower_bound) and math.isfinite(proof.upper_bound)):
            message = (
                f"no bound of effort={effort!r} applies to this {type(self.operator).__name__} of size "
                f"{self.operator.size}. Use effort='default', or a matrix with smaller entries."
            )
            raise UnsupportedOperatorError(message)
        warn_of_rounding(self.problem, cardinality, proof)
        return proof

    def bracket(self, cardinality: int, *, effort: str = "default") -> Certificate:
        """What the solver reaches and what is proven; an end that nothing proves is infinite."""
        return self.prove(self.spec.solve(self.searched, cardinality, self.options), cardinality, effort=effort)

    def build_result(self, outcome: SolverOutcome, cardinality: int, seconds: float) -> SparseEigResult:
        """A solver's outcome in the caller's units and variables, without a certificate."""
        vector = np.zeros(self.operator.size)
        indices = outcome.vector.indices
        vector[indices if self.allowed is None else self.allowed[indices]] = outcome.vector.weights
        if not self.options.nonnegative and vector[int(np.abs(vector).argmax())] < 0.0:
            vector = -vector  # the entry of largest magnitude is positive, so that signs are reproducible
        history = np.asarray(outcome.history, dtype=np.float64) / self.unit
        vector.flags.writeable = history.flags.writeable = False
        stages = outcome.stages or (
            Stage("search", seconds, outcome.value, None if outcome.proven is None else outcome.proven.upper_bound),
        )
        gaps = getattr(self.operator, "gaps", None)
        missing = {} if gaps is None else gaps.tell(np.flatnonzero(vector), self.operator.names)
        return SparseEigResult(
            vector=vector,
            value=self._recompute(outcome) / self.unit,
            cardinality=cardinality,
            stop_reason=outcome.stop_reason,
            n_iterations=outcome.n_iterations,
            history=history,
            certificate=None,
            solver=self.method,
            settings=self._list_settings() | outcome.settings | missing,
            seconds=seconds,
            names=self.operator.names,
            stages=tuple(
                replace(
                    stage, value=stage.value / self.unit, bound=None if stage.bound is None else self._end(stage.bound)
                )
                for stage in stages
            ),
        )

    def _recompute(self, outcome: SolverOutcome) -> float:
        """What the vector reaches, where eigenvalues may have lost digits to entries larger than they are.

        Of a semidefinite matrix no entry of a block is larger than its largest eigenvalue. Where entries come in passes
        or from a device the solver's own value stays.
        """
        costs = self.searched.costs
        if self.searched.positive_semidefinite or costs.columns_per_pass is not None or costs.transfers:
            return outcome.value
        value = recompute_value(self.searched, outcome.vector) / float(outcome.vector.weights @ outcome.vector.weights)
        return value if abs(value - outcome.value) > SAME * abs(value) else outcome.value

    def prove(self, outcome: SolverOutcome, cardinality: int, *, effort: str = "default") -> Certificate:
        """The bracket around the optimum, from the vector found and the bounds of this effort."""
        found = certify(
            self.searched,
            cardinality,
            outcome.vector,
            effort=effort,
            deadline=self.options.deadline,
            proven=outcome.proven,
            say=self.options.progress.begin_stage,
        )
        return self.restate(found)

    def _end(self, upper: float) -> float:
        """An upper bound of the matrix searched as the proven end for the caller's matrix."""
        end = upper / self.unit
        return end if abs(self.unit) == 1.0 else math.nextafter(end, math.copysign(math.inf, self.unit))

    def restate(self, found: Certificate) -> Certificate:
        """A bracket of the matrix searched as one of the caller's matrix."""
        low, high = sorted([found.lower_bound / self.unit, found.upper_bound / self.unit])
        if abs(self.unit) != 1.0:  # a power of two divides exactly, except where the quotient is denormal
            low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
        return replace(found, lower_bound=low, upper_bound=high, scale=found.scale / abs(self.unit))

    def _find_best(self, inner: object, cardinality: int, began: float) -> SparseEigResult | None:
        """The best answer of an interrupted solve. ``inner``: the outcome of a solver that kept its bracket."""
        seconds = time.perf_counter() - began
        if isinstance(inner, SolverOutcome):
            kept = self.build_result(inner, cardinality, seconds)
            return kept if inner.proven is None else attach_proof(kept, self.prove(inner, cardinality))
        progress = self.options.progress
        if progress.best is None:
            return None
        value = recompute_value(self.searched, progress.best)
        outcome = SolverOutcome(progress.best, value, StopReason.INTERRUPTED, progress.iterations, [value])
        return self.build_result(outcome, cardinality, seconds)

    def warn_of_limit(self) -> None:
        """Warn that a run ended at max_iterations; shown where a public function's helper was asked from."""
        message = (
            f"stopped at max_iterations={self.options.max_iterations} before the objective settled; the answer is "
            "valid but may improve. Raise max_iterations, or use polish='swap'."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def _list_settings(self) -> dict[str, Any]:
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


def attach_proof(result: SparseEigResult, proof: Certificate) -> SparseEigResult:
    """The result with its bracket, and with its value inside.

    What the vector reaches is inside the bracket, certainly. A value as computed can miss that by its own rounding,
    which is that of the largest entries: of a smallest eigenvalue near zero no digit may be left.
    """
    value = min(max(result.value, proof.lower_bound), proof.upper_bound)
    return replace(result, value=value, certificate=proof)


def find_search_unit(operator: Operator, which: str) -> float:
    """What A is multiplied with before the search: -1 for the smallest end, and a power of two for extreme scales."""
    sign = 1.0 if which == "largest" else -1.0
    power = min(-scale_exponent(operator.magnitude), 1000)  # 1 / a denormal number is none
    return math.ldexp(sign, power - power % 2)  # even: a factor is multiplied with the root


def scale_for_search(problem: Operator, unit: float) -> Operator:
    """The matrix times the unit of its search."""
    if unit == 1.0:
        return problem
    searched = scale_operator(problem, unit)
    if unit < 0.0 and problem.positive_semidefinite:
        searched.positive_semidefinite = False
    return searched


def refuse_ridge(ridge: Any) -> None:
    """A ridge is added to a metric; without one it would be forgotten silently."""
    if check_tolerance(ridge, "ridge") > 0.0:
        message = f"ridge={ridge!r} is added to the diagonal of metric=, and there is none. Leave it out."
        raise OptionError(message, parameter="ridge")


def check_solver(method: object, operator: Operator, *, nonnegative: bool) -> SolverSpec:
    """The solver of that name, if it exists and accepts this operator and these wishes."""
    if not isinstance(method, str) or method not in SOLVERS:
        message = f"method={method!r} is not known. Allowed: {one_of(SOLVERS)}."
        raise OptionError(message, parameter="method")
    spec = SOLVERS[method]
    missing = [name for name in spec.needs if not hasattr(operator, name)]
    if missing:
        accepting = [name for name, solver in SOLVERS.items() if all(hasattr(operator, n) for n in solver.needs)]
        message = (
            f"solver {method!r} needs {type(operator).__name__}.{missing[0]}, which it does not have. "
            f"Solvers that accept this operator: {', '.join(sorted(accepting)) or 'none'}."
        )
        raise UnsupportedOperatorError(message)
    if nonnegative and not spec.supports_nonnegative:
        able = sorted(name for name, solver in SOLVERS.items() if solver.supports_nonnegative)
        message = f"method={method!r} cannot keep loadings nonnegative. Methods that can: {', '.join(able)}."
        raise OptionError(message, parameter="method")
    return spec


def check_definite(method: str, operator: Operator) -> None:
    """Refuse a matrix seen to be indefinite where the method is defined for covariances only."""
    if not SOLVERS[method].needs_psd or operator.positive_semidefinite:
        return
    diagonal = operator.diagonal()
    if operator.positive_semidefinite is False or float(diagonal.min()) < -1e-10 * float(abs(diagonal).max()):
        able = sorted(name for name, solver in SOLVERS.items() if not solver.needs_psd)
        message = (
            f"method={method!r} is defined for covariance (positive semidefinite) matrices only, and this matrix is "
            f"indefinite. Methods for every symmetric matrix: {', '.join(able)}."
        )
        raise UnsupportedOperatorError(message)


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


def _report_in_full(on_iteration: OnIteration | None, allowed: Indices | None, size: int) -> OnIteration | None:
    """The caller's callback, seeing vectors of full length even when the search runs over candidates."""
    if on_iteration is None or allowed is None:
        return on_iteration

    def report(iteration: int, vector: NDArray[np.float64], value: float) -> None:
        full = np.zeros(size)
        full[allowed] = vector
        on_iteration(iteration, full, value)

    for hook in ("on_part", "on_stage", "on_bracket"):
        if hasattr(on_iteration, hook):
            setattr(report, hook, getattr(on_iteration, hook))
    return report
