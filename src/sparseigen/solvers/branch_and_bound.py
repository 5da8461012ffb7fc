"""The exact method: presolve, then branch and bound with proven bounds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.elimination import restrict
from sparseigen.certificates.group_removal import Reduction, surround_closely
from sparseigen.certificates.portfolio import UPPER_BOUNDS, list_bounds, try_bounds
from sparseigen.certificates.problem import BoundProblem, Proven
from sparseigen.certificates.rounding import ZERO, achieved_value
from sparseigen.certificates.small_proof import SMALL_WORK, WORK_PER_ENTRY, search_small
from sparseigen.checks.arguments import check_positive, check_tolerance
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Operator, SparseVector
from sparseigen.results import Certificate, StopReason
from sparseigen.solvers.eigenpairs import recompute_value
from sparseigen.solvers.interface import KeepWhenInterrupted, SolverOptions, SolverOutcome, SolverSpec
from sparseigen.solvers.search_tree import Search
from sparseigen.solvers.truncated_power import solve_truncated_power

Numbers = NDArray[np.float64]

TIME_LIMIT, GAP = 60.0, 1e-6
KNOWN = "known bound"
"""The name in ``options.extra`` of a bound that an earlier search proved, in the units of the matrix searched."""
GROWTH, SHARE_OF_TIME = 3.0, 0.75
"""Each search over blocks has this many times the work of the one before, and takes this share of the time left at
most; what remains is for the tree of nodes, which narrows the bracket step by step."""
FEWEST_HEAVY, HEAVY = 300, 4
"""Heavy variables of the split that removes others: at least the first, and the second per variable chosen."""
MOST_HEAVY, WIDER, STEPS = 2048, 1.6, 100
"""The most heavy variables; how many times more of them, and of steps, each round has; the steps of the first."""
SHRUNK = 0.8
"""Share of the variables left, below which the question is posed again for them alone."""
STALE = 0.95
"""Share of gap and of variables left: above it a round has gained nothing."""
DUAL_SHARE = 0.2
"""Share of the time left for the dual, once, where a search is out of reach."""
MOST_HELD = 1 << 26
"""Entries of blocks that a search over blocks may hold: 512 MiB."""
OPERATIONS_PER_SECOND = 4.0e8
"""What the search over blocks does on one core: divides time, and never decides what is true."""


@dataclass
class Bracket:
    """What is known so far; kept current so that an interruption at any moment finds it."""

    operator: Operator
    cardinality: int
    vector: SparseVector
    upper: float = np.inf
    method: str = "none"
    scale: float = 0.0
    finished: bool = False
    searchable: bool = True
    """Whether few enough variables are left for a search."""
    stuck: bool = False
    """Whether nothing is left to be tried that the time allows."""
    nodes: int = 0
    survivors: int = 0
    history: list[float] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)

    def outcome(self, reason: StopReason) -> SolverOutcome:
        """The bracket as a solver's answer."""
        value = recompute_value(self.operator, self.vector)
        settings = self.limits | {"nodes": self.nodes, "presolved_size": self.survivors}
        proven = Proven(self.upper, self.method, self.scale)
        history = [*self.history, value]
        return SolverOutcome(self.vector, value, reason, self.nodes, history, settings, proven)


def branch_and_bound(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """The best k-sparse vector, with a proof.

    ``options.extra`` may hold ``time_limit`` (seconds) and ``gap`` (relative). On Ctrl-C raises SolveInterrupted whose
    ``result`` is the outcome with the bracket reached.
    """
    began = time.perf_counter()
    time_limit = check_positive(options.extra.get("time_limit", TIME_LIMIT), "time_limit")
    gap = check_tolerance(options.extra.get("gap", GAP), "gap")
    first = np.array([int(operator.diagonal().argmax())], dtype=np.int64)
    bracket = Bracket(operator, cardinality, SparseVector(first, np.ones(1)), survivors=operator.size)
    bracket.limits = {"time_limit": time_limit, "gap": gap}
    with KeepWhenInterrupted(lambda inner: bracket.outcome(StopReason.INTERRUPTED)):
        reason = _close(bracket, options, began + time_limit, gap)
    return bracket.outcome(reason)


def _close(bracket: Bracket, options: SolverOptions, deadline: float, gap: float) -> StopReason:
    problem = BoundProblem(bracket.operator, bracket.cardinality, target_gap=0.5 * gap)
    method = try_bounds(problem, ["trace"] if np.isfinite(problem.negative_part) else ["rows"])
    bracket.scale = problem.scale
    _lower(bracket, problem, problem.best, method or "none")
    known: Proven | None = options.extra.get(KNOWN)
    if known is not None and known.upper_bound < bracket.upper:
        bracket.upper, bracket.method = known.upper_bound, known.method
        problem.best = float(np.nextafter(problem.scale_value(known.upper_bound), np.inf))
    _find(bracket, problem, options)
    problem.vector = bracket.vector
    problem.achieved = problem.scale_value(achieved_value(bracket.operator, bracket.vector))
    # The split of the search is at least as good as that of the bounds, and rows from data are formed once only.
    left_out = {"split rows"} if problem.holds_matrix else {"split rows", "scaled rows"}
    best = problem.best
    method = try_bounds(problem, [name for name in list_bounds(problem.operator, "default") if name not in left_out])
    if problem.best < best:
        _lower(bracket, problem, problem.best, method or "none")
    if problem.closed or time.perf_counter() > deadline:
        return _reason(bracket, gap)
    problem.deadline = deadline
    _search(bracket, problem, options, gap)
    return _reason(bracket, gap)


def _lower(bracket: Bracket, problem: BoundProblem, upper: float, method: str) -> None:
    """Take a bound over if it is the smallest."""
    problem.best = min(problem.best, upper)
    unscaled = problem.unscale_bound(upper) if np.isfinite(upper) else np.inf
    if unscaled < bracket.upper:
        bracket.upper, bracket.method = unscaled, method


def _find(bracket: Bracket, problem: BoundProblem, options: SolverOptions) -> None:
    """The default solver's answer; an interruption leaves the best vector seen."""
    searched, progress = problem.searchable(), options.progress
    try:
        outcome = solve_truncated_power(searched, bracket.cardinality, options)
    except KeyboardInterrupt:
        if progress.best is not None and len(progress.best.indices) <= bracket.cardinality:
            bracket.vector = progress.best
        raise
    bracket.vector = outcome.vector
    if isinstance(options.start, np.ndarray):  # an answer that was handed in is not lost
        given = np.flatnonzero(options.start).astype(np.int64)
        start = SparseVector(given, options.start[given])
        if len(given) <= bracket.cardinality and recompute_value(searched, start) > outcome.value:
            bracket.vector = start
    if searched is bracket.operator:  # values of a scaled copy would say nothing
        bracket.history = outcome.history


def _search(bracket: Bracket, problem: BoundProblem, options: SolverOptions, gap: float) -> None:
    """Remove variables, search what remains over blocks, with more and more work; then the tree of nodes."""
    narrowing = Narrowing(bracket, problem, options)
    narrowing.run()
    if bracket.finished or problem.closed or not bracket.searchable:
        return
    search = Search(problem, narrowing.members, bracket.vector, gap, options.progress)
    try:
        bracket.finished = search.run(problem.deadline)
    finally:
        bracket.vector, bracket.nodes = search.incumbent, search.nodes
        bracket.survivors = search.survivors
        _lower(bracket, problem, search.upper, "branch and bound")


class Narrowing:
    """The variables that a better support can hold, fewer from round to round, and the search over their blocks.

    A round lowers a split, removes variables by it, and searches the blocks of those that remain. Where that does not
    close the bracket, a bound half way there (in the logarithm) may be proven all the same: a higher cutoff leaves
    fewer variables and takes less work.
    """

    def __init__(self, bracket: Bracket, problem: BoundProblem, options: SolverOptions) -> None:
        self.bracket, self.problem, self.options = bracket, problem, options
        self.members = np.arange(problem.size, dtype=np.int64)
        self.removed = -np.inf
        """Supports with a variable that is no member reach at most this."""
        self.question = problem
        """The problem at the members, or at some more of them."""
        self.asked = self.members
        self.reduction: Reduction | None = None
        self.dual_tried = False

    def run(self) -> None:
        """Rounds until the bracket is closed, the time is over, or they gain nothing any more."""
        problem, bracket = self.problem, self.bracket
        generosity, steps, count = GROWTH, float(STEPS), float(max(FEWEST_HEAVY, HEAVY * problem.cardinality))
        while not problem.out_of_time and SHARE_OF_TIME > 0.0:
            before = problem.best - problem.achieved, len(self.members)
            self._reduce(int(count), int(steps))
            self._report()
            work = generosity * (SMALL_WORK + WORK_PER_ENTRY * len(self.members) ** 2)
            for gap in (0.0, self._half_way()):
                few = len(self.members) < problem.cardinality
                if not (bracket.finished or problem.closed) and (few or work <= self._affordable()):
                    self._search_blocks(work, gap)
            if bracket.finished or problem.closed:
                return
            if not bracket.searchable:
                self._ascend_dual()
                if self.reduction is None:
                    bracket.stuck = True
                    return
            stale = problem.best - problem.achieved > STALE * before[0] and len(self.members) > STALE * before[1]
            if stale and bracket.searchable and work > self._affordable():
                return
            generosity, steps = GROWTH * generosity, WIDER * steps
            count = max(count, min(WIDER * count, MOST_HEAVY))

    def _reduce(self, count: int, steps: int) -> None:
        """Lower the split among so many heavy variables, and the members by what it removes."""
        problem, bracket = self.problem, self.bracket
        if len(self.members) < SHRUNK * self.question.size:
            question, kept = restrict(problem, self.members), np.searchsorted(self.asked, self.members)
            self.reduction = None if self.reduction is None else self.reduction.restricted(question, kept)
            self.question, self.asked = question, self.members
        question = self.question
        cutoff = self._cutoff(problem.target_gap)
        if self.reduction is not None:
            self.reduction.widen(count)
        elif 1 < question.cardinality < question.size:
            level = self._scale(cutoff) - question.margin * (1.0 + 1e-9)
            around = surround_closely(question, min(count, question.size), level - 1e-9 * abs(level))
            self.reduction = None if around is None else Reduction(question, around)
        if self.reduction is not None:
            upper = self.reduction.lower(steps)
            upper = problem.scale_value(question.unscale_bound(upper)) if np.isfinite(upper) else np.inf
            _lower(bracket, problem, max(upper, self.removed), "split rows")
            if not problem.closed:
                self.members = self._find_survivors(cutoff)
        if len(self.members) < problem.size:
            self.removed = max(self.removed, cutoff)
        bracket.survivors = len(self.members)
        bracket.searchable = bracket.survivors <= LARGEST_MATERIALISED

    def _search_blocks(self, work: float, gap: float) -> None:
        """The search over the blocks of the members; with a gap, of fewer, and the bound is that much higher."""
        problem, bracket = self.problem, self.bracket
        members, removed = self.members, self.removed
        if gap > 0.0:
            removed = self._cutoff(gap)
            members = self._find_survivors(removed)
        if len(members) < problem.cardinality:  # nothing better than the cutoff is left
            _lower(bracket, problem, removed, "presolve")
            bracket.finished = gap == 0.0
        elif len(members) <= LARGEST_MATERIALISED:
            upper, better = search_small(problem, work, members=members, gap=gap, most_held=MOST_HELD)
            if better is not None:
                bracket.vector = problem.vector = better
                problem.achieved = problem.scale_value(achieved_value(bracket.operator, better))
            _lower(bracket, problem, max(upper, removed), "block search")
            bracket.finished = gap == 0.0 and bool(np.isfinite(upper))
        self._report()

    def _ascend_dual(self) -> None:
        """The converged dual, which needs no rows; once."""
        problem, deadline = self.problem, self.problem.deadline
        if self.dual_tried:
            return
        now = time.perf_counter()
        problem.deadline, self.dual_tried = now + DUAL_SHARE * max(deadline - now, 0.0), True
        try:
            name = "converged penalised dual"
            _lower(self.bracket, problem, UPPER_BOUNDS[name].bound(problem), name)
        finally:
            problem.deadline = deadline
        self._report()

    def _find_survivors(self, cutoff: float) -> Indices:
        """The members that a support above the cutoff can hold."""
        if self.reduction is None:
            return self.members
        return np.intersect1d(self.asked[self.reduction.find_survivors(self._scale(cutoff))], self.members)

    def _scale(self, value: float) -> float:
        """A number of the problem in the scale of the question."""
        return self.question.scale_value(float(np.ldexp(value, self.problem.exponent)))

    def _cutoff(self, gap: float) -> float:
        achieved = self.problem.achieved
        return achieved + gap * max(abs(achieved), ZERO)

    def _affordable(self) -> float:
        """Operations that a search over blocks may take."""
        return SHARE_OF_TIME * OPERATIONS_PER_SECOND * (self.problem.deadline - time.perf_counter())

    def _half_way(self) -> float:
        """Between the gap that is open and the one that is wanted."""
        problem = self.problem
        still_open = (problem.best - problem.achieved) / max(abs(problem.achieved), ZERO)
        return float(np.sqrt(max(min(still_open, 1.0), problem.target_gap) * problem.target_gap))

    def _report(self) -> None:
        problem, bracket = self.problem, self.bracket
        lower = float(np.ldexp(problem.achieved, problem.exponent))
        self.options.progress.report_bracket(bracket.vector, lower, bracket.upper)


def _reason(bracket: Bracket, gap: float) -> StopReason:
    lower = achieved_value(bracket.operator, bracket.vector)
    reached = Certificate(lower, max(lower, bracket.upper), bracket.method, scale=bracket.scale)
    if reached.optimal and (bracket.finished or reached.relative_gap <= gap):
        return StopReason.BRACKET_CLOSED
    if reached.relative_gap <= gap:
        return StopReason.GAP
    return StopReason.COMPLETED if bracket.stuck else StopReason.TIME_LIMIT


EXACT_SOLVER = SolverSpec(branch_and_bound, needs=("accurate_columns", "submatrix"), parameters=("time_limit", "gap"))
"""The row for the table of solvers."""
