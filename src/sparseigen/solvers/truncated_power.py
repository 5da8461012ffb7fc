"""The truncated power method (Algorithm 1), with the paper's remark on indefinite matrices.

X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sparseigen import kernels
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import StopReason
from sparseigen.solvers.eigenpairs import (
    LARGEST_DENSE_PROBLEM,
    LARGEST_DIRECT,
    best_on_support,
    leading_eigenpair,
    lower_end,
)
from sparseigen.solvers.interface import SolverOptions, SolverOutcome
from sparseigen.solvers.starts import Start, make_starts
from sparseigen.solvers.swapping import swap

POLISHES = (None, "solve", "swap")
"""None: Algorithm 1 as it stands. "solve": runs end in an exact solve on their support, confirmed by a product.
"swap": the best runs are then improved by exchanging variables."""

SMALLEST_SHIFT = 1e-12
"""Relative to the entries, where the products show A indefinite."""
POLISHED_RUNS = 3
SWAP_ROUNDS = (3, 20, 200)
"""Swaps a polished run may make: 3 at least, 20 where a swap is cheap, 200 at most; between, the work decides."""
CHEAP_SWAPS = 2.0e9
"""Operations that any polished run may spend on swaps, whatever a plain run costs."""
SWAP_WORK = 60.0
"""Swapping may cost about as much as this many plain runs, all polished runs together."""
EXPECTED_PRODUCTS = {"auto": 600, "columns": 400}
"""Products a start leads to, for the decision whether forming the Gram matrix pays; others: 30."""


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
    """Algorithm 1 from every start asked for, polished as asked.

    A matrix that shows itself indefinite is shifted to A + shift I and the runs start again, as the paper
    remarks; the shift is reported in the settings and taken out of all values.
    """
    name = options.start if isinstance(options.start, str) else "vector"
    operator = operator.prepared_for(EXPECTED_PRODUCTS.get(name, 30))
    if operator.positive_semidefinite is not False:
        try:
            return _solve(operator, cardinality, options, shift=0.0)
        except IndefiniteMatrixFound:
            pass
    # Never zero: where products of denormal numbers look indefinite, the eigenvalues need not.
    shift = max(-lower_end(operator), SMALLEST_SHIFT * operator.magnitude(), float(np.finfo(np.float64).tiny))
    return _solve(operator, cardinality, options, shift=shift)


def _solve(operator: Operator, cardinality: int, options: SolverOptions, *, shift: float) -> SolverOutcome:
    moving = operator.shifted(shift) if shift > 0.0 else operator
    starts = make_starts(operator, cardinality, options)
    # The first start always runs Algorithm 1 in full, so that the answer is never below the plain one.
    in_full = [first or options.polish is None for first in [True] + [False] * (len(starts) - 1)]
    runs = operator.together(
        [
            partial(_run, moving, cardinality, start, options, shift, in_full=full)
            for start, full in zip(starts, in_full, strict=True)
        ]
    )
    runs = _distinct(sorted(runs, key=lambda run: -run.value))
    settings: dict[str, Any] = {
        "start": starts[0][0] if len(starts) == 1 else str(options.start),
        "shift": shift,
    }
    if len(starts) > 1:
        settings |= {"starts_tried": [label for label, _ in starts], "start_used": runs[0].label}
    best = runs[0]
    if options.polish == "swap":
        rounds = _swap_rounds(operator, cardinality, runs[0])
        polished = operator.together(
            [
                partial(_polish, operator, moving, cardinality, run, options, shift, rounds)
                for run in runs[:POLISHED_RUNS]
            ]
        )
        best, swaps, limited = max(polished, key=lambda item: item[0].value)
        settings |= {"swaps": swaps, "swap_limited": limited}
        if len(starts) > 1:
            settings["start_used"] = best.label
    if options.polish is not None:
        best = _finished(operator, best, options)
    return SolverOutcome(best.vector, best.value, best.stop_reason, best.n_iterations, best.history, settings)


def _run(
    operator: Operator, cardinality: int, start: Start, options: SolverOptions, shift: float, *, in_full: bool
) -> Run:
    """One run; with polishing, Algorithm 1's answer is carried on to a true fixed point."""
    run = iterate(operator, cardinality, start, options, shift=shift, until_support_repeats=not in_full)
    if options.polish is None:
        return run
    return settle(operator, cardinality, run, options, shift=shift)


def iterate(
    operator: Operator,
    cardinality: int,
    start: Start,
    options: SolverOptions,
    *,
    shift: float = 0.0,
    until_support_repeats: bool = False,
) -> Run:
    """Algorithm 1: multiply, keep the k largest, normalise, until the objective stalls.

    ``until_support_repeats`` ends a run that is to be settled anyway as soon as its support did not change.
    """
    label, vector = start
    nonnegative = options.nonnegative
    if shift == 0.0 and operator.positive_semidefinite and options.progress.on_iteration is None:
        ready = _made_by_operator(operator, cardinality, start, options, until_support_repeats)
        if ready is not None:
            return ready
    product = operator.power_step(vector.indices, vector.weights, cardinality, nonnegative=nonnegative)
    value = product.quadratic_form
    history = [value - shift]
    resolution = 4.0 * float(np.finfo(np.float32).eps) if operator.dtype == np.float32 else 0.0
    reason, iteration = StopReason.ITERATION_LIMIT, 0
    for iteration in range(1, options.max_iterations + 1):
        length = kernels.length(product.values)
        if length == 0.0:  # A x = 0: the product leads nowhere else
            reason, iteration = StopReason.FIXED_POINT, iteration - 1
            break
        repeated = np.array_equal(product.indices, vector.indices)
        vector = SparseVector(product.indices, product.values / length)
        product = operator.power_step(vector.indices, vector.weights, cardinality, nonnegative=nonnegative)
        previous, value = value, product.quadratic_form
        if shift == 0.0:
            _check_curvature(operator, previous, value, length)
        history.append(value - shift)
        options.progress.report(vector, value - shift)
        if options.stalled(value, previous, resolution=resolution) or (until_support_repeats and repeated):
            reason = StopReason.VALUE_STALLED
            break
    return Run(label, _within(vector, cardinality), value - shift, reason, iteration, history)


def _made_by_operator(
    operator: Operator, cardinality: int, start: Start, options: SolverOptions, until_support_repeats: bool
) -> Run | None:
    """The same run from an operator that loops where its data are; None if it does not offer that."""
    label, vector = start
    made = operator.truncated_power_run(
        vector.indices,
        vector.weights,
        cardinality,
        rtol=options.rtol,
        atol=options.atol,
        max_iterations=options.max_iterations,
        nonnegative=options.nonnegative,
        until_support_repeats=until_support_repeats,
    )
    if made is None:
        return None
    last = SparseVector(made.indices, made.weights)
    options.progress.report(last, made.history[-1])
    reason, within = StopReason(made.ended), _within(last, cardinality)
    return Run(label, within, made.history[-1], reason, made.n_iterations, made.history)


def settle(operator: Operator, cardinality: int, run: Run, options: SolverOptions, *, shift: float) -> Run:
    """Carry a run on to a fixed point: solve on the support, confirm by a product, follow it while it gains.

    The value never falls: the exact solve is the best on its support, and a move to another support is taken only
    when its exact solve is better.
    """
    vector, value = best_on_support(operator, run.vector, nonnegative=options.nonnegative)
    value -= shift
    history, reason = list(run.history), StopReason.ITERATION_LIMIT
    iterations = run.n_iterations
    for _ in range(options.max_iterations):
        iterations += 1
        history.append(value)
        options.progress.report(vector, value)
        step = operator.power_step(vector.indices, vector.weights, cardinality, nonnegative=options.nonnegative)
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


def _polish(
    operator: Operator, moving: Operator, cardinality: int, run: Run, options: SolverOptions, shift: float, rounds: int
) -> tuple[Run, int, bool]:
    """Alternate swaps and power steps until neither raises the value, or the rounds are used up."""
    total, limited = 0, False
    while total < rounds:
        report = swap(
            operator,
            run.vector,
            run.value,
            max_swaps=rounds - total,
            progress=options.progress,
            nonnegative=options.nonnegative,
        )
        total, limited = total + report.swaps, limited or report.limited
        if report.swaps == 0:
            break
        swapped = replace(run, vector=report.vector, value=report.value, history=[*run.history, report.value])
        run = settle(moving, cardinality, swapped, options, shift=shift)
    return run, total, limited


def _finished(operator: Operator, run: Run, options: SolverOptions) -> Run:
    """The answer solved by LAPACK where the search was content with Lanczos."""
    count = len(run.vector.indices)
    if options.nonnegative or not LARGEST_DIRECT < count <= LARGEST_DENSE_PROBLEM:
        return run
    weights, value = leading_eigenpair(operator.submatrix(run.vector.indices))
    vector = SparseVector(run.vector.indices, weights)
    return replace(run, vector=vector, value=value, history=[*run.history[:-1], value])


def _swap_rounds(operator: Operator, cardinality: int, run: Run) -> int:
    """Swaps each polished run may make: their products run about three times faster per operation than power steps."""
    plain_run = max(1, run.n_iterations) * operator.step_cost(cardinality)
    one_swap = operator.step_cost(1) + cardinality**2 * operator.size + 80.0 * cardinality**3
    affordable = 3.0 * SWAP_WORK * plain_run / one_swap / POLISHED_RUNS
    fewest, usual, most = SWAP_ROUNDS
    return int(min(max(affordable, min(usual, CHEAP_SWAPS / one_swap), fewest), most))


def _check_curvature(operator: Operator, previous: float, value: float, length: float) -> None:
    """A positive semidefinite A obeys (x'Az)^2 <= (x'Ax)(z'Az); here x'Az is the length of the truncated product.

    Two consecutive iterates that break it prove A indefinite: the case the paper calls easily detectable.
    """
    if operator.positive_semidefinite:
        return
    slack = 1e-4 if operator.dtype == np.float32 else 1e-8
    if min(previous, value) < 0.0 or length**2 * (1.0 - slack) > previous * value:
        raise IndefiniteMatrixFound


def _within(vector: SparseVector, cardinality: int) -> SparseVector:
    """The vector, truncated if the caller's start had more than k non-zeros and no iteration was made."""
    if len(vector.indices) <= cardinality:
        return vector
    kept = np.sort(np.argsort(-np.abs(vector.weights), kind="stable")[:cardinality])
    weights = vector.weights[kept]
    return SparseVector(vector.indices[kept], weights / np.linalg.norm(weights))


def _distinct(runs: list[Run]) -> list[Run]:
    """The first run for each support."""
    seen: dict[bytes, Run] = {}
    for run in runs:
        seen.setdefault(run.vector.indices.tobytes(), run)
    return list(seen.values())
