"""The default solve of large covariances: the variables of large variance first, and a proof that they are enough.

The block of A at the variables of largest variance is formed once (of data on disk: in one pass), and everything else
happens on that small matrix: starts, exchanges, bounds. What variables outside could add is bounded by their variances
(`certificates.outside`). Where that leaves the answer unproven, all variables are searched as before.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache

import numpy as np

from sparseigen.certificates.outside import bound_outside, sum_outside
from sparseigen.certificates.problem import TARGET_GAP, Proven
from sparseigen.certificates.rounding import achieved_value
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Operator
from sparseigen.results import Stage
from sparseigen.solvers.few_passes import is_read_in_passes, solve_in_few_passes
from sparseigen.solvers.interface import KeepWhenInterrupted, Progress, SolverOptions, SolverOutcome
from sparseigen.solvers.near import PlacedProgress, count_near, find_base, form_block, place
from sparseigen.solvers.steered import solve_steered

MOST_CHOSEN = 4
"""At most one near variable in so many is chosen: more, and the others are too few to find the answer among."""
FLAT = 0.7
"""Where the largest variance outside is above this share of the largest of all, variances tell nothing."""
LEAST_GAIN = 0.6
"""Where the largest variance outside is above this share of the answer's average, variances prove nothing."""
HOPELESS = 0.01
"""A gap above this is left to the bounds of the whole matrix."""


def solve_reduced(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """The steered solve on the variables of largest variance, if the others are proven not to matter; else on all."""
    in_passes = is_read_in_passes(operator) and options.effort != "thorough"
    whole = solve_in_few_passes if in_passes else solve_steered
    near = choose_near(operator, cardinality, options)
    if near is None:
        return whole(operator, cardinality, options)
    block = form_block(operator, near)
    placed = replace(options, progress=PlacedProgress(options.progress, near))
    finished: list[SolverOutcome] = []

    def keep(inner: object) -> SolverOutcome | None:
        """What Ctrl-C leaves, in the numbers of all variables; its bounds would be those of the block alone."""
        kept = finished[0] if finished else inner
        return replace(place(kept, near), proven=None) if isinstance(kept, SolverOutcome) else None

    with KeepWhenInterrupted(keep):
        promising = _promises(operator, block, near, cardinality, options)
    if not promising:
        return whole(operator, cardinality, options)
    with KeepWhenInterrupted(keep):
        outcome = solve_steered(block, cardinality, placed)
        finished.append(outcome)
        proven, stage = prove_enough(operator, block, near, cardinality, outcome, placed)
    found = place(outcome, near)
    settings = found.settings | {"variables_searched": len(near)}
    reduced = replace(found, settings=settings, proven=proven, stages=(*found.stages, stage))
    if proven.upper_bound <= outcome.value * (1.0 + HOPELESS):
        return reduced
    return _choose_better(whole(operator, cardinality, options), reduced)


def _choose_better(whole: SolverOutcome, reduced: SolverOutcome) -> SolverOutcome:
    """The answer of larger value with the smaller of both bounds."""
    bounds = [outcome.proven for outcome in (whole, reduced) if outcome.proven is not None]
    best = whole if whole.value >= reduced.value else reduced
    return replace(best, proven=min(bounds, key=lambda proven: proven.upper_bound, default=None))


def choose_near(operator: Operator, cardinality: int, options: SolverOptions) -> Indices | None:
    """The variables of largest variance, in ascending order; None where a solve on them would prove nothing."""
    if operator.size <= LARGEST_MATERIALISED or not options.certify or options.effort == "quick":
        return None
    if not np.isfinite(operator.negative_part) or operator.costs.transfers:
        return None
    count = count_near(operator)
    if MOST_CHOSEN * cardinality > count:
        return None
    # By the variances before deflation: the block of these variables is then formed once for all components.
    before, variances = np.abs(find_base(operator).diagonal()), operator.diagonal()
    order = np.argpartition(-before, count) if len(before) == operator.size else np.argpartition(-variances, count)
    if float(variances[order[count:]].max()) > FLAT * float(variances.max()):
        return None
    near: Indices = np.sort(order[:count]).astype(np.int64)
    return near


def _promises(operator: Operator, block: Operator, near: Indices, cardinality: int, options: SolverOptions) -> bool:
    """Whether a variable outside adds far less than one of a quick answer does on the average."""
    rough = solve_steered(
        block, cardinality, replace(options, effort="quick", certify=False, progress=Progress(block.size))
    )
    outside = np.delete(operator.diagonal(), near)
    return bool(float(outside.max()) * cardinality < LEAST_GAIN * rough.value)


def prove_enough(
    operator: Operator,
    block: Operator,
    near: Indices,
    cardinality: int,
    outcome: SolverOutcome,
    options: SolverOptions,
) -> tuple[Proven, Stage]:
    """A bound for all variables, and the stage of the solve that it was."""
    began, proven = time.perf_counter(), outcome.proven
    assert proven is not None, "the solve was certified"
    outside = np.ones(operator.size, dtype=bool)
    outside[near] = False
    variances = (operator.diagonal() + operator.entry_errors())[outside]
    traces = sum_outside(block.diagonal() + block.entry_errors(), cardinality)
    achieved = achieved_value(block, outcome.vector)
    cutoff = achieved + TARGET_GAP * abs(achieved)

    @cache
    def solve_inside(count: int) -> float:
        part = solve_steered(block, count, replace(options, progress=Progress(block.size)))
        return np.inf if part.proven is None else part.proven.upper_bound

    def bound_inside(count: int, enough: float) -> float:
        """The trace where that will do, else what a solve proves; when the time limit is over, the trace."""
        trace = float(traces[count]) + count * operator.negative_part
        return trace if trace <= enough or count == 0 or options.out_of_time else min(trace, solve_inside(count))

    # Where passes are dear, a bound that leaves a gap is still the best there is.
    hopeless = np.inf if is_read_in_passes(operator) else max(achieved * (1.0 + HOPELESS), proven.upper_bound)
    far = bound_outside(
        bound_inside,
        variances,
        cardinality,
        negative_part=operator.negative_part,
        cutoff=cutoff,
        hopeless=hopeless,
    )
    upper = max(proven.upper_bound, far)
    method = f"{proven.method}, {len(near)} of {operator.size} variables"
    return Proven(upper, method, proven.scale), Stage("bound", time.perf_counter() - began, outcome.value, upper)
