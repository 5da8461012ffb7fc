"""Certificates for a whole path of cardinalities at the price of a few.

What a bound is built from does not depend on k: dual points z_i, weights d, the largest eigenvalue, the diagonal. Only
how many terms are summed does. So the expensive part is done at a few cardinalities, the anchors, or goes on at each
point from that of its neighbour, and its results are evaluated for every k by one sort and one running sum. Where the
data do not come to this memory, dual points in closed form are made at some anchors, ascents and row bounds at fewer; a
row bound holds for every smaller k. Where they do, rows come first, which say where the rest is worth its cost, then
dual points (`path_duals`) and split rows (`path_splits`), or row bounds of a matrix too large to be held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sparseigen.certificates.dual_points import dual_values, measure
from sparseigen.certificates.factor import Factor, bound_left_out
from sparseigen.certificates.path_duals import DualFollower, mixed_values
from sparseigen.certificates.path_splits import Group
from sparseigen.certificates.penalised_dual import (
    WIDE,
    closed_form_values,
    find_affordable_factor,
    measure_leading,
    stays_elsewhere,
)
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, achieved_value, gamma
from sparseigen.certificates.scaled_rows import scaled_row_bound, scaled_row_values, settle_weights
from sparseigen.certificates.spectral import largest_eigenvalue_bound, psd_shift
from sparseigen.kernels.eigen import one_blas_thread
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Operator, SparseVector
from sparseigen.results import Certificate

Say = Callable[[str], None]

DUAL_ANCHORS, ROW_ANCHORS = 8, 3
"""Anchors of closed forms; and of ascents and row bounds where the data do not come to this memory."""
FEW_STEPS = 3
"""Steps of the ascents there after the first."""
DUAL_TRIALS = 3
"""Penalties tried at each: a neighbour's points prove nearly as much, so a long search does not pay."""
LARGEST_SIZE = 2048
"""Up to this size any matrix is certified as a whole, above data in memory and matrices that are held."""
ROW_GROUP = 3
"""Neighbouring points that share the weights of row bounds where the matrix is not held."""
ROW_WORK = 1.6e11
"""Multiplications that forming the rows of a matrix that is not held may take for a whole path."""
SPLIT_GROUPS = 5
"""Groups of neighbouring points that share heavy variables and weights."""
FEWEST_POINTS = 16
"""Shorter paths are certified point by point, which proves a little more at each."""


@dataclass(frozen=True)
class PathBounds:
    """For every cardinality 1..p the smallest upper bound so far, and its name."""

    values: Numbers
    names: list[str]

    def lower(self, values: Numbers, name: str) -> PathBounds:
        """With another bound taken into account."""
        better = values < self.values
        names = [name if new else old for new, old in zip(better, self.names, strict=True)]
        return PathBounds(np.where(better, values, self.values), names)

    def lower_some(self, found: Iterable[tuple[int, float, str]]) -> PathBounds:
        """With bounds of single cardinalities taken into account."""
        values, names = self.values.copy(), list(self.names)
        for cardinality, value, name in found:
            if value < values[cardinality - 1]:
                values[cardinality - 1], names[cardinality - 1] = value, name
        return PathBounds(values, names)

    def make_monotone(self) -> PathBounds:
        """Whatever bounds k + 1 bounds k."""
        values, names = self.values.copy(), list(self.names)
        for place in range(len(values) - 2, -1, -1):
            if values[place + 1] < values[place]:
                values[place], names[place] = values[place + 1], names[place + 1]
        return PathBounds(values, names)


@dataclass(frozen=True)
class Anchor:
    """A cardinality at which something expensive is computed, with the answer found there and what it reaches."""

    cardinality: int
    vector: SparseVector
    achieved: float

    def pose(self, whole: BoundProblem, bounds: PathBounds) -> BoundProblem:
        """The question at this cardinality, with the best bound so far."""
        best = float(bounds.values[self.cardinality - 1])
        return whole.at(self.cardinality, self.vector, self.achieved, best)


def certifies_whole_path(operator: Operator, count: int) -> bool:
    """Whether a path of so many points is certified as a whole."""
    in_memory = not operator.costs.transfers and operator.costs.affordable_columns >= operator.size
    known = operator.factor_rank > 0 or operator.size <= LARGEST_MATERIALISED
    return count >= FEWEST_POINTS and (operator.size <= LARGEST_SIZE or (in_memory and known))


def certify_path(
    operator: Operator,
    cardinalities: Sequence[int],
    vectors: Sequence[SparseVector],
    *,
    deadline: float = np.inf,
    quick: bool = False,
    say: Say | None = None,
) -> list[Certificate]:
    """A certificate for every point: what its vector reaches, and the smallest of the shared bounds.

    ``quick``: rows and dual points alone. ``say`` hears which part of the proofs begins, of how many.
    """
    lower = partial(_lower_in_memory, say=say or _say_nothing, quick=quick)
    with one_blas_thread():
        return _certify(operator, cardinalities, vectors, lower, deadline)


def _say_nothing(text: str) -> None:
    """Nobody listens."""


def certify_streamed_path(
    operator: Operator, cardinalities: Sequence[int], vectors: Sequence[SparseVector]
) -> list[Certificate]:
    """The same for data that do not come to this memory."""
    return _certify(operator, cardinalities, vectors, _lower_where_data_live)


def _certify(
    operator: Operator,
    cardinalities: Sequence[int],
    vectors: Sequence[SparseVector],
    lower: Callable[[BoundProblem, PathBounds, list[Anchor]], PathBounds],
    deadline: float = np.inf,
) -> list[Certificate]:
    # At the size of the matrix: what is left out is then covered for every cardinality.
    problem = BoundProblem(operator, operator.size, deadline=deadline)
    points = [
        Anchor(int(k), vector, achieved_value(operator, vector))
        for k, vector in zip(cardinalities, vectors, strict=True)
    ]
    bounds = PathBounds(np.full(problem.size, np.inf), ["none"] * problem.size)
    bounds = bounds.lower(trace_values(problem) + problem.margins, "trace")
    bounds = lower(problem, bounds, points).make_monotone()
    return [_certificate_at(problem, point, bounds) for point in points]


def _certificate_at(problem: BoundProblem, point: Anchor, bounds: PathBounds) -> Certificate:
    """The bracket of one point, in the caller's units."""
    place, low = point.cardinality - 1, point.achieved
    upper = problem.unscale_bound(float(bounds.values[place]))
    return Certificate(low, max(low, upper), bounds.names[place], scale=problem.scale)


def _lower_in_memory(
    problem: BoundProblem, bounds: PathBounds, points: list[Anchor], say: Say, quick: bool
) -> PathBounds:
    """Rows, dual points and split rows where the matrix can be held; where not, dual points and then rows.

    ``quick`` leaves out split rows, and rows of matrices that are not held.
    """
    if not problem.holds_matrix:
        bounds = _lower_by_duals(problem, bounds, points, say).make_monotone()
        return bounds if quick else _follow_rows(problem, bounds, points, say)
    places = np.array_split(np.arange(len(points)), max(1, min(SPLIT_GROUPS, len(points))))
    groups = [Group([points[place].pose(problem, bounds) for place in group]) for group in places]
    for number, group in enumerate(groups, 1):
        say(f"proving {len(points)} bounds: rows, {number} of {len(groups)}")
        bounds = bounds.lower_some(group.bound_rows())
    bounds = _lower_by_duals(problem, bounds, points, say).make_monotone()
    for number, group in enumerate([] if quick else groups, 1):
        say(f"proving {len(points)} bounds: split rows, {number} of {len(groups)}")
        bounds = bounds.lower_some(group.lower_splits(bounds.values))
        bounds = bounds.lower_some(group.close_rows(bounds.values))
    return bounds


def _lower_by_duals(problem: BoundProblem, bounds: PathBounds, points: list[Anchor], say: Say) -> PathBounds:
    """The largest eigenvalue, then dual points, each evaluated for every cardinality, from the largest down."""
    factor, steps = find_affordable_factor(problem)
    bounds = bounds.lower(_largest_eigenvalues(problem, factor), "largest eigenvalue")
    if factor is None:
        return bounds
    anchors = set(_spread_anchors([point.cardinality for point in points], DUAL_ANCHORS).tolist())
    follower, made = DualFollower(factor, steps, len(points)), []
    for place in range(len(points) - 1, -1, -1):
        question = points[place].pose(problem, bounds)
        if problem.out_of_time or question.closed or question.cardinality == problem.size:
            continue
        say(f"proving {len(points)} bounds: dual points, {len(points) - place} of {len(points)}")
        if steps < 0 and place in anchors:
            values = closed_form_values(problem, [points[place].vector], [question.cardinality], DUAL_TRIALS)
            bounds = bounds.lower(values, "closed-form dual")
        elif steps >= 0 and (found := follower.make(question, place, closed_form=place in anchors)) is not None:
            made.append(found)
            bounds = bounds.lower(dual_values(found.parts, factor.rest), "penalised dual")
    questions = [point.pose(problem, bounds) for point in points]
    return bounds.lower_some(mixed_values(made[::-1], questions, factor.rest))


def _largest_eigenvalues(problem: BoundProblem, factor: Factor | None) -> Numbers:
    """The largest eigenvalue of the whole matrix with every cardinality's margin; of data from F'F, r x r."""
    if factor is not None and problem.operator.factor_rank > 0:
        return dual_values(measure(factor.rows, factor.rows), bound_left_out(problem))
    if problem.dense is None:
        return np.full(problem.size, np.inf)
    return largest_eigenvalue_bound(problem.dense) + problem.margins


def _follow_rows(problem: BoundProblem, bounds: PathBounds, points: list[Anchor], say: Say) -> PathBounds:
    """Row bounds where the matrix is not held: weights settled at every third point serve its neighbours too."""
    left = ROW_WORK / max(problem.operator.costs.step(1), 1.0)
    # Downward, because a bound for a larger k holds for those that are left out.
    places = _choose_anchors(len(points), max(1, int(left / problem.size)))[::-1]
    for group in np.array_split(places, -(-len(places) // ROW_GROUP)):
        say(f"proving {len(points)} bounds: rows, from {group[-1] + 1} on")
        questions = [points[place].pose(problem, bounds) for place in group]
        questions = [one for one in questions if not one.closed and 1 < one.cardinality <= problem.size // 2]
        middle, weights = len(questions) // 2, np.ones(0)
        for question in [*questions[middle : middle + 1], *questions[:middle], *questions[middle + 1 :]]:
            question.columns_left = min(question.columns_left, left)
            if question is questions[middle]:
                value, weights, _ = settle_weights(question)
            else:
                value = scaled_row_values(question, weights)[0]
            left = question.columns_left
            if question.out_of_time:
                return bounds
            bounds = bounds.lower_some([(question.cardinality, value, "scaled rows")])
    return bounds


def _spread_anchors(cardinalities: Sequence[int], anchors: int) -> Indices:
    """Places whose cardinalities are spread geometrically, both ends included."""
    wanted = np.geomspace(cardinalities[0], cardinalities[-1], min(anchors, len(cardinalities)))
    return np.unique(np.searchsorted(cardinalities, wanted.round().astype(np.int64)).clip(0, len(cardinalities) - 1))


def _lower_where_data_live(problem: BoundProblem, bounds: PathBounds, points: list[Anchor]) -> PathBounds:
    """Closed forms at some anchors, each evaluated for every cardinality, then ascents and row bounds at fewer."""
    anchors = [points[place] for place in _choose_anchors(len(points), DUAL_ANCHORS)]
    vectors, cardinalities = [anchor.vector for anchor in anchors], [anchor.cardinality for anchor in anchors]
    values = closed_form_values(problem, vectors, cardinalities, DUAL_TRIALS)
    bounds, elsewhere = bounds.lower(values, "closed-form dual"), stays_elsewhere(problem)
    for place in _choose_anchors(len(points), ROW_ANCHORS)[::-1]:
        question = points[place].pose(problem, bounds)
        parts = measure_leading(question, FEW_STEPS) if elsewhere and not question.closed else None
        if parts is not None:
            bounds = bounds.lower(dual_values(parts, bound_left_out(problem)), "penalised dual")
            question = points[place].pose(problem, bounds)
        elif question.best - question.achieved > WIDE * question.best:
            elsewhere = False  # as on noise: no ascent would prove anything
        if 2 * question.cardinality > problem.size or question.closed:
            continue
        bounds = bounds.lower_some([(question.cardinality, scaled_row_bound(question), "scaled rows")])
    return bounds


def _choose_anchors(count: int, anchors: int) -> Indices:
    """Places spread evenly over the path, its end included."""
    return np.unique(np.linspace(0, count - 1, min(anchors, count)).round().astype(np.int64))


def trace_values(problem: BoundProblem) -> Numbers:
    """Sums of the largest diagonal entries, where the matrix is proven positive semidefinite."""
    shift = psd_shift(problem)
    if np.isinf(shift):
        return np.full(problem.size, np.inf)
    totals = np.cumsum(np.sort(problem.diagonal)[::-1])
    slack = 2.0 * gamma(problem.size) * np.cumsum(np.sort(np.abs(problem.diagonal))[::-1])
    values: Numbers = totals + slack + np.arange(problem.size) * shift * (1.0 + 4.0 * UNIT) + TINY
    return values
