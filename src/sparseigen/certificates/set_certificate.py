"""The certificate of a set of components: the bounds that apply to its constraint, and the smallest of them.

Orthogonal sets have the bound of `certificates.set_bound`. A set whose scores are uncorrelated explains no more than
the span of its components, and so does the adjusted variance of any set (`docs/theory-sets.md`); the
projection on the span uses at most K variables, K the sum of the cardinalities, so the bound for r orthogonal
components of K variables each, K in all, holds for both. Single bounds added up hold for every constraint.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparseigen.certificates.portfolio import smallest_bound
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, achieved_value, gamma, raised_sum, sum_of_largest
from sparseigen.certificates.set_bound import (
    SetSplit,
    Surroundings,
    assess_split,
    empty_split,
    find_violators,
    ky_fan_split,
    prove_set,
    split_from,
    surround,
)
from sparseigen.certificates.set_leaves import bound_listed
from sparseigen.certificates.set_levels import bound_levels, can_level
from sparseigen.certificates.set_relaxation import Group, Multipliers, SetRelaxation, group_cardinalities
from sparseigen.certificates.set_scores import is_semidefinite, price_scores
from sparseigen.certificates.spectral import psd_shift
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators import Operator
from sparseigen.operators.build import as_operator
from sparseigen.operators.contract import Indices, SparseVector

LOOK_EVERY, PATIENCE, GAIN = 20, 6, 2e-4
"""Steps between two looks at the bound; looks that gain less than this share of it, after which the method ends."""
AVERAGED = 4.0
"""Step s counts as s to this power less one in the average."""
STEPS, WORTH = 120, 0.015
"""Most steps of the prices of levels, and the gap above which they are tried: below it they gain little."""
JOINING = 8
"""Outside variables that join the heavy ones at a look, from the third on."""


@dataclass(frozen=True)
class SetEffort:
    """What a set bound may cost."""

    steps: int
    heavy: int
    """Most heavy variables."""
    bounds: str
    """The effort of the single bounds."""
    prices: int = 0
    """Steps that price the supports of small sets."""
    work: float = 0.0
    """Operations that these may take."""


SET_EFFORTS = {
    "cheap": SetEffort(0, 0, "quick"),
    "quick": SetEffort(60, 60, "quick", 60, 2e7),
    "default": SetEffort(320, 200, "default", 240, 3e8),
    "thorough": SetEffort(1500, 280, "tight", 1000, 3e10),
}
"""By the names that searches have; "cheap" is Ky Fan's bound alone."""


@dataclass(frozen=True)
class SetQuestion:
    """The set found, and what is asked about sets like it."""

    cardinalities: tuple[int, ...]
    columns: Numbers
    """The components, one per column, in the order of the cardinalities."""
    effort: SetEffort
    deadline: float = np.inf
    target_gap: float = 1e-6
    disjoint: bool = False
    pair: float = 0.0
    """What two components of the largest cardinality were found to explain; of larger sets, zero for none."""

    @property
    def total(self) -> int:
        """K, the most variables that the set can use."""
        return min(sum(self.cardinalities), len(self.columns))

    def groups(self) -> tuple[tuple[Group, ...], list[Numbers]]:
        """Groups of equal cardinality, and the components of each."""
        groups = group_cardinalities(self.cardinalities)
        wanted = np.array(self.cardinalities)
        return groups, [self.columns[:, wanted == group.cardinality] for group in groups]


@dataclass(frozen=True)
class SingleBounds:
    """Per cardinality the bound of a single component, with its name, and all of them added up."""

    of: dict[int, tuple[float, str]]
    total: float


def bound_orthogonal(
    operator: Operator, question: SetQuestion, singles: SingleBounds, achieved: float
) -> tuple[float, str]:
    """The smallest bound on the variances of orthogonal sets, added up, and its name."""
    best = singles.total, "sum of single bounds"
    problem = BoundProblem(operator, max(question.cardinalities), deadline=question.deadline)
    if problem.dense is None:
        return best[0], f"{best[1]} (set bounds left out: {problem.size} variables)"
    if len(question.cardinalities) == 1:
        return next(iter(singles.of.values()))
    margin = _add_margins(problem, question.cardinalities)
    best = min(best, _list_supports(problem, question, achieved, margin, uncorrelated=False))
    if best[0] <= achieved * (1.0 + question.target_gap):
        return best
    return min(best, _smallest(problem, *question.groups(), question, achieved, margin))


def _list_supports(
    problem: BoundProblem, question: SetQuestion, achieved: float, margin: float, *, uncorrelated: bool
) -> tuple[float, str]:
    """The bound of small sets whose supports can be listed."""
    if not question.effort.prices:
        return np.inf, "none"
    with one_blas_thread():
        bound = bound_listed(
            problem,
            question.cardinalities,
            problem.scale_value(achieved),
            uncorrelated=uncorrelated,
            disjoint=question.disjoint,
            steps=question.effort.prices,
            most_work=question.effort.work,
        )
    return problem.unscale_bound(bound + margin) if np.isfinite(bound) else np.inf, "listed supports"


def bound_uncorrelated(
    operator: Operator, question: SetQuestion, singles: SingleBounds, achieved: float
) -> tuple[float, str]:
    """The same for sets with uncorrelated scores: no more than single bounds, and than what their span can explain."""
    best = singles.total, "sum of single bounds"
    if len(question.cardinalities) == 1:
        return next(iter(singles.of.values()))
    problem = BoundProblem(operator, max(question.cardinalities), deadline=question.deadline)
    definite = problem.dense is not None and is_semidefinite(problem)
    if definite:
        margin = _add_margins(problem, (question.total,) * len(question.cardinalities))
        best = min(best, _list_supports(problem, question, achieved, margin, uncorrelated=True))
    if best[0] <= achieved * (1.0 + question.target_gap):
        return best
    best = min(best, bound_free(operator, question, achieved))
    if not definite or problem.size > question.effort.heavy:
        return best
    if best[0] > achieved * (1.0 + WORTH):
        best = min(best, _level_variances(problem, question, singles))
    with one_blas_thread():
        bound = price_scores(problem, question, problem.scale_value(max(value for value, _ in singles.of.values())))
    return min(best, (problem.unscale_bound(bound), "priced scores")) if np.isfinite(bound) else best


def _level_variances(problem: BoundProblem, question: SetQuestion, singles: SingleBounds) -> tuple[float, str]:
    """The bound of three and more components with a level for each, from what one and two explain at most."""
    cardinality, count = max(question.cardinalities), len(question.cardinalities)
    if count < 3 or not question.effort.prices or not can_level(problem.size, cardinality):
        return np.inf, "none"
    operator = problem.operator
    reached = np.array([achieved_value(operator, SparseVector.from_dense(column)) for column in question.columns.T])
    pair = replace(question, cardinalities=(cardinality,) * 2)
    margin = _add_margins(problem, (pair.total,) * 2)
    known_pair = max(float(np.sort(reached)[-2:].sum()), question.pair)
    two = _list_supports(problem, pair, known_pair, margin, uncorrelated=True)[0]
    single = singles.of[cardinality][0]
    known = [problem.scale_value(value) for value in (single, min(two, 2.0 * single))]
    with one_blas_thread():
        scaled = [problem.scale_value(float(value)) for value in reached]
        bound = bound_levels(problem, cardinality, scaled, known, min(STEPS, question.effort.prices))
    return problem.unscale_bound(bound), "levelled scores"


def bound_free(operator: Operator, question: SetQuestion, achieved: float) -> tuple[float, str]:
    """The smallest bound on the variance that the span of any set explains; infinite, with the reason, for none."""
    count, total = len(question.cardinalities), question.total
    problem = BoundProblem(operator, total, deadline=question.deadline)
    if problem.dense is None:
        return np.inf, f"the matrix of {problem.size} variables is not formed, which a bound for their span needs"
    shift = psd_shift(problem)
    if not np.isfinite(shift):
        return np.inf, "the matrix is not known to be positive semidefinite, which a bound for a span needs"
    margin = _add_margins(problem, (total,) * count) + count * shift * (1.0 + 4.0 * UNIT)
    return _smallest(problem, (Group(count, total),), [question.columns], question, achieved, margin)


def _smallest(
    problem: BoundProblem,
    groups: tuple[Group, ...],
    members: list[Numbers],
    question: SetQuestion,
    achieved: float,
    margin: float,
) -> tuple[float, str]:
    """The smallest of Ky Fan's bound, the relaxation's and its price with single bounds, for the caller's matrix."""
    goal = problem.scale_value(achieved)
    best = np.inf, "none"
    with one_blas_thread():
        for name, bound in _try_bounds(problem, groups, members, question, goal):
            if np.isfinite(bound):
                best = min(best, (problem.unscale_bound(bound + margin), name))
    return best


def _try_bounds(
    problem: BoundProblem, groups: tuple[Group, ...], members: list[Numbers], question: SetQuestion, goal: float
) -> Iterator[tuple[str, float]]:
    """Bounds by name, of the scaled matrix and without the errors of its entries."""
    assert problem.dense is not None
    everything = np.arange(problem.size, dtype=np.int64)
    whole = surround(problem, everything, groups[0].cardinality)
    yield "Ky Fan", prove_set(ky_fan_split(problem.dense, groups, question.total), whole)
    if groups[0].cardinality >= min(problem.size, question.effort.heavy) or question.effort.steps == 0:
        return
    split, around = relax(problem, groups, members, question, goal)
    if np.isfinite(split.value):
        yield "set relaxation", prove_set(split, around)
        if problem.size <= question.effort.heavy:
            yield "priced single bounds", price_singles(split, members, question)


def reach_set(operator: Operator, columns: Numbers) -> tuple[float, list[float]]:
    """A number that the variances of the components certainly add up to, and that of each."""
    reached = [achieved_value(operator, SparseVector.from_dense(column)) for column in columns.T]
    return sum(reached) - 2.0 * gamma(len(reached)) * sum(map(abs, reached)), reached


def reach_span(operator: Operator, columns: Numbers) -> float:
    """A number that the variance explained by the span of the components certainly reaches."""
    basis: list[Numbers] = []
    for column in columns.T:
        rest = column
        for _ in range(2):
            for vector in basis:
                rest = rest - vector * float(vector @ rest)
        length = float(np.linalg.norm(rest))
        if length > 1e-6 * float(np.linalg.norm(column)):
            basis.append(rest / length)
    return reach_set(operator, np.array(basis).T)[0]


def relax(
    problem: BoundProblem, groups: tuple[Group, ...], members: list[Numbers], question: SetQuestion, goal: float
) -> tuple[SetSplit, Surroundings]:
    """The best split of the steps that the effort allows, its theta and Z; H grows by the variables that spoil it."""
    matrix, most = problem.dense, min(question.effort.heavy, problem.size)
    assert matrix is not None
    heavy = _choose_heavy(matrix, question, most)
    within, around = np.ascontiguousarray(matrix[np.ix_(heavy, heavy)]), surround(problem, heavy, groups[0].cardinality)
    state = SetRelaxation(within, groups)
    best, best_around, stale = empty_split(within, groups, question.total), around, 0
    average: Multipliers | None = None
    for step in range(1, question.effort.steps + 1):
        state.step()
        now = state.multipliers()
        # The multipliers swing around their limit: the average, later steps counting more, is closer to it.
        average = now if average is None else average.averaged(now, AVERAGED / (step + AVERAGED))
        late = time.perf_counter() > question.deadline
        if step % LOOK_EVERY and not late:
            continue
        split, free = _look(within, groups, question.total, (now, average), around)
        stale = 0 if split.value < best.value - GAIN * abs(best.value) else stale + 1
        if split.value < best.value:
            best, best_around = split, around
        if late or stale >= PATIENCE or best.value <= goal * (1.0 + question.target_gap):
            break
        if step < 0.75 * question.effort.steps:
            state.balance()
        spoiling = find_violators(free, around)
        room = min(most - len(heavy), int((spoiling > 0.0).sum()), JOINING) if step >= 3 * LOOK_EVERY else 0
        if room > 0:
            joining = around.outside[np.argsort(-spoiling, kind="stable")[:room]]
            larger = np.sort(np.concatenate([heavy, joining]))
            within = np.ascontiguousarray(matrix[np.ix_(larger, larger)])
            places = np.searchsorted(larger, heavy)
            state.enlarge(within, places)
            average = average.enlarge(len(larger), places)
            heavy, around, stale = larger, surround(problem, larger, groups[0].cardinality), 0
    return best, best_around


def _choose_heavy(matrix: Numbers, question: SetQuestion, most: int) -> Indices:
    """The variables that are most related to a component, half as many as there may be."""
    if len(matrix) <= most:
        return np.arange(len(matrix), dtype=np.int64)
    related = np.abs(matrix @ question.columns)
    related /= np.maximum(related.max(axis=0), TINY)
    count = max(4 * most // 5, min(most, question.total + 20))
    order = np.argsort(-(related.max(axis=1) + question.columns.any(axis=1)), kind="stable")
    return np.sort(order[:count]).astype(np.int64)


def _look(
    matrix: Numbers,
    groups: tuple[Group, ...],
    total: int,
    found: tuple[Multipliers, Multipliers],
    around: Surroundings,
) -> tuple[SetSplit, SetSplit]:
    """The best split of the multipliers now and on average, and the one that outside variables would not spoil."""
    none = replace(
        around,
        outside=around.outside[:0],
        squares=around.squares[:0],
        pairs=around.pairs[:0],
        diagonal=around.diagonal[:0],
    )
    tried = []
    for one in found:
        split, price = split_from(matrix, groups, total, one), one.price if len(groups) > 1 else None
        free = assess_split(split, none, price)
        tried.append((assess_split(split, around, price) if len(around.outside) else free, free))
    return min(tried, key=lambda pair: pair[0].value)[0], min(tried, key=lambda pair: pair[1].value)[1]


def price_singles(split: SetSplit, members: list[Numbers], question: SetQuestion) -> float:
    """The trace of Z on K variables, and of every component the best single bound of A - Z, all variables heavy.

    sum_t u_t'Au_t = <Z, sum_t u_t u_t'> + sum_t u_t'(A - Z)u_t, and the first is at most the sum of the K largest Z_ii.
    """
    factor = split.factor
    if factor is None:
        return np.inf
    priced = factor @ factor.T
    squares = (factor**2).sum(axis=1)
    rank, size = factor.shape[1], len(split.matrix)
    rest = split.matrix - 0.5 * (priced + priced.T)
    slack = 2.0 * gamma(rank + 4) * float(squares.sum()) + 4.0 * UNIT * size * float(np.abs(rest).max()) + TINY
    raised = squares * (1.0 + 2.0 * gamma(rank + 4)) + TINY
    shared = raised_sum(sum_of_largest(raised, split.total), split.total)
    value = shared
    operator = as_operator(rest)
    for group, columns in zip(split.groups, members, strict=True):
        reached = np.einsum("ij,ij->j", columns, rest @ columns)
        vector = SparseVector.from_dense(columns[:, int(reached.argmax())])
        problem = BoundProblem(operator, group.cardinality, vector, float(reached.max()), deadline=question.deadline)
        value += group.count * (smallest_bound(problem, question.effort.bounds)[0] + slack)
    return value + 2.0 * gamma(len(split.groups) + 4) * (abs(value) + 2.0 * shared)


def add_single_bounds(operator: Operator, question: SetQuestion) -> SingleBounds:
    """The bounds of single components, and their sum, which holds for every set."""
    values = np.einsum("ij,ij->j", question.columns, _multiply(operator, question.columns))
    total, magnitude, of = 0.0, 0.0, {}
    for group in group_cardinalities(question.cardinalities):
        belongs = np.array(question.cardinalities) <= group.cardinality
        best = int(np.where(belongs, values, -np.inf).argmax())
        vector = SparseVector.from_dense(question.columns[:, best])
        problem = BoundProblem(operator, group.cardinality, vector, float(values[best]), deadline=question.deadline)
        of[group.cardinality] = smallest_bound(problem, question.effort.bounds)
        total += group.count * of[group.cardinality][0]
        magnitude += group.count * abs(of[group.cardinality][0])
    return SingleBounds(of, total + 2.0 * gamma(2 * len(question.cardinalities) + 4) * magnitude)


def _multiply(operator: Operator, columns: Numbers) -> Numbers:
    images = np.zeros_like(columns)
    for t, column in enumerate(columns.T):
        support = np.flatnonzero(column).astype(np.int64)
        images[:, t] = operator.apply_support(support, column[support])
    return images


def _add_margins(problem: BoundProblem, cardinalities: Sequence[int]) -> float:
    """What the entries' own rounding errors can add to the variances of all components together."""
    margins = problem.margins[np.array(cardinalities) - 1]
    return raised_sum(float(margins.sum()), len(margins))
