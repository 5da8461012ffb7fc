"""The penalised dual in closed form for data that do not come to this memory.

`penalised_dual` proves its bound from a factor of A. An operator whose data live on a device makes the dual points
there and hands over what the proof needs (`Operator.closed_form_dual`): their n x n Gram matrix and one remainder a
variable.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparseigen.certificates.factor import Factor, factorise
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, ZERO, gamma, sum_of_largest
from sparseigen.certificates.spectral import largest_eigenvalue_bound
from sparseigen.operators.contract import DualParts, SparseVector
from sparseigen.operators.matrix import multiply_transposed

MOST_WORK = 2.5e9
"""Operations `default` may spend on the ascent, whatever k is."""
SHORT_STEP, LONG_STEP = 3.0, 6.0
"""Lengths of a step of the ascent in units of 1 / lambda_max; long ones where k is above a quarter of p."""
LARGEST_POINT = 2.0**200
"""Dual points beyond this prove nothing for a matrix with entries of size about one."""
MOST_STEPS = 400
GOLDEN = 0.6180339887498949
NEIGHBOURS_FROM = 100
"""Smallest cardinality for that: below, it would cost more than finding the answer."""
FEW_STEPS, PATIENCE = 12, 2
"""Most steps of `default` where the gap stays open, and times more where it is nearly closed: there they prove."""
HOPELESS = 1.5
"""A closed form this many times above the best bound is not searched for a better penalty."""
LARGEST_STEP = 1.0e8
"""Where the matrix is not held in memory, `default` makes no ascent whose steps cost more than this."""
EXACT, NEARLY_EXACT = 1e-8, 2e-4
"""Relative gaps: below the second, neighbouring cardinalities are tried in closed form until the first is reached."""


def dual_value(factor: Factor, points: Numbers, cardinality: int, *, hopeless_above: float = np.inf) -> float:
    """The proven bound that the dual points give, rounding included; infinite where squares of them overflow."""
    if not float(np.abs(points).max()) < LARGEST_POINT:
        return np.inf
    total = sum_of_largest(remainders(factor, points), cardinality)
    penalty = total * (1.0 + 2.0 * gamma(cardinality)) + factor.rest + gram_slack(points)
    top = largest_eigenvalue_bound(multiply_transposed(points, points), hopeless_above=hopeless_above - penalty)
    return (top + penalty) * (1.0 + 8.0 * UNIT)


def dual_values(factor: Factor, points: Numbers) -> Numbers:
    """The same for every cardinality 1..p at once: the points do not depend on k, only the number of terms does."""
    if not float(np.abs(points).max()) < LARGEST_POINT:
        return np.full(len(points), np.inf)
    totals = np.cumsum(np.sort(remainders(factor, points))[::-1])
    penalties = totals * (1.0 + 2.0 * gamma(len(totals))) + factor.rest + gram_slack(points)
    return (largest_eigenvalue_bound(multiply_transposed(points, points)) + penalties) * (1.0 + 8.0 * UNIT)


def gram_slack(points: Numbers) -> float:
    """The rounding of the points' Gram matrix: p-term sums, at most that share of its trace in the spectral norm."""
    return 2.0 * gamma(len(points)) * float(np.einsum("ij,ij->", points, points)) + TINY


def remainders(factor: Factor, points: Numbers) -> Numbers:
    """rho_i for every variable, raised past its rounding.

    rho_i is the larger root of t^2 - (|f|^2 - |z|^2) t - |f|^2 |z_perp|^2 with z_perp the part of z orthogonal to f;
    it grows with both coefficients, so both are raised past their errors first.
    """
    rows, rank = factor.rows, factor.rows.shape[1]
    error = 2.0 * gamma(rank + 8)
    squares = np.einsum("ij,ij->i", rows, rows)
    sizes = np.einsum("ij,ij->i", points, points)
    minus, plus = rows - points, rows + points
    difference = np.einsum("ij,ij->i", minus, plus)
    spread = np.sqrt(np.einsum("ij,ij->i", minus, minus) * np.einsum("ij,ij->i", plus, plus))
    difference += error * spread
    share = np.einsum("ij,ij->i", rows, points) / np.maximum(squares, TINY)
    across = np.linalg.norm(points - share[:, None] * rows, axis=1)
    # A wrong share only makes the computed part longer, except by its own rounding: z and f times a few roundings.
    across = across * (1.0 + error) + 4.0 * UNIT * (np.sqrt(sizes) + np.abs(share) * np.sqrt(squares))
    product = squares * (1.0 + error) * across**2
    root = np.sqrt(difference**2 + 4.0 * product)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(root - difference > 0.0, 2.0 * product / (root - difference), 0.0)
    found: Numbers = np.where(difference >= 0.0, 0.5 * (difference + root), below) * (1.0 + 16.0 * UNIT)
    return found + 1e-140  # squares that underflowed


def support_points(rows: Numbers, direction: Numbers, penalty: float) -> Numbers:
    """The closed-form dual points for a unit direction q and a penalty rho.

    Where c_i = (f_i'q)^2 > rho: z_i = (f_i (f_i'q) - rho q) / sqrt(c_i - rho). Elsewhere z_i is a multiple of the part
    of f_i orthogonal to q, with |z_i|^2 = rho (|f_i|^2 - rho) / (rho - c_i), or zero when |f_i|^2 <= rho.
    """
    along = rows @ direction
    shares, squares = along**2, np.einsum("ij,ij->i", rows, rows)
    points = np.zeros_like(rows)
    inside = shares > penalty
    points[inside] = along[inside, None] * rows[inside] - penalty * direction
    points[inside] /= np.sqrt(shares[inside] - penalty)[:, None]
    outside = ~inside & (squares > penalty)
    across = rows[outside] - along[outside, None] * direction
    lengths = np.maximum(np.linalg.norm(across, axis=1), TINY)
    room = np.maximum(penalty - shares[outside], 1e-30)  # a share equal to the penalty leaves no room: a useless bound
    wanted = np.sqrt(penalty * (squares[outside] - penalty) / room)
    points[outside] = across * (wanted / lengths)[:, None]
    return points


def neighbouring_forms(
    rows: Numbers, direction: Numbers, cardinality: int, promised: float
) -> Iterator[tuple[Numbers, float]]:
    """Closed-form dual points from neighbouring cardinalities, with what they prove up to rounding.

    A penalty has optimal supports of its own cardinality, and its bound holds for every k. Where the optimal values
    are not concave in k, the best bound for k comes from a neighbouring cardinality.
    """
    shares = np.sort((rows @ direction) ** 2)[::-1]
    seen = {cardinality}
    for offset in (-3, -1, 1, 3):
        count = min(max(cardinality + offset, 1), len(rows) - 1)
        reached = _penalised_fixed_point(rows, direction, _middle(shares, count))
        own = int(((rows @ reached) ** 2 > _middle(shares, count)).sum())
        if own in seen or not 0 < own < len(rows):
            continue
        seen.add(own)
        yield _best_penalty(rows, reached, own, cardinality, promised)


def _penalised_fixed_point(rows: Numbers, direction: Numbers, penalty: float) -> Numbers:
    """Power steps on the variables whose share exceeds the penalty, until the set repeats."""
    previous = np.zeros(len(rows), dtype=bool)
    for _ in range(50):
        along = rows @ direction
        inside = along**2 > penalty
        if not inside.any() or np.array_equal(inside, previous):
            break
        previous = inside
        _, _, right = np.linalg.svd(rows[inside], full_matrices=False)
        direction = right[0]
    return direction


def _best_penalty(
    rows: Numbers, direction: Numbers, own: int, cardinality: int, promised: float
) -> tuple[Numbers, float]:
    """The closed form at the best penalty between the last share inside and the first outside (golden section)."""
    shares = np.sort((rows @ direction) ** 2)[::-1]
    low, width = float(shares[own]), float(shares[own - 1] - shares[own])

    def at(position: float) -> tuple[float, Numbers]:
        penalty = low + position * width
        points = support_points(rows, direction, penalty)
        if not float(np.abs(points).max()) < LARGEST_POINT:
            return np.inf, points
        return float(np.linalg.eigvalsh(points.T @ points)[-1]) + cardinality * penalty, points

    left, right = 0.0, 1.0
    inner, outer = (at(1.0 - GOLDEN), at(GOLDEN))
    hopeless = min(inner[0], outer[0]) > HOPELESS * promised
    for _ in range(0 if hopeless else 7):
        if inner[0] <= outer[0]:
            right, outer = left + GOLDEN * (right - left), inner
            inner = at(right - GOLDEN * (right - left))
        else:
            left, inner = right - GOLDEN * (right - left), outer
            outer = at(left + GOLDEN * (right - left))
    bound, points = min(inner, outer, key=lambda item: item[0])
    return points, bound


@dataclass(frozen=True)
class AscentStep:
    """One step of the ascent.

    ``points`` are its dual points, ``bound`` what they prove up to rounding, and no later step can prove less than
    ``limit`` (unless the penalty has to move by more than its own size).
    """

    points: Numbers
    bound: float
    limit: float


def ascend(rows: Numbers, direction: Numbers, penalty: float, cardinality: int) -> Iterator[AscentStep]:
    """Matrix exponentiated gradient ascent on the relaxation, the penalty following the wanted cardinality.

    With X = U diag(s) U' and h = F U, the positive eigenvalue t_i of X^1/2 (f_i f_i' - rho I) X^1/2 solves
    sum_j h_ij^2 s_j / (t + rho s_j) = 1, and the dual point is z_ij ~ h_ij / (t_i + rho s_j) in the basis U. The
    relaxation is convex in rho with slope k - (sum of memberships), which gives the limit.
    """
    rank = rows.shape[1]
    low = np.log(0.1 / rank)
    logarithm = low * np.eye(rank) + (np.log(0.9) - low) * np.outer(direction, direction)
    length = SHORT_STEP if 4 * cardinality < len(rows) else LONG_STEP
    roots = np.zeros(len(rows))
    for floor in itertools.chain(range(8, 35), itertools.repeat(35)):
        # The floor keeps early iterates well conditioned: near rank one the dual points jump from step to step.
        values, basis = np.linalg.eigh(logarithm)
        values = np.maximum(values - values[-1], -float(floor))
        weights = np.exp(values)
        weights /= weights.sum()
        rotated = rows @ basis
        with np.errstate(all="ignore"):
            points, members = _dual_points(rotated, weights, penalty, roots)
        if not float(np.abs(points).max()) < LARGEST_POINT:
            return  # rows of very different size: this step proves nothing, nor would later ones
        gradient = points.T @ points
        top = max(float(np.linalg.eigvalsh(gradient)[-1]), TINY)
        relaxed = float(roots.sum()) + cardinality * penalty
        limit = relaxed - abs(cardinality - members) * penalty
        yield AscentStep(points @ basis.T, top + cardinality * penalty, limit)
        logarithm = (basis * values) @ basis.T + (length / top) * (basis @ gradient @ basis.T)
        penalty *= float(np.clip(members / cardinality, 0.25, 4.0)) ** 0.5


def _dual_points(rotated: Numbers, weights: Numbers, penalty: float, roots: Numbers) -> tuple[Numbers, float]:
    """The dual points in the basis of X, and the sum of memberships; ``roots`` goes in as a guess and out solved."""
    points = np.zeros_like(rotated)
    squares = rotated**2
    lengths = squares.sum(axis=1)
    active = np.flatnonzero(lengths > penalty)
    roots[lengths <= penalty] = 0.0
    if active.size == 0:
        return points, 0.0
    mass, scaled = squares[active] * weights, penalty * weights
    found = np.maximum(roots[active], mass.sum(axis=1) - penalty * weights.max())
    found = np.maximum(found, 1e-12 * lengths[active])
    for _ in range(40):  # Newton on 1 / f, concave and increasing in the root: monotone from the second step on
        inverse = 1.0 / (found[:, None] + scaled)
        spread = mass * inverse
        total = spread.sum(axis=1)
        spread *= inverse
        slope = spread.sum(axis=1)
        step = (total - 1.0) * total / slope
        following = np.maximum(found + step, 0.01 * found)
        converged = float(np.abs(following / found - 1.0).max()) < 1e-7
        found = following
        if converged:
            break
    roots[active] = found
    points[active] = np.sqrt(found / slope)[:, None] * rotated[active] * inverse
    return points, float(((spread @ weights) / slope).sum())


def penalised_bound(problem: BoundProblem) -> float:
    """The best bound over the closed form and as many steps of the ascent as `default` affords."""
    factor = factorise(problem)
    if factor is None:
        return np.inf
    size, rank = factor.rows.shape
    per_step = 6.0 * size * rank**2 + 40.0 * rank**3 + 300.0 * size * rank
    # The number of steps follows the cost of finding the answer, which grows with k.
    steps = int(min(3 + problem.cardinality // 14, 60, MOST_WORK / per_step))
    if problem.dense is None and per_step > LARGEST_STEP:
        steps = -1
    return _best_dual(problem, factor, steps, patience=PATIENCE)


def converged_penalised_bound(problem: BoundProblem) -> float:
    """The same with the ascent carried to its end, or to the end of the time allowed."""
    factor = factorise(problem)
    return np.inf if factor is None else _best_dual(problem, factor, MOST_STEPS)


def _best_dual(problem: BoundProblem, factor: Factor, steps: int, *, patience: int = 1) -> float:
    if problem.cardinality == problem.size:
        return dual_value(factor, factor.rows, problem.cardinality, hopeless_above=problem.best)
    kept = best_points(problem, factor, steps, patience=patience)
    return np.inf if kept is None else dual_value(factor, kept, problem.cardinality)


def best_points(problem: BoundProblem, factor: Factor, steps: int, *, patience: int = 1) -> Numbers | None:
    """The dual points with the best promise below the best bound so far; None where none has one.

    With ``patience`` the steps are shared out: few where the gap stays open, that many times more where it closes.
    """
    few = steps if patience == 1 else min(steps, FEW_STEPS)
    cardinality, rows = problem.cardinality, factor.rows
    direction = _direction(problem, rows)
    penalty = max(_middle(np.sort((rows @ direction) ** 2)[::-1], cardinality), 1e-9)
    points, bound = _best_penalty(rows, direction, cardinality, cardinality, problem.best)
    kept, promised = (points, bound) if bound < problem.best else (None, problem.best)
    for done, step in enumerate(ascend(rows, direction, penalty, cardinality) if steps >= 0 else ()):
        if step.bound < promised:
            kept, promised = step.points, step.bound
        closed = promised - problem.achieved <= EXACT * abs(promised)
        hopeless = done > 1 and step.limit > promised * (1.0 - 1e-7)
        nearly = promised - problem.achieved <= NEARLY_EXACT * abs(promised)
        if done >= (patience * steps if nearly else few) or closed or hopeless or problem.out_of_time:
            break
    gap = (promised - problem.achieved) / max(abs(promised), ZERO)
    if EXACT < gap < NEARLY_EXACT and cardinality >= NEIGHBOURS_FROM:
        for points, bound in neighbouring_forms(rows, direction, cardinality, promised):
            if bound < promised:
                kept, promised = points, bound
    return kept


def _middle(shares: Numbers, count: int) -> float:
    return 0.5 * float(shares[count - 1] + shares[count])


def _direction(problem: BoundProblem, rows: Numbers) -> Numbers:
    """F'x for the answer found, or the leading direction of the factor."""
    if problem.vector is not None:
        direction = problem.vector.weights @ rows[problem.vector.indices]
        length = float(np.linalg.norm(direction))
        if length > 0.0:
            return np.asarray(direction / length)
    return np.asarray(np.linalg.eigh(multiply_transposed(rows, rows))[1][:, -1])


TRIALS = 9
"""Penalties tried for one cardinality: two and seven steps of a golden section."""


def streamed_dual_bound(problem: BoundProblem) -> float:
    """The closed form for the answer found; infinite where the operator does not offer it or nothing was found."""
    if problem.dense is not None or problem.vector is None:
        return np.inf
    values = streamed_dual_values(problem, [problem.vector], [problem.cardinality], TRIALS)
    return np.inf if values is None else float(values[problem.cardinality - 1]) + 2.0 * problem.margin


def streamed_dual_values(
    problem: BoundProblem, vectors: list[SparseVector], cardinalities: list[int], trials: int
) -> Numbers | None:
    """For every cardinality 1..p the smallest bound that the points for any of the answers prove.

    The entries' own errors are not in it: twice their margin has to be added, because the operator's rows are a
    factor up to twice `entry_errors`.
    """
    answers = [(vector.indices, vector.weights) for vector in vectors]
    found = problem.operator.closed_form_dual(answers, cardinalities, trials)
    if found is None:
        return None
    best = np.full(problem.size, np.inf)
    for parts in found:
        best = np.minimum(best, np.ldexp(proven_values(parts), -problem.exponent))
    return best


def proven_values(parts: DualParts) -> Numbers:
    """What one set of dual points proves for every cardinality, in the units of A; infinite where rounding failed."""
    size = len(parts.remainders)
    nothing = np.full(size, np.inf)
    if not (np.isfinite(parts.gram).all() and np.isfinite(parts.remainders).all() and np.isfinite(parts.squares)):
        return nothing
    totals = np.cumsum(np.sort(parts.remainders)[::-1]) * (1.0 + 2.0 * gamma(size))
    slack = 2.0 * gamma(size) * parts.squares + TINY  # the Gram matrix: p-term sums, in the spectral norm
    values = (largest_eigenvalue_bound(parts.gram) + totals + slack) * (1.0 + 16.0 * UNIT) * parts.scale
    raised: Numbers = values * (1.0 + 4.0 * UNIT)
    return raised
