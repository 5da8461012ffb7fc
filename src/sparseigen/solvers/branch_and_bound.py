"""The exact method: presolve, then branch and bound with proven bounds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.portfolio import smallest_bound
from sparseigen.certificates.problem import BoundProblem, Proven
from sparseigen.certificates.rounding import ZERO, achieved_value
from sparseigen.certificates.scaled_rows import (
    find_removable,
    form_rows,
    improve_weights,
    row_bound,
    starting_weights,
)
from sparseigen.certificates.small_proof import SMALL_WORK, WORK_PER_ENTRY, search_small
from sparseigen.checks.arguments import check_positive, check_tolerance
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Operator, SparseVector
from sparseigen.results import Certificate, StopReason
from sparseigen.solvers.eigenpairs import recompute_value
from sparseigen.solvers.interface import KeepWhenInterrupted, SolverOptions, SolverOutcome, SolverSpec
from sparseigen.solvers.search_tree import Search
from sparseigen.solvers.truncated_power import solve_truncated_power

Numbers = NDArray[np.float64]

MOST_ROWS_ABOVE = 512
"""With more rows above the cutoff than this, a whole-matrix probe from products is not tried."""


def find_survivors(problem: BoundProblem, cutoff: float, passes: int) -> Indices:
    """The variables that remain after probing from row blocks; used where the matrix is too large to be held.

    The same rule as at the nodes of the search, but only the rows above the cutoff are read again.
    """
    everything = np.arange(problem.size, dtype=np.int64)
    if problem.dense is not None:
        return everything
    weights = starting_weights(problem)
    alive = np.ones(problem.size, dtype=bool)
    for _ in range(passes):
        rows, least = form_rows(problem, weights)
        above = np.flatnonzero(rows > cutoff)
        if 0 < above.size <= MOST_ROWS_ABOVE:
            products = np.vstack([np.abs(block) for _, block in problem.blocks(above)]) * weights
            alive &= (rows > cutoff) | ~find_removable(rows[above], least[above], weights[above], products, cutoff)
        elif above.size == 0:
            alive[:] = False
        if alive.sum() <= LARGEST_MATERIALISED:
            break
        weights = improve_weights(weights, rows)
    return everything[alive]


TIME_LIMIT, GAP = 60.0, 1e-6
PRESOLVE_PASSES = 4
GROWTH, SHARE_OF_TIME = 3.0, 0.75
"""Each search over blocks has this many times the work of the one before, and takes this share of the time left at
most; what remains is for the tree of nodes, which narrows the bracket step by step."""
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
    problem.best = row_bound(problem)
    bracket.upper, bracket.method, bracket.scale = problem.unscale_bound(problem.best), "rows", problem.scale
    _find(bracket, problem, options)
    problem.vector = bracket.vector
    problem.achieved = problem.scale_value(achieved_value(bracket.operator, bracket.vector))
    upper, method = smallest_bound(problem, "default")
    if upper < bracket.upper:
        bracket.upper, bracket.method = upper, method
    if problem.closed or time.perf_counter() > deadline:
        return _reason(bracket, gap)
    _search(bracket, problem, options, deadline, gap)
    return _reason(bracket, gap)


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
    if searched is bracket.operator:  # values of a scaled copy would say nothing
        bracket.history = outcome.history


def _search(bracket: Bracket, problem: BoundProblem, options: SolverOptions, deadline: float, gap: float) -> None:
    cutoff = problem.achieved + 0.5 * gap * max(abs(problem.achieved), ZERO)
    alive = find_survivors(problem, cutoff, PRESOLVE_PASSES)
    bracket.survivors = len(alive)
    if len(alive) > LARGEST_MATERIALISED:
        bracket.searchable = False  # too large to search; the root's bracket stands
        return
    if len(alive) < bracket.cardinality:  # nothing better than the cutoff is left
        bracket.upper, bracket.method = min(bracket.upper, problem.unscale_bound(cutoff)), "presolve"
        return
    if _search_blocks(bracket, problem, alive, cutoff, options, deadline):
        return
    search = Search(problem, alive, bracket.vector, gap, options.progress)
    try:
        bracket.finished = search.run(deadline)
    finally:
        bracket.vector, bracket.nodes = search.incumbent, search.nodes
        bracket.survivors = search.survivors
        upper = problem.unscale_bound(search.upper)
        if upper < bracket.upper:
            bracket.upper, bracket.method = upper, "branch and bound"


def _search_blocks(
    bracket: Bracket, problem: BoundProblem, alive: Indices, cutoff: float, options: SolverOptions, deadline: float
) -> bool:
    """The search over blocks with more and more work, in most of the time left; whether it closed the bracket.

    Where it does not close, a bound half way there (in the logarithm) may be proven all the same. Supports that hold a
    variable outside ``alive`` are below the cutoff.
    """
    work = SMALL_WORK + WORK_PER_ENTRY * len(alive) ** 2
    while True:
        work *= GROWTH
        for half_way in (False, True):
            if work > SHARE_OF_TIME * OPERATIONS_PER_SECOND * (deadline - time.perf_counter()):
                return False
            still_open = (problem.best - problem.achieved) / max(abs(problem.achieved), ZERO)
            gap = float(np.sqrt(min(still_open, 1.0) * problem.target_gap)) if half_way else 0.0
            upper, better = search_small(problem, work, members=alive, gap=gap, most_held=MOST_HELD)
            if better is not None:
                bracket.vector = problem.vector = better
                problem.achieved = problem.scale_value(achieved_value(bracket.operator, better))
            if max(upper, cutoff) < problem.best:
                problem.best = max(upper, cutoff)
                bracket.upper, bracket.method = problem.unscale_bound(problem.best), "block search"
            lower = float(np.ldexp(problem.achieved, problem.exponent))
            options.progress.report_bracket(bracket.vector, lower, bracket.upper)
            if problem.closed:
                bracket.finished = True
                return True


def _reason(bracket: Bracket, gap: float) -> StopReason:
    lower = achieved_value(bracket.operator, bracket.vector)
    reached = Certificate(lower, max(lower, bracket.upper), bracket.method, scale=bracket.scale)
    if reached.optimal and (bracket.finished or reached.relative_gap <= gap):
        return StopReason.BRACKET_CLOSED
    if reached.relative_gap <= gap:
        return StopReason.GAP
    return StopReason.TIME_LIMIT if bracket.searchable else StopReason.COMPLETED


EXACT_SOLVER = SolverSpec(branch_and_bound, needs=("accurate_columns", "submatrix"), parameters=("time_limit", "gap"))
"""The row for the table of solvers."""
