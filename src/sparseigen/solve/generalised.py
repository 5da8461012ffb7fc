"""The generalised problem, x'Ax / x'Bx with few non-zeros: request, search, proof, result.

The quotient t is reached if and only if the largest k-sparse eigenvalue of A - tB is not negative. That is used twice:
a search for x'(A - tB)x that ends above zero raises t (Dinkelbach's iteration), and a proof that it cannot be so
bounds every quotient by t. `PencilRequest` is a `Request` that goes this way; the public functions make one when they
are given ``metric=``, the estimators for canonical correlations and discriminants always.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from sparseigen.certificates.pencil import NARROW, Pencil, Quota, refuse_range
from sparseigen.checks.arguments import check_tolerance
from sparseigen.errors import OptionError, ShapeError
from sparseigen.operators.build import as_operator
from sparseigen.operators.combined import CombinedOperator, form
from sparseigen.operators.contract import Operator, SparseVector, computed_once
from sparseigen.results import Certificate, SparseEigResult, Stage, StopReason
from sparseigen.solve.eigenvector import Request
from sparseigen.solvers.branch_and_bound import GAP, OPERATIONS_PER_SECOND, TIME_LIMIT
from sparseigen.solvers.interface import KeepWhenInterrupted, Progress, SolverOutcome
from sparseigen.solvers.pencil_search import PencilSearch

CLOSE = 0.4
"""How far above the value a bound is tried first, as a share of the gap that counts as closed."""
SEARCH_WORK = {"quick": 4.0e6, "default": 1.0e8, "thorough": 5.0e9}
"""Operations of one search over blocks, besides PER_ENTRY of them per entry of the matrix."""
PER_ENTRY = 80.0
HALVINGS = {"quick": 2, "default": 6, "thorough": 8}
"""Bounds that are tried between the value and the first one found."""
SEEDS = {"quick": 1, "default": 6, "thorough": 12}
"""Searches from single variables or pairs."""
DINKELBACH_STEPS = 20
GROWTH = 4.0
"""How many times more work each round of the exact search has."""


class PencilRequest(Request):
    """A checked question about x'Ax / x'Bx; ``boundary`` splits the variables into two groups, each with its number."""

    def __init__(
        self, A: Any, metric: Any, *, ridge: float = 0.0, boundary: int | None = None, gap: float = GAP, **options: Any
    ) -> None:
        super().__init__(A, **options)
        if self.options.nonnegative:
            message = "nonnegative=True is not for a metric; leave one of the two out."
            raise OptionError(message, parameter="nonnegative")
        if self.spec.needs_psd:
            message = (
                f"method={self.method!r} needs a covariance, and A - tB is none. Use 'tpower', 'exact' or 'rifle'."
            )
            raise OptionError(message, parameter="method")
        self.ridge, self.boundary, self.gap = check_tolerance(ridge, "ridge"), boundary, gap
        self.metric = check_metric(metric, self.operator, self.ridge)
        if self.allowed is not None:
            self.metric = self.metric.restricted(self.allowed)
        self.upper, self.proof_method = math.inf, "none"

    def pose(self, quota: Quota) -> None:
        """The pencil of this question; the metric is proven positive definite here."""
        self.pencil = Pencil(self.problem, self.metric, quota, unit=1.0 if self.which == "largest" else -1.0)

    @computed_once
    def unit(self) -> float:
        """What A is multiplied with for the search."""
        return self.pencil.unit

    def answer(self, cardinality: int, *, certify: bool = True, others: int = 0) -> SparseEigResult:
        """Solve and prove. On Ctrl-C raises SolveInterrupted with the best answer so far."""
        began = time.perf_counter()
        self.begin()
        self.pose(Quota(cardinality, others, self.boundary))
        size = self.problem.size
        self.options = replace(
            self.options, progress=Progress(size, self.options.progress.on_iteration, self._in_units)
        )
        search = PencilSearch(self.pencil, self.options.progress.report)
        reason, certificate = StopReason.INTERRUPTED, None
        stages: list[Stage] = []
        self.own: SolverOutcome | None = None

        def build() -> SparseEigResult | None:
            if not len(search.support):
                return None
            return self._build(search, reason, certificate, stages, began, certify)

        with KeepWhenInterrupted(lambda inner: build()):
            self._find(search)
            if not math.isfinite(search.value / self.pencil.unit):
                raise refuse_range()
            stages.append(Stage("search", time.perf_counter() - began, search.value, None))
            reason = self.own.stop_reason if self.own else StopReason.FIXED_POINT
            if self.out_of_time:
                reason = StopReason.TIME_LIMIT
            if certify:
                proving = time.perf_counter()
                reason = self._prove(search, reason)
                certificate = self._certify(search)
                stages.append(Stage("bound", time.perf_counter() - proving, search.value, certificate.upper_bound))
            result = build()
        assert result is not None  # a search without a time limit ends with a support
        return result

    @property
    def out_of_time(self) -> bool:
        """Whether the caller's time is over."""
        return self.options.out_of_time

    def _in_units(self, value: float) -> float:
        return value / self.pencil.unit

    def _find(self, search: PencilSearch) -> None:
        """The best support of the method asked for; of the default one, exchanges from several starts."""
        if self.spec.takes_metric:
            self._solve_directly(search)
            return
        given = self.options.start
        if isinstance(given, np.ndarray):
            search.climb(search.fill(search.truncate(np.where(given != 0.0, given / self.pencil.scales, 0.0))))
        improves = self.method in ("tpower", "exact")
        for number, seed in enumerate(search.seeds()):
            if number >= self._count_seeds() or (number and self.out_of_time):
                break
            if not improves:
                search.take(seed)
                break
            search.climb(search.fill(seed))
        if improves and self.pencil.held and (self.pencil.size <= NARROW or self.options.effort == "thorough"):
            search.climb(search.truncate(self.pencil.whole[1]))
        if self.boundary is None:
            self._iterate(search, improves)
        if improves and self.options.effort != "quick":
            search.climb(search.support, every=True)

    def _count_seeds(self) -> int:
        """Fewer searches where each is dear: one in a matrix that is not small."""
        return SEEDS[self.options.effort] if self.pencil.size <= NARROW else max(1, SEEDS[self.options.effort] // 3)

    def _solve_directly(self, search: PencilSearch) -> None:
        """A method with a metric of its own; its vector is the answer, as it is."""
        scales = self.pencil.scales
        parts = (self.pencil.form, self.pencil.metric)
        operators: list[Operator] = [CombinedOperator([(1.0, part)], scales=scales) for part in parts]
        if self.pencil.held:
            operators = [form(operator) for operator in operators]
        options = replace(self.options, metric=operators[1], progress=Progress(self.pencil.size))
        self.own = self.spec.solve(operators[0], self.pencil.quota.total, options)
        search.take(self.own.vector.indices)

    def _iterate(self, search: PencilSearch, improves: bool) -> None:
        """Dinkelbach's iteration: the method makes x'(A - tB)x large at the t reached, which raises t."""
        solver = self.spec if self.method != "exact" else None
        for _ in range(DINKELBACH_STEPS):
            if self.out_of_time or solver is None:
                return
            before = search.value
            operator = self.pencil.at(before)
            options = replace(
                self.options,
                progress=Progress(self.pencil.size),
                certify=False,
                start=self._spread(search),
                polish="solve" if improves else self.options.polish,
            )
            found = solver.solve(form(operator) if self.pencil.held else operator, self.pencil.quota.total, options)
            if improves:
                search.climb(search.fill(found.vector.indices))
            else:
                search.take(found.vector.indices)
            if not search.value > before:
                return

    def _spread(self, search: PencilSearch) -> Any:
        start = np.zeros(self.pencil.size)
        start[search.support] = search.solve(search.support)[1]
        return start / np.linalg.norm(start)

    def _size(self, value: float) -> float:
        """What gaps at a value are relative to."""
        return max(abs(value), 1e-9 * self.pencil.scale)

    def _prove(self, search: PencilSearch, reason: StopReason) -> StopReason:
        if not self.pencil.held:
            self._prove_by_products(search)
            return reason
        effort, size = self.options.effort, self.pencil.size
        work = SEARCH_WORK[effort] + PER_ENTRY * float(size) ** 2
        if self.method != "exact":
            self._prove_by_search(search, work, HALVINGS[effort])
            return reason
        limit = self.options.extra.get("time_limit", TIME_LIMIT)
        deadline = min(self.options.deadline, time.perf_counter() + limit)
        while True:
            closed = self._prove_by_search(search, work, 1)
            gap = (self.upper - search.value) / self._size(search.value)
            if closed or gap <= self.gap:  # what is left after a proof just above the value is rounding
                return StopReason.BRACKET_CLOSED if gap <= GAP else StopReason.GAP
            left = (deadline - time.perf_counter()) * OPERATIONS_PER_SECOND
            if left <= 0.0 or work >= left:
                return StopReason.TIME_LIMIT
            work = min(work * GROWTH, left)

    def _prove_by_search(self, search: PencilSearch, work: float, halvings: int) -> bool:
        """A bound just above the value (True); else that of all variables together, then others in between."""
        margin = CLOSE * self.gap * self._size(search.value)
        while True:
            value = search.value
            if self._try(search, value + margin, work):
                return True
            if not search.value > value:
                break
        if self.proof_method == "none":
            self._lower(self.pencil.bound_whole(), "largest quotient")
            if self.pencil.form.negative_part == 0.0 and self.options.effort != "quick":
                self._lower(self.pencil.bound_products(0.0, None), "sparse eigenvalue of A")
        low, high = margin, self.upper - search.value
        if not math.isfinite(high):
            low, high = self._widen(search, margin, work)
        for _ in range(halvings):
            if not high > 4.0 * low or self.out_of_time:
                break
            middle = math.sqrt(low * high)
            if self._try(search, search.value + middle, work):
                high = min(self.upper - search.value, middle)
            else:
                low = middle
        return False

    def _widen(self, search: PencilSearch, margin: float, work: float) -> tuple[float, float]:
        """Where even the largest quotient is not proven: margins that grow until one is."""
        while margin < 1e3 * self._size(search.value):
            wider = 10.0 * margin
            if self._try(search, search.value + wider, work):
                return margin, wider
            margin = wider
        return margin, margin

    def _try(self, search: PencilSearch, t: float, work: float) -> bool:
        """Whether nothing is above t; a support that is becomes the answer."""
        left = max(self.options.deadline - time.perf_counter(), 0.0) * OPERATIONS_PER_SECOND
        found = self.pencil.search(t, min(work, left))
        if found.better is not None:
            search.climb(found.better)
            return False
        return self._lower(found.upper, "block search")

    def _lower(self, upper: float, method: str) -> bool:
        if upper < self.upper:
            self.upper, self.proof_method = upper, method
        return math.isfinite(upper)

    def _prove_by_products(self, search: PencilSearch) -> None:
        """Bounds on sparse eigenvalues of A - tB at a few t, for matrices too large to be held."""
        margin = CLOSE * self.gap * self._size(search.value)
        vector = SparseVector(search.support, search.solve(search.support)[1])
        for t in (0.0, search.value + margin):
            self._lower(self.pencil.bound_products(t, vector), "bounds of A - tB")
        for _ in range(HALVINGS[self.options.effort] // 2):
            if not math.isfinite(self.upper) or self.out_of_time:
                return
            middle = 0.5 * (search.value + self.upper)
            self._lower(self.pencil.bound_products(middle, vector), "bounds of A - tB")

    def _certify(self, search: PencilSearch) -> Certificate:
        vector = self._vector(search)
        reached = self.pencil.measure(vector)[1]
        return Certificate(reached, max(reached, self.upper), self.proof_method, scale=self.pencil.scale)

    def _vector(self, search: PencilSearch) -> SparseVector:
        """The answer: the method's own vector, or the best on the support found."""
        if self.own is None or search.value > self._own_value() * (1.0 + 1e-6):
            return search.best_vector()
        weights = self.own.vector.weights * self.pencil.scales[self.own.vector.indices]
        return SparseVector(self.own.vector.indices, weights / np.linalg.norm(weights))

    def _recompute(self, outcome: SolverOutcome) -> float:
        """The quotient, which `_build` has measured; the form x'Ax of the base class would be another number."""
        return outcome.value

    def _own_value(self) -> float:
        return -math.inf if self.own is None else self.own.value

    def _build(
        self,
        search: PencilSearch,
        reason: StopReason,
        certificate: Certificate | None,
        stages: list[Stage],
        began: float,
        certify: bool,
    ) -> SparseEigResult:
        vector = self._vector(search)
        quota = self.pencil.quota
        settings = {"metric": type(self.metric).__name__, "ridge": self.ridge, "definite": self.pencil.definite}
        if self.own is not None:
            settings |= self.own.settings
        if self.boundary is not None:
            settings |= {"cardinalities": (quota.picks, quota.others), "boundary": self.boundary}
        history = search.history if self.own is None else self.own.history
        count = search.rounds if self.own is None else self.own.n_iterations
        value = self.pencil.measure(vector)[0]
        seconds = stages[0].seconds if stages else time.perf_counter() - began
        outcome = SolverOutcome(vector, value, reason, count, history, settings, stages=tuple(stages))
        result = self.build_result(outcome, quota.total, seconds)
        return result if certificate is None else replace(result, certificate=self.restate(certificate))


def check_metric(metric: Any, operator: Operator, ridge: float) -> Operator:
    """B as an operator of the size of A, with the ridge on its diagonal."""
    checked = as_operator(metric)
    if checked.size != operator.size:
        message = f"metric has {checked.size} variables and A has {operator.size}; they must be of one size."
        raise ShapeError(message, parameter="metric")
    return checked.shifted(ridge) if ridge > 0.0 else checked


def prove_again(pencil: Pencil, claimed: float, deadline: float) -> tuple[float, str]:
    """A bound of the pencil's quotients at or below a claimed one, if time allows; and how it was proven.

    A proof at t gives a bound that is larger by what rounding can hide; t is chosen so that this ends at the claim.
    """
    if not pencil.held:
        return min((pencil.bound_products(t, None), "bounds of A - tB") for t in (0.0, claimed))
    hidden = pencil.search(claimed, 0.0).allowance
    best, how = pencil.bound_whole(), "largest quotient"
    work = SEARCH_WORK["default"] + PER_ENTRY * float(pencil.size) ** 2
    while best > claimed and time.perf_counter() < deadline:
        found = pencil.search(claimed - hidden, min(work, OPERATIONS_PER_SECOND * (deadline - time.perf_counter())))
        if found.upper < best:
            best, how = found.upper, "block search"
        if found.better is not None:
            break
        work *= GROWTH
    return best, how
