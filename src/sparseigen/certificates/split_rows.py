"""Rows and spectrum together: the bound that closes most gaps where the matrix is in memory.

For any symmetric M with zero diagonal and any ratios e_ij > 0 with e_ij e_ji = 1, every support S of k variables and
unit x on S,

    x'Ax <= x'(A - M)x + sum_i x_i^2 (sum over j in S, j != i of |M_ij| e_ij) <= lambda_max(C),
    C = A - M + Diag(row),    row_i = the sum of the k - 1 largest |M_ij| e_ij, j != i,

because 2 |M_ij x_i x_j| <= |M_ij| (e_ij x_i^2 + e_ji x_j^2). With M = A off the diagonal and e_ij = d_j / d_i this is
the scaled row bound, with M = 0 the largest eigenvalue, and with e = 1 it is below the dual of DSPCA's relaxation.
M and e are free only among the *heavy* variables H; pairs with another end keep M_ij = A_ij and e_ij = d_j / d_i, so
that C falls apart into C_HH and a diagonal, whose weights are raised until it lies below the answer found.

The bound is convex in M and in log e. It is lowered by gradient steps of Polyak's length (the answer found is the level
sought) on log trace exp(C / t) t with t a share of the gap; the matrix exponential is taken in the space of the leading
eigenvectors, which follow C from step to step. Any step may be the last: `prove_split` proves what it reached.

B. T. Polyak, "Minimization of unsmooth functionals", USSR Computational Mathematics and Mathematical Physics 9 (1969);
Yu. Nesterov, "Smoothing technique and its applications in semidefinite optimization", Math. Program. 110 (2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rough_rows import can_sum_roughly, find_rough_rows
from sparseigen.certificates.rounding import TINY, UNIT
from sparseigen.certificates.scaled_rows import (
    bound_rows_roughly,
    form_rows,
    row_ceilings,
    row_values,
    settle_weights,
    update_rows,
)
from sparseigen.certificates.spectral import largest_eigenvalue_bound
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators.contract import Indices

TEMPERATURE = 0.3
"""Smoothing of the largest eigenvalue, as a share of the gap."""
FOLLOWED = 24
"""Leading eigenvectors that follow C; below four times as many variables all of them are computed."""
ROUNDS, EARLY = 2, 6
"""Products of C with these vectors per step, in the first steps; later one."""
LARGEST_RATIO = 1.0e6
LONGEST = 0.7
"""Largest change of log e, and of M relative to A, in one step."""
MOMENTUM = 0.8
"""The share of the last direction in the next one, towards which it grows: it halves the number of steps."""
DIVERGED = 2.5
"""Where the gap is this many times the smallest so far, steps go on from there, half as long."""
SINGLE_FROM = 512
"""So many heavy variables or more move in float32: memory is the limit there."""
REFRESHED = 8
"""Steps after which the vectors that follow C are made orthonormal again."""
SMALLEST_LENGTH = 1e-30
LOOK_BACK = 8
"""Steps that say whether the others are hopeless."""
PATIENCE, GAIN, RAISE = 4, 0.01, 0.3
"""Steps that gain less than the second share of the gap, after which the level sought is raised by the third."""
FEWEST, HEAVY = 200, 4
"""Heavy variables: at least the first, and the second per variable chosen."""
MOST_WORK, STEP_WORK = 4.0e9, 120.0
"""Operations of `default`, and of one step per entry among the heavy variables."""
STEPS, MOST_STEPS = 20, 90
"""Steps for which the number of heavy variables leaves room, and the most."""
NEARLY = 3.0e-5
"""`default` is content with this gap where no search over supports closes it."""
THOROUGH, PASS_SHARE = 40.0, 16.0
"""How many times more work `tight` may take; how many times more a matrix product may do than other operations."""
PASSES = 3
"""Passes that form rows where the matrix is not held."""
OVERSHOOT = 1e-5
"""By how much more than needed weights are raised: about what rough sums are off by."""
RAISES = 8
"""Passes that raise the weights of the variables outside H."""


@dataclass
class Split:
    """M and e among the heavy variables, and what they reach up to rounding."""

    matrix: Numbers
    """A among the heavy variables."""
    others: Numbers
    """Per row the largest |A_ij| d_j / d_i, j not heavy."""
    cardinality: int
    part: Numbers
    ratios: Numbers
    value: float = np.inf
    vectors: Numbers | None = None
    """Leading eigenvectors of C after the last step, from which steps for a neighbouring cardinality go on."""
    steps: int = 0
    """Those that led here, when last asked for some."""

    def sums(self) -> tuple[Numbers, Numbers]:
        """Per row the sum of the products |M_ij| e_ij that the worst support takes, and the smallest of them."""
        size = len(self.matrix)
        products = np.empty((size, size + self.others.shape[1]))
        np.multiply(self.part, self.ratios, out=products[:, :size])
        products[:, size:] = self.others
        places, ones = np.arange(size, dtype=np.int64), np.ones(products.shape[1])
        count = min(self.cardinality, products.shape[1]) - 1
        sums, least = kernels.top_row_sums(products, places, ones, count)
        return sums, least

    def symmetrised(self) -> Split:
        """The same with M symmetric to the bit and e_ji the computed 1 / e_ij."""
        upper = np.triu(self.ratios, 1)
        with np.errstate(divide="ignore"):
            lower = np.where(upper > 0.0, 1.0 / upper, 0.0).T
        return replace(self, part=0.5 * (self.part + self.part.T), ratios=upper + lower)


def lower_split(
    split: Split,
    level: float,
    steps: int,
    *,
    enough: float,
    hopeless_above: float = np.inf,
    least_gain: float = 0.0,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Split:
    """The best split of some steps towards the level; ends where the bound falls below ``enough``.

    It ends early where steps as good as the last ones would leave it above ``hopeless_above``, or where the last ones
    gained less than the share ``least_gain`` of the gap.
    """
    moving = _Moving(split)
    best, course, stale, below, lowest = split.value, [], 0, level, np.inf
    improved, boldness, since = False, 1.0, 0
    for _ in range(steps):
        values, vectors, diagonal = moving.look()
        top = max(float(values[-1]), float(diagonal.max()))
        if not np.isfinite(top):
            break
        if top < best:
            best, improved, boldness = top, True, min(1.2 * boldness, 1.0)
            moving.keep()
        course.append(best)
        if improved and top - level > DIVERGED * (best - level):  # steps were too long
            moving.restore()
            boldness, since = 0.5 * boldness, 0
            continue
        if best <= enough or out_of_time() or _is_hopeless(course, level, steps, hopeless_above):
            break
        if _has_stalled(course, level, least_gain):
            break
        density, smooth = _soften(values, vectors, diagonal, top, max(TEMPERATURE * (best - level), 1e-12))
        stale = 0 if smooth < lowest - GAIN * (lowest - below) else stale + 1
        lowest = min(lowest, smooth)
        if stale >= PATIENCE:  # the level may be out of reach
            below, stale = below + RAISE * (lowest - below), 0
        momentum, since = min(max(since - 2, 0) / (since + 6.0), MOMENTUM), since + 1
        if not moving.step(density, boldness * (smooth - below), momentum):
            break
    split = moving.kept_split(split, best) if improved else split
    return replace(split, steps=len(course))


def _has_stalled(course: list[float], level: float, least_gain: float) -> bool:
    """Whether the last few steps gained less than a share of the gap."""
    if len(course) <= 3 * LOOK_BACK:
        return False
    return course[-1 - 2 * LOOK_BACK] - course[-1] < least_gain * (course[-1] - level)


def _is_hopeless(course: list[float], level: float, steps: int, hopeless_above: float) -> bool:
    """Whether the rest of the steps, each as good as the last few on average, ends above a bound that is known."""
    done = len(course)
    if done < 2 * LOOK_BACK or not np.isfinite(hopeless_above):
        return False
    before, now = course[-1 - LOOK_BACK] - level, course[-1] - level
    if not 0.0 < now <= before:
        return False
    reached = now * (now / before) ** ((steps - done) / LOOK_BACK)
    return bool(level + reached > hopeless_above)


class _Moving:
    """M and e on their way: C = A - M + Diag(row) and the ratios, in float32 where they are large."""

    def __init__(self, split: Split) -> None:
        size = len(split.matrix)
        dtype = np.float32 if size >= SINGLE_FROM else np.float64
        self.matrix, self.ratios = split.matrix.astype(dtype), split.ratios.astype(dtype)
        self.rest: NDArray[Any] = (split.matrix - split.part).astype(dtype)
        self.others = split.others.astype(dtype)
        self.own, self.at = split.matrix.diagonal().copy(), np.diag_indices(size)
        self.count = min(split.cardinality, size + self.others.shape[1]) - 1
        # M moves in the metric of |A| plus a little, log e in that of ones.
        self.floor = 0.05 * float(np.abs(split.matrix).mean()) + TINY
        self.slope, self.turn = np.zeros_like(self.rest), np.zeros_like(self.rest)
        self.thresholds = np.zeros(size, dtype=dtype)
        self.spectrum = _Spectrum(size, split.vectors)
        self.kept = self.rest.copy(), self.ratios.copy()

    def look(self) -> tuple[Numbers, Numbers, Numbers]:
        """Eigenvalues and vectors of C, and its diagonal."""
        found = kernels.split_ceilings(self.matrix, self.rest, self.ratios, self.others, self.count, self.thresholds)
        rows, self.thresholds = found
        diagonal: Numbers = self.own + rows
        self.rest[self.at] = diagonal
        return *self.spectrum.follow(self.rest), diagonal

    def step(self, density: Numbers, promise: float, momentum: float) -> bool:
        """A step of Polyak's length along the slopes, mixed with those before; False where there is none."""
        state = self.matrix, self.rest, self.ratios
        density = density.astype(self.rest.dtype, copy=False)
        norms = kernels.split_slopes(*state, self.thresholds, density, self.floor, momentum, self.slope, self.turn)
        length = 4.0 * float(norms[:2].sum())  # both sides of the diagonal
        if not 0.0 < length < np.inf:
            return False
        step = min(promise / length, LONGEST / max(float(norms[2:].max()), TINY))
        kernels.split_update(*state, self.slope, self.turn, self.floor, step, LARGEST_RATIO)
        return True

    def keep(self) -> None:
        """Remember where it is."""
        np.copyto(self.kept[0], self.rest)
        np.copyto(self.kept[1], self.ratios)

    def restore(self) -> None:
        """Go back there, and forget the directions."""
        np.copyto(self.rest, self.kept[0])
        np.copyto(self.ratios, self.kept[1])
        self.slope[:], self.turn[:] = 0.0, 0.0

    def kept_split(self, split: Split, value: float) -> Split:
        """The split that was remembered."""
        part = split.matrix - self.kept[0]
        part[self.at] = 0.0
        ratios, vectors = self.kept[1].astype(np.float64), self.spectrum.vectors
        return replace(split, part=part, ratios=ratios, value=value, vectors=vectors)


class _Spectrum:
    """The leading eigenpairs of a matrix that changes a little from call to call.

    A Rayleigh-Ritz step in the space of the vectors, of their residuals and of a few random ones, in the precision of
    the matrix.
    """

    def __init__(self, size: int, vectors: Numbers | None = None) -> None:
        self.size, self.rng = size, np.random.default_rng(0)
        self.vectors = vectors
        self.calls = 0

    def follow(self, matrix: Numbers) -> tuple[Numbers, Numbers]:
        """Eigenvalues ascending and vectors: all of a small matrix, the leading ones of others."""
        if self.size < 4 * FOLLOWED:
            values, vectors = np.linalg.eigh(matrix)
            return values, vectors
        if self.vectors is None:
            self.vectors = self._begin(matrix)
        self.calls += 1
        vectors = self.vectors
        images = matrix @ vectors
        for _ in range(ROUNDS if self.calls <= EARLY else 1):
            inner = vectors.T @ images
            fresh = self.rng.standard_normal((self.size, 4)).astype(matrix.dtype)
            beside = _orthonormalise(vectors, np.hstack([images - vectors @ inner, fresh]))
            moved = matrix @ beside
            mixed = vectors.T @ moved
            small = np.block([[inner, mixed], [mixed.T, beside.T @ moved]]).astype(np.float64)
            values, rotation = np.linalg.eigh(0.5 * (small + small.T))
            rotation = rotation[:, -FOLLOWED:].astype(matrix.dtype)
            vectors = vectors @ rotation[:FOLLOWED] + beside @ rotation[FOLLOWED:]
            images = images @ rotation[:FOLLOWED] + moved @ rotation[FOLLOWED:]
        if self.calls % REFRESHED == 0:
            vectors = np.linalg.qr(vectors)[0]
        self.vectors = vectors
        return values[-FOLLOWED:], vectors

    def _begin(self, matrix: Numbers) -> Numbers:
        if np.count_nonzero(matrix) > self.size:  # steps were made before: C is no longer diagonal
            begun: Numbers = np.linalg.eigh(matrix)[1][:, -FOLLOWED:]
            return np.ascontiguousarray(begun)
        largest = np.argsort(-matrix.diagonal(), kind="stable")[:FOLLOWED]
        return np.eye(self.size, dtype=matrix.dtype)[:, largest]


def _orthonormalise(vectors: Numbers, block: Numbers) -> Numbers:
    """A basis of what the block spans beside orthonormal vectors, by two rounds of a Cholesky factorisation."""
    for _ in range(2):
        block = block - vectors @ (vectors.T @ block)
        block /= np.maximum(np.sqrt(np.einsum("ij,ij->j", block, block)), SMALLEST_LENGTH)
        gram = (block.T @ block).astype(np.float64)
        try:
            inverse = np.linalg.inv(np.linalg.cholesky(gram))
        except np.linalg.LinAlgError:  # residuals that depend on each other
            return np.ascontiguousarray(np.linalg.qr(np.hstack([vectors, block]))[0][:, vectors.shape[1] :])
        block = block @ inverse.T.astype(block.dtype)
    return block


def _soften(
    values: Numbers, vectors: Numbers, diagonal: Numbers, top: float, temperature: float
) -> tuple[Numbers, float]:
    """exp(C / t) over its trace, and t log trace; what the vectors do not span counts as if C were diagonal there."""
    weights = np.exp((values - top) / temperature)
    rest = np.maximum(np.exp((diagonal - top) / temperature) - vectors**2 @ weights, 0.0)
    total = float(weights.sum() + rest.sum())
    matters = weights > 1e-9 * total
    kept = vectors[:, matters]
    density = (kept * (weights[matters] / total).astype(kept.dtype)) @ kept.T
    density[np.diag_indices(len(density))] += (rest / total).astype(kept.dtype)
    return density, top + temperature * float(np.log(max(total, 1.0)))


def prove_split(split: Split, *, hopeless_above: float = np.inf) -> float:
    """The bound that M and e prove for supports, rounding of A's entries left out.

    |M_ij| e_ij is rounded once, and e_ji is taken as 1 / e_ij; with the sum of k terms that is below k + 4 roundings.
    """
    size, exact = len(split.matrix), split.symmetrised()
    sums, _ = exact.sums()
    rows = row_values(split.matrix.diagonal(), sums, np.ones(size), split.cardinality + 4)
    rest = split.matrix - exact.part
    rest[np.diag_indices(size)] = rows
    rounding = 2.0 * UNIT * size * float(np.abs(rest).max()) + TINY
    return largest_eigenvalue_bound(rest, hopeless_above=hopeless_above - rounding) + rounding


@dataclass(frozen=True)
class Surroundings:
    """The heavy variables, weights d for all, and a proven bound on the rows of the others."""

    heavy: Indices
    weights: Numbers
    outer: float


def surround(problem: BoundProblem, count: int, level: float, most_passes: int = RAISES) -> Surroundings:
    """Choose the heavy variables, and raise the others' weights until their rows lie below the level.

    Raising d_j lowers row j, and raises the entry of j in other rows; heavy rows seldom use it.
    """
    assert problem.vector is not None
    chosen = problem.vector.indices
    _, weights, known = settle_weights(problem)
    order = np.argsort(-weights, kind="stable")
    order = np.concatenate([chosen, order[~np.isin(order, chosen)]])
    heavy = np.sort(order[:count]).astype(np.int64)
    outside = np.setdiff1d(np.arange(problem.size, dtype=np.int64), heavy)
    outer, kept, diagonal = np.inf, weights, problem.diagonal
    for done in range(most_passes if len(outside) else 0):
        rows = known - problem.margin if done == 0 else _form_outside(problem, weights, outside, level)
        if rows is None:
            break
        rows = rows[outside]
        reached = float(rows.max())
        if reached < outer:
            outer, kept = reached, weights
        if outer <= level or problem.out_of_time:
            break
        # Row i less its diagonal entry falls as 1 / d_i.
        above = rows > level
        raised, rows = outside[above], rows[above]
        room = np.maximum(level - diagonal[raised], 1e-9)
        factor = np.where(diagonal[raised] < level, (rows - diagonal[raised]) / room, 1.0)
        weights = weights.copy()
        weights[raised] *= np.clip(factor * (1.0 + OVERSHOOT), 1.0, 4.0)
    return Surroundings(heavy, kept, outer if len(outside) else -np.inf)


def _form_outside(problem: BoundProblem, weights: Numbers, outside: Indices, level: float) -> Numbers | None:
    """Proven values of the rows outside, entries' errors left out, others infinite; None where they cost too much."""
    rough, rows = find_rough_rows(problem), np.full(problem.size, np.inf)
    rows[outside] = row_ceilings(problem, weights)[outside]
    wanted = outside[rows[outside] > level]
    if rough is not None and not rough.held:
        changed = update_rows(problem, rough, weights)
        return None if changed is None else changed[1] - problem.margin
    if rough is not None:
        rows[wanted] = np.minimum(rows[wanted], bound_rows_roughly(problem, rough, weights, wanted))
    elif len(wanted) and not problem.affords(len(wanted), "row sums"):
        return None
    elif len(wanted):
        rows[wanted] = form_rows(problem, weights, wanted)[0] - problem.margin
    return rows


def begin_split(problem: BoundProblem, around: Surroundings) -> Split:
    """M = A and e_ij = d_j / d_i: the scaled row bound, from which the steps start."""
    heavy, weights = around.heavy, around.weights
    rows = np.vstack([block for _, block in problem.blocks(heavy)])
    outside = np.ones(problem.size, dtype=bool)
    outside[heavy] = False
    others = np.abs(rows[:, outside]) * weights[outside] / weights[heavy, None]
    count = min(problem.cardinality - 1, others.shape[1])
    if count < others.shape[1]:
        others = np.partition(others, others.shape[1] - count, axis=1)[:, others.shape[1] - count :]
    matrix = np.ascontiguousarray(rows[:, heavy])
    return split_from_rows(matrix, np.ascontiguousarray(others), weights[heavy], problem.cardinality)


def split_from_rows(matrix: Numbers, others: Numbers, weights: Numbers, cardinality: int) -> Split:
    """The split that is the scaled row bound with these weights."""
    part = matrix.copy()
    np.fill_diagonal(part, 0.0)
    return Split(matrix, others, cardinality, part, weights / weights[:, None])


def split_row_bound(problem: BoundProblem) -> float:
    """The bound of so many steps among so many heavy variables as `default` affords."""
    return _bound(problem, MOST_WORK)


def converged_split_row_bound(problem: BoundProblem) -> float:
    """The same with more heavy variables and more steps, or to the end of the time allowed."""
    return _bound(problem, THOROUGH * MOST_WORK)


@dataclass(frozen=True)
class Plan:
    """The heavy variables and how many steps among them some work affords; a bound down to ``enough`` suffices."""

    around: Surroundings
    steps: int
    enough: float


def plan_split(problem: BoundProblem, most_work: float) -> Plan | None:
    """What to do for a problem; None where rows cost too much, or cannot beat the best bound so far."""
    cardinality, size = problem.cardinality, problem.size
    if problem.vector is None or not np.isfinite(problem.achieved) or cardinality in (1, size):
        return None
    if problem.operator.costs.transfers and not problem.holds_matrix:
        return None  # whole columns would have to be fetched
    at_hand = problem.holds_matrix or can_sum_roughly(problem)
    pass_work = 0.0 if at_hand else 2.0 * float(size) * problem.operator.costs.product
    if PASSES * pass_work > PASS_SHARE * most_work:
        return None
    level = problem.achieved
    close = level + 0.3 * problem.target_gap * abs(level)
    count = min(size, max(FEWEST, HEAVY * cardinality), max(int((most_work / STEPS / STEP_WORK) ** 0.5), FEWEST))
    if cardinality >= count:
        return None
    rough = find_rough_rows(problem)
    held = problem.holds_matrix if rough is None else rough.held
    around = surround(problem, count, close, RAISES if held or rough is not None else PASSES)
    if around.outer + problem.margin >= problem.best:
        return None
    enough = max(close, around.outer)
    if most_work <= MOST_WORK:
        enough = max(enough, level + NEARLY * abs(level))
    most_steps = MOST_STEPS if most_work <= MOST_WORK else 8 * MOST_STEPS
    return Plan(around, int(min(most_work / (STEP_WORK * count**2), most_steps)), enough)


def _bound(problem: BoundProblem, most_work: float) -> float:
    plan = plan_split(problem, most_work)
    if plan is None:
        return np.inf
    split = begin_split(problem, plan.around)
    with one_blas_thread():
        split = lower_split(
            split, problem.achieved, plan.steps, enough=plan.enough, out_of_time=lambda: problem.out_of_time
        )
        return max(prove_split(split, hopeless_above=problem.best), plan.around.outer) + problem.margin
