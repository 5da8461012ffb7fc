"""The penalised dual: the best dual points, by a closed form and by an ascent, and the bounds they prove.

`dual_points` says what any dual points prove. The closed form (d'Aspremont, Bach and El Ghaoui, 2008) starts from the
answer found; the ascent (`dual_bundle`) goes on from there. Both serve data in memory and on a device, where the ascent
works on the variables of largest variance alone (`measure_leading`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparseigen.certificates.dual_bundle import DualBundle
from sparseigen.certificates.dual_points import (
    ClosedForm,
    DualParts,
    Mixture,
    add_up_gram,
    blocks,
    dual_value,
    dual_values,
    energies_along,
    measure,
    prove,
    search_penalty,
)
from sparseigen.certificates.factor import (
    Array,
    Factor,
    FactorRows,
    bound_left_out,
    comes_to_host,
    find_factor,
    namespace,
    place_like,
    working_memory,
)
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rough_rows import can_sum_roughly
from sparseigen.certificates.rounding import TINY, UNIT, ZERO, sum_of_largest
from sparseigen.certificates.spectral import spectral_bound
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators.contract import SparseVector

MOST_WORK, FEWEST_STEPS, STRETCH = 1.0e10, 12, 4.0
"""Operations `default` may spend on the ascent, and how many times more until it has made so many steps."""
ONCE = 6.0e11
"""Operations of F'F where it is made once, for the largest eigenvalue of all."""
MOST_STEPS = 400
STEPS_ELSEWHERE, STALLED = 10, 0.01
"""Steps of `default` on a device, and the share of the gap that three of them must close for more to follow."""
LEADING_ENTRIES = 1 << 24
"""Entries of the factor that the ascent works on there, about ten copies of them."""
TRIALS = 9
"""Penalties tried for one cardinality: two and seven steps of a golden section."""
SMALL_FACTOR = 512
"""Matrices up to this size are factorised for the closed form alone."""
NEIGHBOURS_FROM = 100
"""Smallest cardinality for that: below, it would cost more than finding the answer."""
FEW_STEPS, PATIENCE = 24, 2
"""Most steps of `default` where the gap stays open, and times more where it is nearly closed: there they prove."""
FEW_TRIALS = 3
"""Penalties tried where steps follow."""
LOOSE, LOOKED_AT = 0.02, 4
"""`default` gives up an ascent that after so many steps cannot come closer than the first, relative to the answer (rows
can, where there are any), or is out of reach."""
SETTLED = 0.05
"""Steps end where they can lower the gap by no more than this share of it."""
HOPELESS = 1.5
"""A closed form this many times above the best bound is not searched for a better penalty."""
OUT_OF_REACH = 4.0
"""How many times the gap that another bound leaves counts as out of reach."""
CLOSING = 1.1
"""Where only a closed gap counts, two penalties that promise more than this many times the answer are enough."""
WIDE = 0.2
"""Relative gap of another bound above which `default` makes no ascent from a closed form twice as far out of reach."""
LARGEST_STEP = 2.0e10
"""Where the matrix is not held in memory, `default` makes no ascent whose steps cost more than this, and the factor is
not held either."""
EXACT, NEARLY_EXACT = 1e-8, 2e-4
"""Relative gaps: below the second, neighbouring cardinalities are tried in closed form until the first is reached."""


def neighbouring_forms(rows: Array, direction: Numbers, cardinality: int, promised: float) -> Iterator[ClosedForm]:
    """Closed forms from neighbouring cardinalities.

    A penalty has optimal supports of its own cardinality, and its bound holds for every k. Where the optimal values
    are not concave in k, the best bound for k comes from a neighbouring cardinality.
    """
    energies = np.sort(energies_along(rows, direction))[::-1]
    seen = {cardinality}
    for offset in (-3, -1, 1, 3):
        count = min(max(cardinality + offset, 1), len(energies) - 1)
        reached = _penalised_fixed_point(rows, direction, _middle(energies, count))
        inside = int((energies_along(rows, reached) > _middle(energies, count)).sum())
        if inside in seen or not 0 < inside < len(energies):
            continue
        seen.add(inside)
        yield search_penalty(rows, reached, inside, cardinality, TRIALS, hopeless_above=HOPELESS * promised)


def _penalised_fixed_point(rows: Array, direction: Numbers, penalty: float) -> Numbers:
    """Power steps on the variables whose energy exceeds the penalty, until the set repeats."""
    previous = np.empty(0, dtype=np.int64)
    for _ in range(50):
        inside = np.flatnonzero(energies_along(rows, direction) > penalty)
        if inside.size == 0 or np.array_equal(inside, previous):
            break
        previous = inside
        _, _, right = np.linalg.svd(rows[inside], full_matrices=False)
        direction = right[0]
    return direction


def can_ascend(problem: BoundProblem) -> bool:
    """Whether `default` affords steps of the ascent, beyond the closed form."""
    if problem.holds_matrix or stays_elsewhere(problem):
        return True
    rank = problem.operator.factor_rank
    return rank > 0 and _step_cost(problem.size, rank) <= LARGEST_STEP


def penalised_bound(problem: BoundProblem) -> float:
    """The best bound over the closed form and as many steps of the ascent as `default` affords."""
    if stays_elsewhere(problem):
        return _find_leading_dual(problem, STEPS_ELSEWHERE)
    factor, affordable = find_affordable_factor(problem)
    if factor is None:
        return np.inf
    return _find_best_dual(problem, factor, min(FEW_STEPS, affordable), patience=PATIENCE)


def find_affordable_factor(problem: BoundProblem) -> tuple[Factor | None, int]:
    """The factor, held or not, and how many steps `default` affords; -1 where the closed form is all."""
    in_blocks = not can_ascend(problem)
    factor = find_factor(problem, in_blocks=in_blocks)
    if factor is None or in_blocks:
        return factor, -1
    cost = _step_cost(*factor.rows.shape)
    steps = max(int(MOST_WORK / cost), min(FEWEST_STEPS, int(STRETCH * MOST_WORK / cost)))
    return factor, steps if steps > 0 else -1


def count_ascent(factor: Factor, steps: int) -> float:
    """Operations of the closed form and so many steps at one cardinality; below zero: of the closed form in blocks."""
    size, rank = (int(count) for count in factor.rows.shape)
    return FEW_TRIALS * 2.0 * size * rank**2 + max(steps, 0) * _step_cost(size, rank)


def _step_cost(size: int, rank: int) -> float:
    """Operations of one step of the ascent, those that choose weights among them."""
    return 2.0 * size * rank**2 + 300.0 * size * rank + 60.0 * rank**3 + 2.0e8


def converged_penalised_bound(problem: BoundProblem) -> float:
    """The same with the ascent carried to its end, or to the end of the time allowed."""
    if stays_elsewhere(problem):
        return _find_leading_dual(problem, MOST_STEPS)
    factor = find_factor(problem)
    return np.inf if factor is None else _find_best_dual(problem, factor, MOST_STEPS)


def largest_eigenvalue(problem: BoundProblem) -> float:
    """The largest eigenvalue of the whole matrix, which wins when k is a large part of p; of data from F'F, r x r."""
    if problem.operator.factor_rank == 0 or problem.operator.costs.transfers:
        return spectral_bound(problem)
    factor = find_factor(problem) or find_factor(problem, in_blocks=True, largest=ONCE)
    if factor is None:
        return spectral_bound(problem)
    return dual_value(factor, factor.rows, problem.cardinality, hopeless_above=problem.best)


def stays_elsewhere(problem: BoundProblem) -> bool:
    """Whether there is a factor that does not come to this memory."""
    return problem.operator.factor_rank > 0 and not comes_to_host(problem)


def _find_leading_dual(problem: BoundProblem, steps: int) -> float:
    if problem.cardinality == problem.size:
        return np.inf  # `closed_form_bound` has the best dual points then
    parts = measure_leading(problem, steps)
    rest = float(bound_left_out(problem)[problem.cardinality - 1])
    return np.inf if parts is None else prove(parts, rest, problem.cardinality, hopeless_above=problem.best - rest)


def measure_leading(problem: BoundProblem, steps: int) -> DualParts | None:
    """The best dual points of the ascent on the variables of largest variance; None where they promise nothing.

    A variable with |f_i|^2 <= rho has the dual point zero and the remainder |f_i|^2. So for penalties not below the
    largest variance left out nothing is lost, and of data on a device only the rows above are worked on, there.
    """
    if problem.vector is None:
        return None
    rows, count = FactorRows(problem), LEADING_ENTRIES // problem.operator.factor_rank
    # |f_i|^2 is the computed diagonal up to twice the entries' errors and the scaling (`bound_left_out`).
    variances = problem.diagonal * (1.0 + 32.0 * UNIT) + 4.0 * problem.entry_errors + TINY
    place = problem.size - 1 - count
    floor = float(np.partition(variances, place)[place]) if place >= 0 else 0.0
    leading = np.flatnonzero(variances > floor)
    if len(leading) == 0 or not np.isfinite(floor):
        return None
    with working_memory(rows[:1]), one_blas_thread():
        direction, chosen = find_direction(rows, problem.vector), rows[leading]
        if direction is None:
            return None
        penalty = _middle(np.sort(energies_along(chosen, direction))[::-1], min(problem.cardinality, len(leading) - 1))
        bundle = DualBundle(chosen, problem.cardinality, direction, max(penalty, floor, 1e-9), floor=floor)
        course: list[float] = []
        while bundle.advance(problem.achieved):
            course.append(min(bundle.bound, problem.best) - problem.achieved)
            done = len(course)
            stalled = done > 5 and course[-1] > (1.0 - STALLED) * course[-4]
            stalled |= done > 3 and bundle.bound > HOPELESS * problem.best
            if done > steps or stalled or has_ended(problem, bundle):
                break
        bundle.finish(problem.achieved)
        if not bundle.bound < problem.best:
            return None
        parts = measure(chosen, bundle.mixture())
    return parts._replace(remainders=np.concatenate([parts.remainders, np.delete(variances, leading)]))


def _find_best_dual(problem: BoundProblem, factor: Factor, steps: int, *, patience: int = 1) -> float:
    if problem.cardinality == problem.size:
        return dual_value(factor, factor.rows, problem.cardinality, hopeless_above=problem.best)
    with one_blas_thread():
        kept = find_points(problem, factor, steps, patience=patience)
    return np.inf if kept is None else dual_value(factor, kept, problem.cardinality)


def find_points(problem: BoundProblem, factor: Factor, steps: int, *, patience: int = 1) -> Mixture | ClosedForm | None:
    """The dual points with the best promise below the best bound so far; None where none has one.

    With ``patience`` that many times more steps are made where the gap nearly closes, and none where it is out of
    reach.
    """
    cardinality, rows = problem.cardinality, factor.rows
    direction = find_direction(rows, problem.vector)
    if direction is None:
        direction = np.linalg.eigh(add_up_gram(block for _, block in blocks(rows))[0])[1][:, -1]
    hopeless = min(HOPELESS * problem.best, CLOSING * problem.achieved if problem.closing_only else np.inf)
    enough = problem.achieved + EXACT * abs(problem.achieved)
    trials = TRIALS if steps < 0 else FEW_TRIALS
    form = search_penalty(rows, direction, cardinality, cardinality, trials, hopeless_above=hopeless, enough=enough)
    if problem.closing_only and form.promise - problem.achieved > NEARLY_EXACT * abs(form.promise):
        return None
    kept: Mixture | ClosedForm | None = form if form.promise < problem.best else None
    promised = min(form.promise, problem.best)
    left = problem.best - problem.achieved
    wide = left > WIDE * problem.best and form.promise - problem.achieved > 2.0 * OUT_OF_REACH * left
    # Wide as on noise, where rows prove what can be proven.
    if steps >= 0 and not (patience > 1 and wide) and promised > enough:
        found = _climb(problem, rows, form, steps, patience)
        if found is not None and found.promise < promised:
            kept, promised = found, found.promise
    gap = (promised - problem.achieved) / max(abs(promised), ZERO)
    if EXACT < gap < NEARLY_EXACT and cardinality >= NEIGHBOURS_FROM:
        for form in neighbouring_forms(rows, direction, cardinality, promised):
            if form.promise < promised:
                kept, promised = form, form.promise
    return kept


def _climb(problem: BoundProblem, rows: Numbers, form: ClosedForm, steps: int, patience: int) -> Mixture | None:
    """The best mixture of so many steps of the ascent and a closed form; None where they reach no bound."""
    cardinality = problem.cardinality
    penalty = max(_middle(np.sort(energies_along(rows, form.direction))[::-1], cardinality), 1e-9)
    bundle = DualBundle(rows, cardinality, form.direction, penalty)
    bundle.add_form(form)
    reach = problem.achieved + OUT_OF_REACH * (problem.best - problem.achieved)
    rows_promise, beyond = can_sum_roughly(problem) or problem.holds_matrix, (1.0 + LOOSE) * problem.achieved
    while bundle.advance(problem.achieved):
        nearly = bundle.bound - problem.achieved <= NEARLY_EXACT * abs(bundle.bound)
        if bundle.steps > (patience * steps if nearly else steps) or has_ended(problem, bundle):
            break
        out_of_reach = bundle.bound > reach or (rows_promise and bundle.limit > beyond)
        if patience > 1 and bundle.steps > LOOKED_AT and out_of_reach:
            break
    bundle.finish(problem.achieved)
    return bundle.mixture() if np.isfinite(bundle.bound) else None


def has_ended(problem: BoundProblem, bundle: DualBundle) -> bool:
    """Whether steps close the gap, cannot lower it by much, or cannot beat the best bound so far."""
    gap, lowest = bundle.bound - problem.achieved, max(bundle.limit, problem.achieved)
    settled = bundle.bound - lowest <= SETTLED * gap or lowest >= problem.best
    return bool(gap <= EXACT * abs(bundle.bound) or settled or problem.out_of_time)


def _middle(energies: Numbers, count: int) -> float:
    return 0.5 * float(energies[count - 1] + energies[count])


def find_direction(rows: Array, vector: SparseVector | None) -> Array | None:
    """F'x for the answer found, of length one, where the factor lives; None where it vanishes or nothing was found."""
    if vector is None:
        return None
    chosen = rows[vector.indices]
    direction = place_like(vector.weights, chosen) @ chosen
    length = float(namespace(direction).sqrt(direction @ direction))
    return direction / length if length > 0.0 else None


def closed_form_bound(problem: BoundProblem) -> float:
    """The closed form for the answer found, wherever the data are; infinite where no factor is at hand."""
    if problem.vector is None:
        return np.inf
    if problem.operator.factor_rank == 0 and (problem.operator.costs.transfers or problem.size > SMALL_FACTOR):
        return np.inf
    if not problem.operator.costs.transfers or problem.holds_matrix:
        factor = find_factor(problem)
        return np.inf if factor is None else _find_best_dual(problem, factor, -1)
    return float(closed_form_values(problem, [problem.vector], [problem.cardinality], TRIALS)[problem.cardinality - 1])


def closed_form_values(
    problem: BoundProblem, vectors: list[SparseVector], cardinalities: list[int], trials: int
) -> Numbers:
    """For every cardinality 1..p the smallest bound that the closed forms for any of the answers prove.

    The factor's rows are made where the data live, a block of variables at a time; infinite where there is no factor.
    """
    best = np.full(problem.size, np.inf)
    if problem.operator.factor_rank == 0:
        return best
    rows, left_out = FactorRows(problem), bound_left_out(problem)
    with working_memory(rows[:1]), one_blas_thread():
        for vector, cardinality in zip(vectors, cardinalities, strict=True):
            direction = find_direction(rows, vector)
            if direction is None:
                continue
            points: Array = rows
            if cardinality < problem.size:
                hopeless = HOPELESS * min(problem.best, sum_of_largest(problem.diagonal, cardinality))
                points = search_penalty(rows, direction, cardinality, cardinality, trials, hopeless_above=hopeless)
                if points.promise > hopeless:
                    continue
            best = np.minimum(best, dual_values(measure(rows, points), left_out))
    return best
