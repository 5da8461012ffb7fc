"""Variables removed in groups by a split into rows and spectrum.

With the M and e of `split_rows`, a support that holds a member of a group G uses it in place of the smallest product
taken in every row i outside G: the row falls by loss_i = max(0, least_i - max over j in G of |M_ij| e_ij), rows of G
keep their value, and what such a support reaches is at most lambda_max(C - Diag(loss)). Where one Cholesky
factorisation proves that to lie below a cutoff, the whole group is out; where not, its halves are tried. A few hundred
small factorisations decide on thousands of variables, and on real data leave a few dozen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, ZERO, gamma
from sparseigen.certificates.scaled_rows import improve_weights, row_ceilings, row_values, starting_weights
from sparseigen.certificates.small_proof import WORK_PER_ENTRY, search_small
from sparseigen.certificates.spectral import cholesky_defect
from sparseigen.certificates.split_rows import (
    STEP_WORK,
    TEMPERATURE,
    Split,
    Surroundings,
    begin_split,
    lower_split,
    plan_split,
    prove_split,
)
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators.contract import Indices, SparseVector

LEAST_GAIN, WIDER_STEPS, WORTH_WIDENING = 0.06, 24, 1.5e-3
"""Where steps gain less than the first share of the gap, more heavy variables are taken if there is work left for as
many steps as the second, and the gap is above the third."""
WIDER_ENTRIES = 1 << 22
"""Entries of their rows at the most, where the matrix is not held."""
LAPS = 6
MANY, WIDEST = 64, 0.25
"""Where more variables than the first are chosen, a gap above this share of a k-th is too wide for any to be removed;
but there more steps are worth their while."""
EASY = 0.03
"""A gap below this share of a k-th is tried first: variables may be removed without more steps."""
PASSES = 8
"""Passes that raise weights."""
FEW_ABOVE = 0.01
"""Rows above the level, as a share of the heavy variables, up to which the first weights are good enough."""
OVERSHOOT = 0.02
"""By how much more than needed weights are raised: raising one raises other rows."""
FEW = 0.25
"""Share of the rows up to which they are brought up to date by the columns whose weight changed."""
PRODUCTS_PER_SECOND = 1e10
"""Multiplications of rows from data: says what is hopeless within the time left, never what is true."""
MOST_PRODUCTS = 1 << 26
"""Entries of the table (heavy variables x all) that groups are looked up in: 512 MiB."""
BARREN = 32
"""Groups in a row that could not be removed, after which the others, which are harder, stay."""
TEST_WORK = 3.0e9
"""Operations of the tests of groups, a third of the number of heavy variables cubed each; then the others stay."""


class Reduction:
    """A split of a problem, lowered as far as the caller likes, and the variables that it leaves."""

    def __init__(self, problem: BoundProblem, around: Surroundings) -> None:
        self.problem, self.around = problem, around
        self.split = begin_split(problem, around)
        self.ease = -around.weights
        """How easily variables can be removed, as far as is known."""

    def widen(self, count: int) -> None:
        """More heavy variables: those that are hardest to remove. The rows of the others stay where they are."""
        heavy, outside = self.around.heavy, np.ones(self.problem.size, dtype=bool)
        outside[heavy] = False
        hardest = np.flatnonzero(outside)[np.argsort(self.ease[outside], kind="stable")]
        wider = np.sort(np.concatenate([heavy, hardest[: max(count - len(heavy), 0)]]))
        if len(wider) == len(heavy):
            return
        outer = self.around.outer if len(wider) < self.problem.size else -np.inf
        before, places = self.split, np.ix_(*2 * [np.searchsorted(wider, heavy)])
        self.around = Surroundings(wider, self.around.weights, outer)
        self.split = begin_split(self.problem, self.around)
        self.split.part[places], self.split.ratios[places] = before.part, before.ratios
        self.split.value = max(before.value, outer)

    def restricted(self, question: BoundProblem, kept: Indices) -> Reduction | None:
        """The same for the problem at some variables, None without a heavy one: fewer candidates raise no row."""
        factor = float(np.ldexp(1.0, self.problem.exponent - question.exponent))
        inside = np.isin(self.around.heavy, kept)
        if not inside.any():
            return None
        heavy = np.searchsorted(kept, self.around.heavy[inside]).astype(np.int64)
        outer = factor * self.around.outer if len(heavy) < question.size else -np.inf
        narrower = Reduction(question, Surroundings(heavy, self.around.weights[kept], outer))
        narrower.split.part = factor * self.split.part[np.ix_(inside, inside)]
        narrower.split.ratios = self.split.ratios[np.ix_(inside, inside)].copy()
        narrower.split.value, narrower.ease = factor * self.split.value, self.ease[kept]
        return narrower

    def lower(self, steps: int, enough: float = -np.inf, *, least_gain: float = 0.0, to_the_end: bool = True) -> float:
        """So many steps more; the bound proven for the whole problem. They end where it falls below ``enough``.

        They end early where they gain less than ``least_gain`` and, if no others follow, where they are hopeless.
        """
        problem = self.problem
        level = problem.achieved - problem.margin
        enough = max(enough, level + 0.3 * problem.target_gap * abs(level), self.around.outer)
        with one_blas_thread():
            self.split = lower_split(
                self.split,
                level,
                steps,
                enough=enough,
                hopeless_above=problem.best - problem.margin if to_the_end else np.inf,
                least_gain=least_gain,
                out_of_time=lambda: problem.out_of_time,
            )
            inner = prove_split(self.split, hopeless_above=problem.best)
        return max(inner, self.around.outer) + problem.margin

    def find_survivors(self, cutoff: float) -> Indices:
        """The variables that a support above the cutoff can hold; all where the rows outside say nothing."""
        problem, everything = self.problem, np.arange(self.problem.size, dtype=np.int64)
        inside = cutoff - problem.margin - 4.0 * UNIT * (abs(cutoff) + problem.margin)
        if self.around.outer > inside or len(self.around.heavy) * problem.size > MOST_PRODUCTS:
            return everything
        with one_blas_thread():
            test = make_test(problem, self.around, self.split, inside)
            self.ease = rank_losses(test, problem.achieved)
            easiest_first = np.argsort(-self.ease, kind="stable").astype(np.int64)
            return remove_groups(test, easiest_first, out_of_time=lambda: problem.out_of_time)


def split_and_search(problem: BoundProblem, most_work: float, block_work: float) -> tuple[float, SparseVector | None]:
    """The bound of a split and, where it removes most variables, of a search over the blocks of the others.

    Returns the bound, and an answer above the problem's own if the search came across one.
    """
    plan = plan_split(problem, most_work)
    if plan is None:
        return np.inf, None
    reduction = Reduction(problem, plan.around)
    size = max(abs(problem.achieved), ZERO)
    cutoff = problem.achieved + problem.target_gap * size
    upper, better, left = np.inf, None, most_work
    many = problem.cardinality > MANY
    widest, most_steps = (WIDEST * size, 2 * plan.steps) if many else (size, plan.steps)
    # A row loses a product in k at most: small gaps as compared with that let most variables be removed.
    for lap in range(LAPS):
        if lap > 1:
            wider = _widened(len(reduction.around.heavy), problem, left)
            if wider == 0 or upper - problem.achieved <= WORTH_WIDENING * size:
                break
            reduction.widen(wider)
        count = len(reduction.around.heavy)
        steps = plan.steps // 4 if lap == 0 else min(int(left / (STEP_WORK * count**2)), most_steps)
        gain = LEAST_GAIN if lap > 0 and _widened(count, problem, left) else 0.0
        enough = max(plan.enough, problem.achieved + (0.0 if lap else EASY) / problem.cardinality * size)
        reached = reduction.lower(steps, enough, least_gain=gain, to_the_end=lap > 0 and gain == 0.0)
        left -= STEP_WORK * count**2 * reduction.split.steps
        too_wide = problem.cardinality * (reached - problem.achieved) > widest
        upper = min(upper, reached)
        if upper <= cutoff or too_wide or problem.out_of_time:
            continue
        members = reduction.find_survivors(cutoff)
        if len(members) < problem.cardinality:  # nothing better than the cutoff is left
            return min(upper, cutoff), None
        if 2 * len(members) > problem.size or WORK_PER_ENTRY * len(members) ** 2 > block_work:
            continue
        found, better = search_small(problem, block_work, members=members)
        upper = min(upper, max(found, cutoff))
        if better is not None or np.isfinite(found):
            break
    return upper, better


def _widened(count: int, problem: BoundProblem, work: float) -> int:
    """Twice as many heavy variables, or as many as leave room for some steps; none where that is hardly more."""
    most = min(2 * count, problem.size, int((max(work, 0.0) / (WIDER_STEPS * STEP_WORK)) ** 0.5))
    if not problem.holds_matrix:
        most = min(most, WIDER_ENTRIES // problem.size)
    return most if most >= 1.3 * count else 0


@dataclass
class GroupTest:
    """What is needed to ask whether supports with a member of a group lie below the cutoff.

    ``rest`` is A - M among the heavy variables, whose row values and smallest products taken are ``rows`` and
    ``least``; ``products`` has a row per heavy variable and a column per variable; ``heavy`` are the heavy ones.
    Rounding of A's own entries is left to the caller, who lowers the cutoff by the problem's margin.
    """

    rest: Numbers
    rows: Numbers
    least: Numbers
    products: Numbers
    heavy: Indices
    cutoff: float

    def lies_below(self, group: Indices) -> bool:
        """Whether every support with at least one member of the group is proven to lie at or below the cutoff.

        The slack of a row, made for all its k - 1 products, covers k - 2 of them and a smaller one in place of the
        last; subtraction and difference are rounded twice: see `find_removable`.
        """
        loss = np.maximum(self.least - self.products[:, group].max(axis=1), 0.0)
        loss[np.isin(self.heavy, group)] = 0.0
        return proves_below(self.rest, self.rows - loss + 16.0 * UNIT * np.abs(self.rows), self.cutoff)


def proves_below(rest: Numbers, diagonal: Numbers, cutoff: float) -> bool:
    """Whether a matrix with this diagonal, each other entry rounded once, has no eigenvalue above the cutoff.

    One Cholesky factorisation of cI - B as in `largest_eigenvalue_bound`; what it can hide, which is known from the
    trace beforehand, is taken off the cutoff, together with one rounding of every entry.
    """
    size = len(rest)
    largest = max(float(rest.max()), -float(rest.min()), float(np.abs(diagonal).max()), abs(cutoff))
    trace = 2.0 * size * largest
    room = 2.0 * UNIT * size * largest + 4.0 * gamma(size + 2) * trace + 16.0 * UNIT * largest + 2.0 * TINY
    held = (cutoff - room) - diagonal
    if not float(held.min()) > 0.0:
        return False
    shifted = -rest
    shifted[np.diag_indices(size)] = held
    return bool(np.isfinite(cholesky_defect(shifted)))


def make_test(problem: BoundProblem, around: Surroundings, split: Split, cutoff: float) -> GroupTest:
    """The test of groups of all variables by a split among the heavy ones, whose outside rows lie below the cutoff."""
    heavy, weights = around.heavy, around.weights
    exact = split.symmetrised()
    part, inner = exact.part, np.abs(exact.part) * exact.ratios
    sums, least = exact.sums()
    products = np.empty((len(heavy), problem.size))
    for members, block in problem.blocks(heavy):
        products[np.searchsorted(heavy, members)] = np.abs(block) * weights / weights[members, None]
    products[:, heavy] = inner
    # As in `prove_split`: a product and its ratio are rounded three times at most.
    rows = row_values(split.matrix.diagonal(), sums, np.ones(len(heavy)), split.cardinality + 4)
    return GroupTest(split.matrix - part, rows, least, products, heavy, cutoff)


def rank_losses(test: GroupTest, level: float) -> Numbers:
    """For each variable by how much it lowers C where C is largest: the larger, the easier it is to remove."""
    whole = test.rest.copy()
    whole[np.diag_indices(len(whole))] = test.rows
    values, vectors = np.linalg.eigh(whole)
    temperature = max(TEMPERATURE * (values[-1] - level), 1e-12)
    weights = np.exp((values - values[-1]) / temperature)
    shares = vectors**2 @ (weights / weights.sum())
    losses: Numbers = shares @ np.maximum(test.least[:, None] - test.products, 0.0)
    losses[test.heavy] -= shares * np.maximum(test.least - test.products[np.arange(len(whole)), test.heavy], 0.0)
    return losses


def remove_groups(test: GroupTest, order: Indices, *, out_of_time: Callable[[], bool] = lambda: False) -> Indices:
    """The variables that remain of those in ``order``, which begins with the easiest to remove."""
    waiting, kept, failures = [order], [np.empty(0, dtype=np.int64)], 0
    tests = 3.0 * TEST_WORK / max(len(test.heavy), 1) ** 3
    while waiting:
        group, tests = waiting.pop(), tests - 1.0
        if failures >= BARREN or tests < 0.0 or out_of_time():
            kept.append(group)
        elif test.lies_below(group):
            failures = 0
        elif len(group) == 1:
            kept.append(group)
            failures += 1
        else:
            waiting += [group[len(group) // 2 :], group[: len(group) // 2]]
            failures += 1
    return np.sort(np.concatenate(kept))


def surround_closely(problem: BoundProblem, count: int, level: float) -> Surroundings | None:
    """At least so many heavy variables, and weights for all with which the rows of the others lie below the level.

    None where the first pass takes more time than there is. Raising d_j lowers row j as 1 / d_j, and raises the
    products with j elsewhere. What cannot be lowered becomes heavy.
    """
    rows = _Rows(problem, starting_weights(problem))
    if not rows.form(level):
        return None
    ranked = weights = rows.weights
    values = rows.values
    if problem.vector is not None:  # the product with the answer, before it is raised
        product = problem.operator.apply_support(problem.vector.indices, problem.vector.weights)
        ranked = np.abs(np.asarray(product, dtype=np.float64))
    heavy = _choose_heavy(problem, ranked, count)
    if int((values > level).sum()) - int((values[heavy] > level).sum()) > FEW_ABOVE * count:
        rows.weigh(improve_weights(weights, np.maximum(values, 0.0)))  # a step towards better weights
        heavy = _choose_heavy(problem, rows.weights, count)
    rows.outside[heavy] = False
    for _ in range(PASSES):
        if not rows.form(level):
            break
        weights, values = rows.weights, rows.values
        above = np.flatnonzero(rows.outside & (values > level))
        if len(above) == 0 or problem.out_of_time:
            break
        diagonal = problem.diagonal[above]
        needed = (values[above] - diagonal) / np.maximum(level - diagonal, 1e-9)
        factor = np.where(diagonal < level, needed * (1.0 + OVERSHOOT), 1.0)
        rows.raise_weights(above, np.clip(factor, 1.0, 4.0))
    outside = rows.outside & (values <= level)
    if int((rows.outside & ~outside).sum()) > count:  # too many for heavy ones
        outside = rows.outside
    outer = float(values[outside].max()) if outside.any() else -np.inf
    return Surroundings(np.flatnonzero(~outside).astype(np.int64), weights, outer)


def _choose_heavy(problem: BoundProblem, ranked: Numbers, count: int) -> Indices:
    """The variables of the answer, and those that rank highest."""
    order = np.argsort(-ranked, kind="stable").astype(np.int64)
    if problem.vector is not None:
        order = np.concatenate([problem.vector.indices, order[~np.isin(order, problem.vector.indices)]])
    return order[:count]


class _Rows:
    """Values of the rows outside the heavy variables for weights d that change; entries' own errors are left out.

    Where few weights rise, sums are not formed again: for the set R of raised ones,

        sum of the k - 1 largest new products <= sum before + sum over j in R of max(0, new product - least before),

    because t members of R leave room for k - 1 - t old products, which lack t times the smallest product or more. The
    roundings of what is added are counted among those of the sums.
    """

    def __init__(self, problem: BoundProblem, weights: Numbers) -> None:
        self.problem, self.outside = problem, np.ones(problem.size, dtype=bool)
        self.sums, self.least, self.short = np.zeros(problem.size), np.zeros(problem.size), np.zeros(problem.size)
        self.weigh(weights)

    def weigh(self, weights: Numbers) -> None:
        """Other weights for all: nothing is known of the sums."""
        self.weights, self.known = weights, np.zeros(self.problem.size, dtype=bool)
        self.raised, self.growth = np.empty(0, dtype=np.int64), np.zeros(self.problem.size)

    def form(self, level: float) -> bool:
        """Bring all values up to date, forming rows that may lie above the level; False if there is no time for it."""
        problem = self.problem
        self.values = row_ceilings(problem, self.weights)
        wanted = np.flatnonzero(self.outside & ~self.known & (self.values > level)).astype(np.int64)
        if not self._affords(len(wanted)):
            return False
        if len(wanted):
            self.sums[wanted], self.least[wanted], self.short[wanted] = problem.row_sums(self.weights, wanted)
            self.known[wanted] = True
            self.growth[wanted] = 0.0
        known = np.flatnonzero(self.known)
        sums, terms = self.sums[known] + self.growth[known], problem.cardinality + len(self.raised) + 4
        self.values[known] = row_values(
            problem.diagonal[known], sums, self.weights[known], terms, shortfall=self.short[known]
        )
        return True

    def raise_weights(self, raised: Indices, factors: Numbers) -> None:
        """Multiply some weights by factors of one or more."""
        weights = self.weights.copy()
        weights[raised] *= factors
        raised = np.union1d(self.raised, raised)
        if len(raised) > FEW * int(self.known.sum()) or not self._affords(len(raised)):
            self.weigh(weights)
            return
        self.weights, self.raised, self.growth = weights, raised, np.zeros(len(weights))
        for members, block in self.problem.blocks(raised):
            products = np.abs(block) * weights[members, None]
            products[np.arange(len(members)), members] = 0.0
            self.growth += np.maximum(products - self.least, 0.0).sum(axis=0)

    def _affords(self, count: int) -> bool:
        """Whether so many rows can be formed in half of the time left."""
        problem = self.problem
        if problem.dense is not None or count == 0:
            return True
        seconds = count * problem.operator.costs.product / PRODUCTS_PER_SECOND
        return seconds <= 0.5 * (problem.deadline - time.perf_counter()) and problem.affords(count, "row sums")
