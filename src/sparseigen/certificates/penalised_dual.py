"""The penalised dual: the best dual points, by a closed form and by an ascent, and the bounds they prove.

`dual_points` says what any dual points prove. The closed form (d'Aspremont, Bach and El Ghaoui, 2008) starts from the
answer found; the ascent goes on from there. Both serve data in memory and on a device, where the ascent works on the
variables of largest variance alone (`measure_leading`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparseigen.certificates.dual_points import (
    LARGEST_POINT,
    ClosedForm,
    DualParts,
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
    to_host,
    working_memory,
)
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, ZERO, sum_of_largest
from sparseigen.certificates.spectral import estimate_largest_eigenvalue, spectral_bound
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators.contract import SparseVector

MOST_WORK = 2.5e9
"""Operations `default` may spend on the ascent, whatever k is."""
ONCE = 6.0e11
"""Operations of F'F where it is made once, for the largest eigenvalue of all."""
DEAREST = 8.0
"""One step is made even if it costs this many times as much."""
SHORT_STEP, LONG_STEP = 3.0, 6.0
"""Lengths of a step of the ascent in units of 1 / lambda_max; long ones where k is above a quarter of p."""
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
FEW_STEPS, PATIENCE = 12, 2
"""Most steps of `default` where the gap stays open, and times more where it is nearly closed: there they prove."""
HOPELESS = 1.5
"""A closed form this many times above the best bound is not searched for a better penalty."""
OUT_OF_REACH = 4.0
"""`default` gives up an ascent whose third step leaves this many times the gap that another bound leaves."""
CLOSING = 1.1
"""Where only a closed gap counts, two penalties that promise more than this many times the answer are enough."""
WIDE = 0.2
"""Relative gap of another bound above which `default` makes no ascent from a closed form twice as far out of reach."""
LARGEST_STEP = 6.0e8
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


@dataclass(frozen=True)
class AscentStep:
    """One step of the ascent.

    ``points`` are its dual points, ``bound`` what they prove up to rounding, and no later step can prove less than
    ``limit`` (unless the penalty has to move by more than its own size).
    """

    points: Array
    bound: float
    limit: float


def ascend(
    rows: Array, direction: Array, penalty: float, cardinality: int, *, floor: float = 0.0
) -> Iterator[AscentStep]:
    """Matrix exponentiated gradient ascent on the relaxation, the penalty following the wanted cardinality.

    Decompositions, r x r, are made on the host wherever the rows live. The penalty does not fall below ``floor``.

    With X = U diag(s) U' and h = F U, the positive eigenvalue t_i of X^1/2 (f_i f_i' - rho I) X^1/2 solves
    sum_j h_ij^2 s_j / (t + rho s_j) = 1, and the dual point is z_ij ~ h_ij / (t_i + rho s_j) in the basis U. The
    relaxation is convex in rho with slope k - (sum of memberships), which gives the limit.
    """
    xp, rank, direction = namespace(rows), rows.shape[1], to_host(direction)
    low = np.log(0.1 / rank)
    logarithm = low * np.eye(rank) + (np.log(0.9) - low) * np.outer(direction, direction)
    length = SHORT_STEP if 4 * cardinality < len(rows) else LONG_STEP
    roots = xp.zeros_like(rows[:, 0])
    for depth in itertools.chain(range(8, 35), itertools.repeat(35)):
        # The depth keeps early iterates well conditioned: near rank one the dual points jump from step to step.
        values, basis = np.linalg.eigh(logarithm)
        values = np.maximum(values - values[-1], -float(depth))
        weights = np.exp(values)
        weights /= weights.sum()
        placed = place_like(basis, rows)
        with np.errstate(all="ignore"):
            points, members = _find_dual_points(rows @ placed, place_like(weights, rows), penalty, roots)
        if not float(xp.abs(points).max()) < LARGEST_POINT:
            return  # rows of very different size: this step proves nothing, nor would later ones
        gradient = to_host(points.T @ points)
        top = max(estimate_largest_eigenvalue(gradient), TINY)
        relaxed = float(roots.sum()) + cardinality * penalty
        limit = relaxed - abs(cardinality - members) * penalty
        yield AscentStep(points @ placed.T, top + cardinality * penalty, limit)
        logarithm = (basis * values) @ basis.T + (length / top) * (basis @ gradient @ basis.T)
        penalty = max(penalty * float(np.clip(members / cardinality, 0.25, 4.0)) ** 0.5, floor)


def _find_dual_points(rotated: Array, weights: Array, penalty: float, roots: Array) -> tuple[Array, float]:
    """The dual points in the basis of X, and the sum of memberships; ``roots`` goes in as a guess and out solved."""
    xp = namespace(rotated)
    points = xp.zeros_like(rotated)
    squares = rotated**2
    lengths = squares.sum(axis=1)
    active = xp.where(lengths > penalty)[0]
    roots[lengths <= penalty] = 0.0
    if len(active) == 0:
        return points, 0.0
    mass, scaled = squares[active] * weights, penalty * weights
    found = xp.maximum(roots[active], mass.sum(axis=1) - penalty * weights.max())
    found = xp.maximum(found, 1e-12 * lengths[active])
    for _ in range(40):  # Newton on 1 / f, concave and increasing in the root: monotone from the second step on
        inverse = 1.0 / (found[:, None] + scaled)
        spread = mass * inverse
        total = spread.sum(axis=1)
        spread *= inverse
        slope = spread.sum(axis=1)
        step = (total - 1.0) * total / slope
        following = xp.maximum(found + step, 0.01 * found)
        converged = float(xp.abs(following / found - 1.0).max()) < 1e-7
        found = following
        if converged:
            break
    roots[active] = found
    points[active] = xp.sqrt(found / slope)[:, None] * rotated[active] * inverse
    return points, float(((spread @ weights) / slope).sum())


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
    # The number of steps follows the cost of finding the answer, which grows with k.
    return _find_best_dual(problem, factor, min(3 + problem.cardinality // 14, 60, affordable), patience=PATIENCE)


def find_affordable_factor(problem: BoundProblem) -> tuple[Factor | None, int]:
    """The factor, held or not, and how many steps `default` affords; -1 where the closed form is all."""
    in_blocks = not can_ascend(problem)
    factor = find_factor(problem, in_blocks=in_blocks)
    if factor is None or in_blocks:
        return factor, -1
    cost = _step_cost(*factor.rows.shape)
    return factor, int(MOST_WORK / cost) if cost <= DEAREST * MOST_WORK else -1


def count_ascent(factor: Factor, steps: int) -> float:
    """Operations of the closed form and so many steps at one cardinality; below zero: of the closed form in blocks."""
    size, rank = (int(count) for count in factor.rows.shape)
    return (TRIALS if steps >= 0 else 3) * 2.0 * size * rank**2 + max(steps, 0) * _step_cost(size, rank)


def _step_cost(size: int, rank: int) -> float:
    """Operations of one step of the ascent."""
    return 6.0 * size * rank**2 + 40.0 * rank**3 + 300.0 * size * rank


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
    best: Array = None
    with working_memory(rows[:1]), one_blas_thread():
        direction, chosen = find_direction(rows, problem.vector), rows[leading]
        if direction is None:
            return None
        penalty = _middle(np.sort(energies_along(chosen, direction))[::-1], min(problem.cardinality, len(leading) - 1))
        promised, course = problem.best, []
        for done, step in enumerate(
            ascend(chosen, direction, max(penalty, floor, 1e-9), problem.cardinality, floor=floor)
        ):
            if step.bound < promised:
                best, promised = step.points, step.bound
            closed = promised - problem.achieved <= EXACT * abs(promised)
            settled = done > 2 and step.limit > promised * (1.0 - 1e-7)
            course.append(promised - problem.achieved)
            stalled = done > 4 and course[-1] > (1.0 - STALLED) * course[-4]
            stalled |= done > 2 and best is None and step.bound > HOPELESS * problem.best
            if done >= steps or closed or settled or stalled or problem.out_of_time:
                break
        if best is None:
            return None
        parts = measure(chosen, best)
    return parts._replace(remainders=np.concatenate([parts.remainders, np.delete(variances, leading)]))


def _find_best_dual(problem: BoundProblem, factor: Factor, steps: int, *, patience: int = 1) -> float:
    if problem.cardinality == problem.size:
        return dual_value(factor, factor.rows, problem.cardinality, hopeless_above=problem.best)
    with one_blas_thread():
        kept = find_points(problem, factor, steps, patience=patience)
    return np.inf if kept is None else dual_value(factor, kept, problem.cardinality)


def find_points(problem: BoundProblem, factor: Factor, steps: int, *, patience: int = 1) -> Numbers | ClosedForm | None:
    """The dual points with the best promise below the best bound so far; None where none has one.

    With ``patience`` the steps are divided: few where the gap stays open, that many times more where it closes.
    """
    few = steps if patience == 1 else min(steps, FEW_STEPS)
    cardinality, rows = problem.cardinality, factor.rows
    direction = find_direction(rows, problem.vector)
    if direction is None:
        direction = np.linalg.eigh(add_up_gram(block for _, block in blocks(rows))[0])[1][:, -1]
    penalty = max(_middle(np.sort(energies_along(rows, direction))[::-1], cardinality), 1e-9)
    hopeless = min(HOPELESS * problem.best, CLOSING * problem.achieved if problem.closing_only else np.inf)
    enough = problem.achieved + EXACT * abs(problem.achieved)
    form = search_penalty(rows, direction, cardinality, cardinality, TRIALS, hopeless_above=hopeless, enough=enough)
    if problem.closing_only and form.promise - problem.achieved > NEARLY_EXACT * abs(form.promise):
        return None
    kept: Numbers | ClosedForm | None = form if form.promise < problem.best else None
    promised = min(form.promise, problem.best)
    left = problem.best - problem.achieved
    out_of_reach = OUT_OF_REACH * left
    wide = left > WIDE * problem.best and form.promise - problem.achieved > 2.0 * out_of_reach
    if patience > 1 and wide:  # as on noise, where rows prove what can be proven
        steps = -1
    lowest = np.inf
    for done, step in enumerate(ascend(rows, direction, penalty, cardinality) if steps >= 0 else ()):
        if step.bound < promised:
            kept, promised = step.points, step.bound
        closed = promised - problem.achieved <= EXACT * abs(promised)
        settled = done > 1 and step.limit > promised * (1.0 - 1e-7)
        nearly = promised - problem.achieved <= NEARLY_EXACT * abs(promised)
        if done >= (patience * steps if nearly else few) or closed or settled or problem.out_of_time:
            break
        lowest = min(lowest, step.bound)  # single steps overshoot
        if patience > 1 and done > 1 and lowest - problem.achieved > out_of_reach:
            break
    gap = (promised - problem.achieved) / max(abs(promised), ZERO)
    if EXACT < gap < NEARLY_EXACT and cardinality >= NEIGHBOURS_FROM:
        for form in neighbouring_forms(rows, direction, cardinality, promised):
            if form.promise < promised:
                kept, promised = form, form.promise
    return kept


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
