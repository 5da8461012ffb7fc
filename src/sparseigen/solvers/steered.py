"""The default solve: stages of search and proof follow one another until the bracket closes.

An answer that a cheap bound proves optimal costs little more than a plain run of Algorithm 1; a hard problem gets every
stage its effort allows. What a stage may cost follows from the sizes of the problem, never from the clock, so that
answers do not depend on it; only a time limit of the caller ends stages early.

A new stage is a function ``(steering) -> None`` and a row in STAGES.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from sparseigen.certificates.group_removal import split_and_search
from sparseigen.certificates.penalised_dual import can_ascend
from sparseigen.certificates.portfolio import QUICK, TIGHT_SECONDS, list_bounds, try_bounds
from sparseigen.certificates.problem import BoundProblem, Proven
from sparseigen.certificates.rough_rows import LARGEST_HELD, can_sum_roughly
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.small_proof import WORK_PER_ENTRY, search_small
from sparseigen.certificates.split_rows import MOST_WORK, THOROUGH
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import Certificate, Stage, StopReason
from sparseigen.solvers.eigenpairs import recompute_value
from sparseigen.solvers.interface import EFFORTS, KeepWhenInterrupted, SolverOptions, SolverOutcome
from sparseigen.solvers.starts import STARTS, Start, make_starts
from sparseigen.solvers.truncated_power import (
    EXPECTED_PRODUCTS,
    PowerSearch,
    Run,
)

FIRST_START = "max-variance"
"""The start of the plain run: the paper's."""
BLOCKS, CLOSED_FORM = "block search", "closed-form dual"
BOUND_EFFORTS = {"quick": QUICK, "default": "default", "thorough": "tight"}
"""The effort of the bounds that goes with that of a solve."""
ROW_WORK = {"quick": 0.0, "default": 1.6e10, "thorough": 4.0e11}
"""Multiplications that may be spent on columns of a matrix too large to be held."""
BLOCK_WORK = {"default": 1.0e8, "thorough": 5.0e9}
"""Operations of the search over blocks; a million take about 2 ms."""
NEARLY, FEW, HOPELESS = 1e-3, 64, 0.25
"""`default` looks at no rows where the gap is below the first and more variables are chosen than a search over supports
can decide on, and makes no split where the gap is above the third."""
COSTLY = 2.5e-3
"""The same where rows have to be made again in every pass."""
MANY = 8
"""Where one variable in so many is chosen, the largest eigenvalue of all is tried before a split."""
TINY = 64
"""Up to this size the search over blocks comes before further starts."""


class StageSpec(NamedTuple):
    """A stage: what it does, the efforts that have it, and whether it searches for proofs or for answers."""

    name: str
    work: Callable[[Steering], None]
    efforts: tuple[str, ...]
    proves: bool
    fits: Callable[[Steering], bool] = lambda steering: True
    """Whether the stage is worth its cost for the answer so far."""


class Steering:
    """The state of one solve: the runs so far, the smallest bound, and what every stage cost.

    One `BoundProblem` serves all stages; it holds the matrix and the answer that bounds start from.
    """

    def __init__(self, operator: Operator, cardinality: int, options: SolverOptions) -> None:
        self.operator, self.cardinality, self.options = operator, cardinality, options
        # Where data are read in passes, one that forms the matrix costs less than those of a plain run.
        alone = operator.costs.columns_per_pass is None
        products = EXPECTED_PRODUCTS.get(FIRST_START, 30) if alone else EXPECTED_PRODUCTS["auto"]
        self.search = PowerSearch(operator.prepared_for(products), cardinality, options)
        self.problem: BoundProblem | None = None
        self.method = "none"
        self.tried: dict[str, bytes] = {}
        """By the name of a bound the support it was last tried with."""
        self.stages: list[Stage] = []
        self.settings: dict[str, Any] = {"start": FIRST_START, "polish": "solve", "effort": options.effort}
        self.cut_short = False

    def run(self) -> None:
        """The stages of the effort, in order, until the bracket closes or the time is over."""
        options = self.options
        for spec in STAGES:
            if options.effort not in spec.efforts or (spec.proves and not options.certify):
                continue
            if self.closed or not spec.fits(self):
                continue
            # Whatever the time limit, there is an answer and, if wanted, a bound.
            if options.out_of_time and self.search.runs and (not spec.proves or self.problem is not None):
                self.cut_short = True
                break
            self._run_stage(spec)

    def _run_stage(self, spec: StageSpec) -> None:
        self.options.progress.begin_stage(f"proving: {spec.name}" if spec.proves else spec.name)
        began = time.perf_counter()
        spec.work(self)
        self.stages.append(Stage(spec.name, time.perf_counter() - began, self.search.best.value, self.upper))

    @property
    def closed(self) -> bool:
        """Whether the answer is proven optimal."""
        return self.problem is not None and self._bracket().optimal

    @property
    def gap(self) -> float:
        """The relative gap of the best answer so far; infinite where nothing is proven."""
        return np.inf if self.upper is None else self._bracket().relative_gap

    def _bracket(self) -> Certificate:
        problem = self.pose()
        return Certificate(problem.achieved, max(problem.best, problem.achieved), self.method, scale=1.0)

    @property
    def upper(self) -> float | None:
        """The smallest upper bound so far."""
        if self.problem is None or not np.isfinite(self.problem.best):
            return None
        return self.problem.unscale_bound(self.problem.best)

    def pose(self) -> BoundProblem:
        """The question that bounds answer, with the best answer so far."""
        vector = self.search.best.vector
        if self.problem is None:
            self.problem = BoundProblem(self.operator, self.cardinality)
            # A device forms columns a thousand times faster and knows itself how many are too many.
            if not self.problem.holds_matrix and not self.operator.costs.transfers:
                affordable = ROW_WORK[self.options.effort] / max(self.operator.costs.step(1), 1.0)
                self.problem.columns_left = min(self.problem.columns_left, affordable)
        problem = self.problem
        if problem.vector is None or not np.array_equal(problem.vector.indices, vector.indices):
            problem.vector = vector
            problem.achieved = problem.scale_value(achieved_value(self.operator, vector))
        problem.deadline = self.options.deadline
        if self.options.effort == "thorough":
            problem.deadline = min(problem.deadline, time.perf_counter() + TIGHT_SECONDS)
        return problem

    @property
    def support(self) -> bytes:
        """The variables of the best answer so far, for comparisons."""
        return self.search.best.vector.indices.tobytes()

    def untried(self, names: Iterable[str]) -> list[str]:
        """Those of the names that were not tried with this answer."""
        return [name for name in names if self.tried.get(name) != self.support]

    def lower(self, names: Iterable[str]) -> None:
        """Lower the bound by those of these names that were not tried with this answer."""
        problem, names = self.pose(), self.untried(names)
        self.tried |= dict.fromkeys(names, self.support)
        method = try_bounds(problem, names, self.options.progress.begin_stage if len(names) > 1 else None)
        if method is not None:
            left_out = problem.left_out and not problem.closed
            self.method = f"{method} ({problem.left_out})" if left_out else method

    def outcome(self, reason: StopReason | None = None) -> SolverOutcome:
        """The best answer with what is proven."""
        found = self.search.outcome(self.settings)
        if reason is None and self.cut_short:
            reason = StopReason.TIME_LIMIT
        proven = None
        if self.problem is not None:
            proven = Proven(np.inf if self.upper is None else self.upper, self.method, self.problem.scale)
        stages, reason = tuple(self.stages), found.stop_reason if reason is None else reason
        return SolverOutcome(
            found.vector, found.value, reason, found.n_iterations, found.history, found.settings, proven, stages
        )

    def rescue(self) -> SolverOutcome | None:
        """What Ctrl-C leaves: the best vector seen, also within an unfinished stage, and the bound so far."""
        progress = self.options.progress
        if progress.best is not None and len(progress.best.indices) <= self.cardinality:
            value = recompute_value(self.operator, progress.best)
            if not self.search.runs or value > self.search.best.value:
                seen = Run("interrupted", progress.best, value, StopReason.INTERRUPTED, progress.iterations, [value])
                self.search.runs.insert(0, seen)
        return self.outcome(StopReason.INTERRUPTED) if self.search.runs else None


def solve_steered(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """The truncated power method, its starts, exchanges and proofs, as far as the problem needs them.

    On Ctrl-C raises SolveInterrupted whose ``result`` is the outcome with the bracket reached, or None.
    """
    steering = Steering(operator, cardinality, options)
    # Long rows of small decompositions: threads of BLAS would wait for each other, and long products have ours.
    with KeepWhenInterrupted(lambda inner: steering.rescue()), one_blas_thread():
        steering.run()
    return steering.outcome()


def run_plainly(steering: Steering) -> None:
    """Algorithm 1 from the variable of largest variance, settled; from every start where that one leads nowhere."""
    operator, search = steering.operator, steering.search
    movable = operator.diagonal().max() > 0.0
    if not movable:
        run_more_starts(steering)
        return
    search.run(STARTS[FIRST_START](search.operator, steering.cardinality, steering.options))


def run_more_starts(steering: Steering) -> None:
    """The other starts of ``start="auto"``."""
    search = steering.search
    search.operator = steering.operator.prepared_for(EXPECTED_PRODUCTS["auto"])
    made = make_starts(search.operator, steering.cardinality, steering.options)
    starts: list[Start] = [start for start in made if start[0] not in search.tried]
    steering.settings["start"] = "auto"
    if starts:
        search.run(starts)


def exchange(steering: Steering) -> None:
    """Swaps in the best runs."""
    steering.settings["polish"] = "swap"
    steering.search.swap()


def prove_quickly(steering: Steering) -> None:
    """The bounds that cost no more than the answer; where the time is over, the cheapest alone."""
    operator, problem = steering.operator, steering.pose()
    hurried = steering.options.out_of_time and np.isfinite(operator.negative_part)
    # Later stages prove more than a closed form that leaves a gap, with the answer of more starts or by an ascent.
    begun = any(stage.name == "bound" for stage in steering.stages)
    problem.closing_only = steering.options.effort != "quick" and (not begun or can_ascend(problem))
    steering.lower(["trace"] if hurried else list_bounds(operator, QUICK))
    if problem.closing_only and not begun:
        steering.tried.pop(CLOSED_FORM, None)
    problem.closing_only = False


def _name_dual(steering: Steering) -> str:
    """The dual that goes with the effort: a few steps from the answer, or carried to its end."""
    return "converged penalised dual" if steering.options.effort == "thorough" else "penalised dual"


def ascend_dual(steering: Steering) -> None:
    """The penalised dual."""
    steering.lower([_name_dual(steering)])


def bound_rows(steering: Steering) -> None:
    """The scaled row bound of a matrix that is held."""
    steering.lower(["scaled rows"])


def split_rows(steering: Steering) -> None:
    """Rows and spectrum together; where that removes most variables, the search over the blocks of the others."""
    problem, effort = steering.pose(), steering.options.effort
    if MANY * steering.cardinality >= problem.size:
        steering.lower(["largest eigenvalue"])
        if problem.closed:
            return
    name = "converged split rows" if effort == "thorough" else "split rows"
    steering.tried[name] = steering.support
    work = MOST_WORK * (THOROUGH if effort == "thorough" else 1.0)
    upper, better = split_and_search(problem, work, BLOCK_WORK[effort])
    if better is not None and not steering.options.nonnegative:
        _adopt(steering, better)
    if upper < problem.best:
        problem.best, steering.method = upper, name


def prove_further(steering: Steering) -> None:
    """Every other bound of the effort that this answer has not been tried with."""
    names = list_bounds(steering.operator, BOUND_EFFORTS[steering.options.effort])
    done = {"split rows", "converged split rows", _name_dual(steering)}
    if "split rows" in steering.method or not _is_open(steering):  # it began with the scaled rows
        done.add("scaled rows")
    steering.lower(name for name in names if name not in done)


def search_blocks(steering: Steering) -> None:
    """The exact search over blocks, as far as its work reaches; where it finds a better answer, that is the answer."""
    problem = steering.pose()
    steering.tried[BLOCKS] = steering.support
    upper, better = search_small(problem, BLOCK_WORK[steering.options.effort])
    if better is not None:
        _adopt(steering, better)
    if upper < problem.best:
        problem.best, steering.method = upper, BLOCKS


def _adopt(steering: Steering, vector: SparseVector) -> None:
    """Make a vector that the search over blocks found the best run."""
    search = steering.search
    value = recompute_value(steering.operator, vector)
    history = [*search.best.history, value]
    run = Run(BLOCKS, vector, value, StopReason.FIXED_POINT, search.best.n_iterations, history)
    search.runs.insert(0, run)
    steering.pose()


def _has_untried_dual(steering: Steering) -> bool:
    """Whether the ascent of the effort is affordable, and was not tried with this answer."""
    affordable = steering.options.effort == "thorough" or can_ascend(steering.pose())
    return affordable and bool(steering.untried([_name_dual(steering)]))


def _has_early_dual(steering: Steering) -> bool:
    """Whether the ascent comes before rows: where many variables are chosen it proves more, and costs less."""
    return steering.cardinality > FEW and steering.operator.factor_rank > 0 and _has_untried_dual(steering)


def _can_search_blocks(steering: Steering) -> bool:
    """Whether the matrix is held, the answer may be any vector, and was not searched from already."""
    if steering.options.nonnegative or steering.cardinality >= steering.operator.size:
        return False
    if WORK_PER_ENTRY * steering.operator.size**2 > BLOCK_WORK[steering.options.effort]:
        return False  # it would not do to see whether a search is worth its while
    return steering.pose().holds_matrix and bool(steering.untried([BLOCKS]))


def _is_tiny(steering: Steering) -> bool:
    """Whether the search over blocks is likely to cost less than more starts."""
    return steering.operator.size <= TINY and _can_search_blocks(steering)


def _is_open(steering: Steering) -> bool:
    """Whether the gap is worth rows: `default` is content with a small one that no search over supports closes."""
    if steering.options.effort == "thorough" or steering.cardinality <= FEW:
        return True
    return steering.gap > (NEARLY if steering.operator.size <= LARGEST_HELD else COSTLY)


def _has_rows(steering: Steering) -> bool:
    """Whether there are rows at hand that were not tried with this answer."""
    problem = steering.pose()
    at_hand = problem.holds_matrix or can_sum_roughly(problem)
    return at_hand and _is_open(steering) and bool(steering.untried(["scaled rows"]))


def _split_promises(steering: Steering) -> bool:
    """Whether a split, untried with this answer, may lower the gap: neither hopeless nor hardly worth its steps."""
    thorough = steering.options.effort == "thorough"
    if not steering.untried(["converged split rows" if thorough else "split rows"]):
        return False
    return thorough or (_is_open(steering) and steering.gap <= HOPELESS)


def _pays_others(steering: Steering) -> bool:
    """Whether the other bounds are worth their cost: on a device they are the rows, which cost most of all."""
    return steering.options.effort == "thorough" or not steering.operator.costs.transfers or steering.gap > NEARLY


BEYOND_QUICK = ("default", "thorough")
STAGES = (
    StageSpec("plain run", run_plainly, EFFORTS, proves=False),
    StageSpec("bound", prove_quickly, EFFORTS, proves=True),
    StageSpec(BLOCKS, search_blocks, BEYOND_QUICK, proves=True, fits=_is_tiny),
    StageSpec("more starts", run_more_starts, BEYOND_QUICK, proves=False),
    StageSpec("swaps", exchange, BEYOND_QUICK, proves=False),
    StageSpec("bound", prove_quickly, BEYOND_QUICK, proves=True),
    StageSpec("dual ascent", ascend_dual, BEYOND_QUICK, proves=True, fits=_has_early_dual),
    StageSpec("rows", bound_rows, BEYOND_QUICK, proves=True, fits=_has_rows),
    StageSpec("dual ascent", ascend_dual, BEYOND_QUICK, proves=True, fits=_has_untried_dual),
    StageSpec("split rows", split_rows, BEYOND_QUICK, proves=True, fits=_split_promises),
    StageSpec(BLOCKS, search_blocks, BEYOND_QUICK, proves=True, fits=_can_search_blocks),
    StageSpec("other bounds", prove_further, BEYOND_QUICK, proves=True, fits=_pays_others),
)
"""In the order in which they are tried; each only while the bracket is open."""


def proof_seconds(stages: Iterable[Stage]) -> float:
    """The time that the stages took which search for proofs."""
    proofs = {spec.name for spec in STAGES if spec.proves}
    return sum(stage.seconds for stage in stages if stage.name in proofs)
