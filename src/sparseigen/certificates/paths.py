"""Certificates for a whole path of cardinalities at the price of a few.

What a bound is built from does not depend on k: dual points z_i, weights d, the largest eigenvalue, the diagonal. Only
how many terms are summed does. So the expensive part is done at a few cardinalities, the anchors, and each of its
results is then evaluated for every k by one sort and one running sum. Where the data do not come to this memory, dual
points in closed form are made at some anchors, ascents and row bounds at fewer; a row bound holds for every smaller k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sparseigen.certificates.dual_points import dual_values, measure
from sparseigen.certificates.factor import bound_left_out, find_factor
from sparseigen.certificates.penalised_dual import (
    closed_form_values,
    find_points,
    measure_leading,
    stays_elsewhere,
)
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, achieved_value, gamma
from sparseigen.certificates.scaled_rows import row_values, scaled_row_bound, settle_weights
from sparseigen.certificates.spectral import largest_eigenvalue_bound, psd_shift
from sparseigen.operators.contract import Indices, Operator, SparseVector
from sparseigen.results import Certificate

ANCHORS = 12
"""Cardinalities, spread geometrically, at which weights and dual points are computed."""
ASCENT_STEPS = 10
"""Steps of the dual ascent at each."""
DUAL_ANCHORS, ROW_ANCHORS = 8, 3
"""Anchors of closed forms, and of ascents and row bounds, where the data do not come to this memory."""
FEW_STEPS = 3
"""Steps of the ascents there after the first."""
DUAL_TRIALS = 3
"""Penalties tried at each: a neighbour's points prove nearly as much, so a long search does not pay."""
LARGEST_SIZE = 2048
"""Above this, sorting every row costs more than it saves: points are certified one by one."""
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
    return operator.size <= LARGEST_SIZE and count >= FEWEST_POINTS


def certify_path(
    operator: Operator, cardinalities: Sequence[int], vectors: Sequence[SparseVector]
) -> list[Certificate]:
    """A certificate for every point: what its vector reaches, and the smallest of the shared bounds."""
    return _certify(operator, cardinalities, vectors, _lower_in_memory)


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
) -> list[Certificate]:
    problem = BoundProblem(operator, operator.size)  # what is left out is then covered for every cardinality
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


def _lower_in_memory(problem: BoundProblem, bounds: PathBounds, points: list[Anchor]) -> PathBounds:
    """The largest eigenvalue, then at every anchor weights and dual points, each evaluated for every cardinality."""
    margins, factor = problem.margins, find_factor(problem)
    if problem.dense is not None:
        bounds = bounds.lower(largest_eigenvalue_bound(problem.dense) + margins, "largest eigenvalue")
    for place in np.unique(np.geomspace(1, len(points), ANCHORS).round().astype(int)) - 1:
        question = points[place].pose(problem, bounds)
        if 2 * question.cardinality <= problem.size:
            weights = settle_weights(question)[1]
            bounds = bounds.lower(shared_row_values(problem, weights) + margins, "scaled rows")
        if factor is not None and question.cardinality < problem.size:
            found = find_points(question, factor, ASCENT_STEPS)
            if found is not None:
                values = dual_values(measure(factor.rows, found), factor.rest)
                bounds = bounds.lower(values, "penalised dual")
    return bounds


def _lower_where_data_live(problem: BoundProblem, bounds: PathBounds, points: list[Anchor]) -> PathBounds:
    """Closed forms at some anchors, each evaluated for every cardinality, then ascents and row bounds at fewer."""
    anchors = [points[place] for place in _choose_anchors(len(points), DUAL_ANCHORS)]
    vectors, cardinalities = [anchor.vector for anchor in anchors], [anchor.cardinality for anchor in anchors]
    values = closed_form_values(problem, vectors, cardinalities, DUAL_TRIALS)
    bounds, elsewhere = bounds.lower(values, "closed-form dual"), stays_elsewhere(problem)
    for place in _choose_anchors(len(points), ROW_ANCHORS):
        question = points[place].pose(problem, bounds)
        parts = measure_leading(question, FEW_STEPS) if elsewhere and not question.closed else None
        if parts is not None:
            bounds = bounds.lower(dual_values(parts, bound_left_out(problem)), "penalised dual")
            question = points[place].pose(problem, bounds)
        if 2 * question.cardinality > problem.size or question.closed:
            continue
        values = np.full(problem.size, np.inf)
        values[question.cardinality - 1] = scaled_row_bound(question)
        bounds = bounds.lower(values, "scaled rows")
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


def shared_row_values(problem: BoundProblem, weights: Numbers) -> Numbers:
    """The scaled Gershgorin bound of one set of weights for every cardinality: rows sorted once, summed as they come.

    The sum for cardinality k has k - 1 terms; for k = 1 there are none.
    """
    worst = np.full(problem.size, -np.inf)
    for members, block in problem.blocks():
        products = np.abs(block) * weights
        products[np.arange(len(members)), members] = 0.0
        products.sort(axis=1)
        sums = np.zeros_like(products)
        np.cumsum(products[:, :0:-1], axis=1, out=sums[:, 1:])
        rows = row_values(problem.diagonal[members, None], sums, weights[members, None], problem.size)
        worst = np.maximum(worst, rows.max(axis=0))
    return worst
