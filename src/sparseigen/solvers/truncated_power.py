"""The truncated power method (Algorithm 1), with the paper's remark on indefinite matrices.

X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sparseigen import kernels
from sparseigen.kernels.eigen import leading_eigenpair, one_blas_thread
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.operators.iteration import Iteration, Look
from sparseigen.results import StopReason
from sparseigen.solvers.eigenpairs import (
    LARGEST_DENSE_PROBLEM,
    LARGEST_DIRECT,
    best_on_support,
    has_narrow_factor,
    lower_end,
)
from sparseigen.solvers.exchanging import climb, race, scatter
from sparseigen.solvers.interface import SolverOptions, SolverOutcome
from sparseigen.solvers.starts import Start, make_starts, stays_on_device
from sparseigen.solvers.swapping import swap

POLISHES = (None, "solve", "swap")
"""None: Algorithm 1 as it stands. "solve": runs end in an exact solve on their support, confirmed by a product.
"swap": the best runs are then improved by exchanging variables."""

SMALLEST_SHIFT = 1e-12
"""Relative to the entries, where the products show A indefinite."""
MOVING_RUNS, SWAPPED_RUNS = 8, 6
"""Runs that go on by exchanges of several variables, and the best of these that go on by single ones."""
RESTARTED_RUNS, RESTARTS, RESTART_LEAPS = 3, 8, ((4, 8),)
"""The best runs that others are scattered around, how many around each, and the stages of their race."""
MOVES = (8, 64)
"""Supports that are tried to move on from a run: from each at first, and at most from the best."""
MOVES_IN_PASSES = (4, 16)
"""The same where each support that is tried takes a pass over the data."""
SOLVED_WORK, SOLVED_PRODUCTS = 2.0e8, 60.0
"""Operations that moves from one run may spend on k x k problems, each of so many products with its matrix."""
SWAPS_AT_ONCE = 3
"""Single swaps before several variables at a time are tried again."""
SWAP_ROUNDS = (3, 20, 200)
"""Swaps per polished run: 3 at least, 20 where a swap is cheap, 200 at most; between, the work decides."""
CHEAP_SWAPS = 2.0e9
"""Operations that any polished run may spend on swaps, whatever a plain run costs."""
SWAP_WORK = 60.0
"""Swapping may cost about as much as this many plain runs, all polished runs together."""
ROUGH_RTOL = 1e-3
"""Steps in less than the data's precision end when no objective moves by more than this share."""
EXPECTED_PRODUCTS = {"auto": 200, "columns": 400}
"""Products per start, for the decision whether forming the Gram matrix pays; others: 30."""


class IndefiniteMatrixFound(Exception):
    """Raised inside the iteration when an iterate proves that A is not positive semidefinite."""


@dataclass(frozen=True)
class Run:
    """One run of the iteration from one start."""

    label: str
    vector: SparseVector
    value: float
    stop_reason: StopReason
    n_iterations: int
    history: list[float]


def solve_truncated_power(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """Algorithm 1 from every start asked for, polished as asked."""
    name = options.start if isinstance(options.start, str) else "vector"
    search = PowerSearch(operator.prepared_for(EXPECTED_PRODUCTS.get(name, 30)), cardinality, options)
    starts = make_starts(search.operator, cardinality, options)
    search.run(starts)
    settings: dict[str, Any] = {"start": starts[0][0] if len(starts) == 1 else str(options.start)}
    if options.polish == "swap":
        search.swap()
    return search.outcome(settings)


class PowerSearch:
    """Runs of Algorithm 1 and what exchanges make of the best of them, for one matrix and cardinality.

    A matrix that shows itself indefinite is shifted to A + shift I and the runs start again, as the paper remarks; the
    shift is reported in the settings and taken out of all values.
    """

    def __init__(self, operator: Operator, cardinality: int, options: SolverOptions) -> None:
        self.operator, self.cardinality, self.options = operator, cardinality, options
        self.runs: list[Run] = []
        """One for each support reached, the best first."""
        self.tried: list[str] = []
        self.settings: dict[str, Any] = {}
        self.shift = 0.0
        if operator.positive_semidefinite is False:
            self._shift()

    @property
    def best(self) -> Run:
        """The best run so far."""
        return self.runs[0]

    @property
    def _moving(self) -> Operator:
        return self.operator.shifted(self.shift) if self.shift > 0.0 else self.operator

    def _shift(self) -> None:
        # Never zero: where products of denormal numbers look indefinite, the eigenvalues need not.
        smallest = max(SMALLEST_SHIFT * self.operator.magnitude, float(np.finfo(np.float64).tiny))
        self.shift = max(-lower_end(self.operator), smallest)

    def run(self, starts: Sequence[Start]) -> None:
        """Algorithm 1 from each of the starts, settled unless nothing is to be polished."""
        try:
            found = self._run(starts)
        except IndefiniteMatrixFound:
            self._shift()
            found = self._run(starts)
        self.tried += [label for label, _ in starts]
        self.runs = _distinct(sorted([*self.runs, *found], key=lambda run: -run.value))

    def _run(self, starts: Sequence[Start]) -> list[Run]:
        # The first start always runs Algorithm 1 in full, so that the answer is never below the plain one.
        whole = self.options.polish is None
        in_full = [whole or (place == 0 and not self.runs) for place in range(len(starts))]
        moving, k, options = self._moving, self.cardinality, self.options
        return self.operator.run_together(
            [
                partial(_run, moving, k, start, options, self.shift, in_full=full)
                for start, full in zip(starts, in_full, strict=True)
            ]
        )

    def swap(self) -> None:
        """Exchange variables in the best runs."""
        with one_blas_thread():
            best, swaps, limited = _polish(self.operator, self.runs, self.options)
        self.settings |= {"swaps": swaps, "swap_limited": limited}
        self.runs = [best, *self.runs]

    def outcome(self, settings: dict[str, Any]) -> SolverOutcome:
        """The best run as a solver's answer, with what was done for it."""
        told = settings | {"shift": self.shift}
        if len(self.tried) > 1:
            told |= {"starts_tried": self.tried, "start_used": self.best.label}
        best = self.best if self.options.polish is None else _solve_precisely(self.operator, self.best, self.options)
        told |= self.settings
        return SolverOutcome(best.vector, best.value, best.stop_reason, best.n_iterations, best.history, told)


def _run(
    operator: Operator, cardinality: int, start: Start, options: SolverOptions, shift: float, *, in_full: bool
) -> Run:
    """One run; with polishing, Algorithm 1's answer is carried on to a true fixed point."""
    steps = operator.iteration([cardinality], nonnegative=options.nonnegative)
    (run,) = _drive(steps, [start], options, shift=shift, until_support_repeats=not in_full)
    if options.polish is None:
        return run
    return settle(operator, cardinality, run, options, shift=shift, steps=steps)


def iterate(operator: Operator, cardinality: int, start: Start, options: SolverOptions) -> Run:
    """Algorithm 1: multiply, keep the k largest, normalise, until the objective stalls."""
    return _drive(operator.iteration([cardinality], nonnegative=options.nonnegative), [start], options)[0]


def iterate_many(operator: Operator, cardinalities: Sequence[int], start: Start, options: SolverOptions) -> list[Run]:
    """Algorithm 1 for many cardinalities from one start; steps of several runs share a pass over the data."""
    runs: list[Run] = []
    for first in range(0, len(cardinalities), operator.costs.runs_per_pass):
        block = cardinalities[first : first + operator.costs.runs_per_pass]
        steps = operator.iteration(block, nonnegative=options.nonnegative)
        runs += _drive(steps, [start] * len(block), options)
    return runs


def _drive(
    steps: Iteration,
    starts: Sequence[Start],
    options: SolverOptions,
    *,
    shift: float = 0.0,
    until_support_repeats: bool = False,
) -> list[Run]:
    """The loop of Algorithm 1, for one run or for several that step together.

    ``until_support_repeats`` ends runs that are to be settled anyway as soon as their support did not change.
    """
    values = steps.begin([vector for _, vector in starts])
    tracks = [_Track(steps, run, value, shift, until_support_repeats) for run, value in enumerate(values)]
    if steps.rough:
        loose = replace(options, rtol=max(ROUGH_RTOL, options.rtol), max_iterations=options.max_iterations // 2)
        _step_until_all_end(steps, tracks, loose)
        steps.rough = False
    _step_until_all_end(steps, tracks, options)
    return [track.finish(label, options) for (label, _), track in zip(starts, tracks, strict=True)]


def _step_until_all_end(steps: Iteration, tracks: Sequence[_Track], options: SolverOptions) -> None:
    stepping: Sequence[int] = range(len(tracks))
    while stepping:
        first = tracks[stepping[0]]
        most = options.max_iterations - first.n_iterations
        if most <= 0:
            return
        # A run that ends when its support repeats most often ends with its first look.
        looks = steps.advance(stepping, most, ahead=first.n_iterations > 0 or not first.until_support_repeats)
        moving = [run for run, seen in zip(stepping, looks, strict=True) if tracks[run].follow(seen, options)]
        stepping = steps.keep(moving) if moving or not steps.rough else []


class _Track:
    """The objectives of one run so far, and how its last steps ended it, if they did."""

    def __init__(self, steps: Iteration, run: int, value: float, shift: float, until_support_repeats: bool) -> None:
        self.steps, self.run, self.shift, self.until_support_repeats = steps, run, shift, until_support_repeats
        self.history = [value]
        self.reason = StopReason.ITERATION_LIMIT
        self.last_step = 0
        resolution = 4.0 * float(np.finfo(np.float32).eps)
        self.resolution = resolution if steps.operator.dtype == np.float32 else 0.0

    @property
    def n_iterations(self) -> int:
        return len(self.history) - 1

    def follow(self, looks: Iterable[Look], options: SolverOptions) -> bool:
        """Go through what some steps showed; whether the run goes on."""
        steps, history, shift = self.steps, self.history, self.shift
        reported = steps.on_host or options.progress.on_iteration is not None
        if not steps.keeps_iterates:
            *passed, last = looks
            history += [value for value, _, _ in passed]
            looks = [last]
        value, self.reason = history[-1], StopReason.ITERATION_LIMIT
        for step, (following, length, repeated) in enumerate(looks, start=1):
            if length == 0.0:  # A x = 0: the product leads nowhere else
                self.reason, self.last_step = StopReason.FIXED_POINT, step - 1
                return False
            previous, value, self.last_step = value, following, step
            if shift == 0.0:
                _check_curvature(steps.operator, previous, value, length)
            history.append(value)
            if reported:
                options.progress.report(steps.iterate(self.run, step), value - shift)
            stalled = options.has_stalled(value, previous, resolution=self.resolution)
            if stalled or (self.until_support_repeats and repeated):
                self.reason = StopReason.VALUE_STALLED
                return False
            if len(history) > options.max_iterations:
                return False
            if options.out_of_time:
                self.reason = StopReason.TIME_LIMIT
                return False
        return True

    def finish(self, label: str, options: SolverOptions) -> Run:
        """The run as it ended; iterates that nobody has looked at are fetched now."""
        vector = self.steps.iterate(self.run, self.last_step)
        history = [value - self.shift for value in self.history]
        if not self.steps.on_host and options.progress.on_iteration is None:
            options.progress.report(vector, history[-1])
        within = vector.truncated(self.steps.cardinalities[self.run])
        return Run(label, within, history[-1], self.reason, self.n_iterations, history)


def settle(
    operator: Operator,
    cardinality: int,
    run: Run,
    options: SolverOptions,
    *,
    shift: float,
    steps: Iteration | None = None,
) -> Run:
    """Carry a run on to a fixed point: solve on the support, confirm by a product, follow it while it gains.

    The value never falls: the exact solve is the best on its support, and a move to another support is taken only
    when its exact solve is better. ``steps`` are those of the run, with what they remember.
    """
    steps = operator.iteration([cardinality], nonnegative=options.nonnegative) if steps is None else steps
    vector, value = best_on_support(operator, run.vector, nonnegative=options.nonnegative)
    value -= shift
    history, reason = list(run.history), StopReason.ITERATION_LIMIT
    iterations = run.n_iterations
    for _ in range(options.max_iterations):
        iterations += 1
        history.append(value)
        options.progress.report(vector, value)
        if options.out_of_time:
            reason = StopReason.TIME_LIMIT
            break
        step = steps.step(vector, cardinality)
        length = kernels.length(step.values)
        if length == 0.0 or np.array_equal(step.indices, vector.indices):
            reason = StopReason.FIXED_POINT
            break
        following = SparseVector(step.indices, step.values / length)
        best, reached = best_on_support(operator, following, nonnegative=options.nonnegative)
        if reached - shift <= value + 1e-13 * abs(value):  # the step moves between equally good supports
            reason = StopReason.FIXED_POINT
            break
        vector, value = best, reached - shift
    return replace(run, vector=vector, value=value, stop_reason=reason, n_iterations=iterations, history=history)


def _polish(operator: Operator, runs: list[Run], options: SolverOptions) -> tuple[Run, int, bool]:
    """Exchanges: a few of several variables from every run, more and single ones from the best, all from the winner.

    Returns the winner, how often it moved, and whether limits cut its search short.
    """
    cardinality = len(runs[0].vector.indices)
    rank = operator.factor_rank if has_narrow_factor(operator, cardinality) else cardinality
    solved = SOLVED_PRODUCTS * rank**2 + 0.1 * cardinality * rank**2  # the matrix product is ten times faster
    first, tried = MOVES[0], int(min(max(SOLVED_WORK / solved, MOVES[0]), MOVES[1]))
    in_passes = operator.costs.columns_per_pass is not None
    if in_passes:
        first, tried = MOVES_IN_PASSES
    moved = operator.run_together([partial(_climb, operator, run, options, first) for run in runs[:MOVING_RUNS]])
    moved = sorted(moved, key=lambda item: -item[0].value)
    ends = [run.vector.indices.tobytes() for run, _ in moved]
    agree = 2 * ends.count(ends[0]) > len(ends)  # most runs end in the same place: there is little to search beside it
    moved = [item for place, item in enumerate(moved) if ends.index(ends[place]) == place]
    rounds = _swap_rounds(operator, cardinality, runs[0])
    swapped = moved[: 1 if agree or cardinality > LARGEST_DIRECT else SWAPPED_RUNS]
    moved = operator.run_together([partial(_improve, operator, *item, options, tried, rounds) for item in swapped])
    if not (agree or in_passes or stays_on_device(operator)):
        around = _restart_around(operator, [run for run, _ in moved], options)
        moved += [_improve(operator, run, 0, options, tried, rounds) for run in around]
    best, moves = max(moved, key=lambda item: item[0].value)
    best, swaps, limited = _swap(operator, best, options, tried, rounds, thorough=True)
    return best, moves + swaps, limited


def _restart_around(operator: Operator, runs: list[Run], options: SolverOptions) -> list[Run]:
    """The winners of a race from supports that share half of their variables with the best ones found."""
    best = sorted(runs, key=lambda run: -run.value)[:RESTARTED_RUNS]
    if len(best[0].vector.indices) > LARGEST_DENSE_PROBLEM:
        return []
    starts = [
        (run.label, vector)
        for run in best
        for vector in scatter(operator, run.vector, run.value, RESTARTS, nonnegative=options.nonnegative)
    ]
    won = race(operator, starts, RESTARTED_RUNS, nonnegative=options.nonnegative, leaps=RESTART_LEAPS) if starts else []
    found = []
    for label, start in won:
        vector, value = best_on_support(operator, start, nonnegative=options.nonnegative)
        found.append(Run(label, vector, value, StopReason.FIXED_POINT, 1, [value]))
    return found


def _climb(operator: Operator, run: Run, options: SolverOptions, tried: int) -> tuple[Run, int]:
    """Exchange several variables at a time while the value rises; how often it did."""
    report = climb(
        operator, run.vector, run.value, rounds=tried, progress=options.progress, nonnegative=options.nonnegative
    )
    history = [*run.history, *report.history]
    reason = StopReason.FIXED_POINT
    climbed = replace(run, vector=report.vector, value=report.value, history=history, stop_reason=reason)
    return climbed, len(report.history)


def _improve(
    operator: Operator, run: Run, moves: int, options: SolverOptions, tried: int, rounds: int
) -> tuple[Run, int]:
    """Exchange several variables at a time, then single ones that look promising."""
    run, further = _climb(operator, run, options, tried)
    if len(run.vector.indices) > LARGEST_DIRECT:
        return run, moves + further
    run, swaps, _ = _swap(operator, run, options, tried, rounds, thorough=False)
    return run, moves + further + swaps


def _swap(
    operator: Operator, run: Run, options: SolverOptions, tried: int, rounds: int, *, thorough: bool
) -> tuple[Run, int, bool]:
    """Alternate swaps and longer moves until neither raises the value, or the rounds are used up."""
    total, limited = 0, True
    while total < rounds and not options.out_of_time:
        report = swap(
            operator,
            run.vector,
            run.value,
            max_swaps=min(rounds - total, SWAPS_AT_ONCE) if options.deadline == np.inf else 1,
            progress=options.progress,
            nonnegative=options.nonnegative,
            thorough=thorough,
        )
        total, limited = total + report.swaps, report.limited
        if report.swaps == 0:
            break
        swapped = replace(run, vector=report.vector, value=report.value, history=[*run.history, report.value])
        run, further = _climb(operator, swapped, options, tried)
        total += further
    return run, total, limited


def _solve_precisely(operator: Operator, run: Run, options: SolverOptions) -> Run:
    """The answer solved by LAPACK where the search was content with Lanczos."""
    count = len(run.vector.indices)
    if options.nonnegative or not LARGEST_DIRECT < count <= LARGEST_DENSE_PROBLEM:
        return run
    weights, value = leading_eigenpair(operator.submatrix(run.vector.indices))
    vector = SparseVector(run.vector.indices, weights)
    return replace(run, vector=vector, value=value, history=[*run.history[:-1], value])


def _swap_rounds(operator: Operator, cardinality: int, run: Run) -> int:
    """Swaps each polished run may make: their products run about three times faster per operation than power steps."""
    plain_run = max(1, run.n_iterations) * operator.costs.step(cardinality)
    one_swap = _swap_cost(operator, cardinality)
    affordable = 3.0 * SWAP_WORK * plain_run / one_swap / SWAPPED_RUNS
    fewest, usual, most = SWAP_ROUNDS
    return int(min(max(affordable, min(usual, CHEAP_SWAPS / one_swap), fewest), most))


def _swap_cost(operator: Operator, cardinality: int) -> float:
    """Operations of one swap: a column of A, the scores of all pairs, and the decomposition of the k x k block."""
    return float(operator.costs.step(1) + cardinality**2 * operator.size + 80.0 * cardinality**3)


def _check_curvature(operator: Operator, previous: float, value: float, length: float) -> None:
    """A positive semidefinite A obeys (x'Az)^2 <= (x'Ax)(z'Az); here x'Az is the length of the truncated product.

    Two consecutive iterates that break it prove A indefinite: the case the paper calls easily detectable.
    """
    if operator.positive_semidefinite:
        return
    slack = 1e-4 if operator.dtype == np.float32 else 1e-8
    if min(previous, value) < 0.0 or length**2 * (1.0 - slack) > previous * value:
        raise IndefiniteMatrixFound


def _distinct(runs: list[Run]) -> list[Run]:
    """The first run for each support."""
    seen: dict[bytes, Run] = {}
    for run in runs:
        seen.setdefault(run.vector.indices.tobytes(), run)
    return list(seen.values())
