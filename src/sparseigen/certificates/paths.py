"""Certificates for a whole path of cardinalities at the price of a few.

Certificates for a whole path of cardinalities at the price of a few.

What a bound is built from does not depend on k: dual points z_i, weights d, the largest eigenvalue, the diagonal. Only
how many terms are summed does. So the expensive part is done at a few cardinalities, and each of its results is then
evaluated for every k by one sort and one running sum.

Certificates for a whole path of data that do not come to this memory.

As in `along_path`, what is expensive is done at a few cardinalities: dual points at up to DUAL_ANCHORS of them, each of
which proves a bound for every k; row bounds at ROW_ANCHORS, each of which bounds every smaller k too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparseigen.certificates.factor import Factor, factorise
from sparseigen.certificates.penalised_dual import best_points, dual_values, streamed_dual_values
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, achieved_value, gamma, raised_sum
from sparseigen.certificates.scaled_rows import scaled_row_bound, settled_weights
from sparseigen.certificates.spectral import largest_eigenvalue_bound, psd_shift
from sparseigen.operators.contract import Indices, Operator, SparseVector
from sparseigen.results import Certificate

ANCHORS = 12
"""Cardinalities, spread geometrically, at which weights and dual points are computed."""
ASCENT_STEPS = 10
"""Steps of the dual ascent at each."""
LARGEST_SIZE = 2048
"""Above this, sorting every row costs more than it saves: points are certified one by one."""
FEWEST_POINTS = 16
"""Shorter paths are certified point by point, which proves a little more at each."""


@dataclass(frozen=True)
class PathBounds:
    """For every cardinality 1..p the smallest upper bound so far, and its name."""

    values: Numbers
    names: list[str]

    def lowered(self, values: Numbers, name: str) -> PathBounds:
        """With another bound taken into account."""
        better = values < self.values
        names = [name if new else old for new, old in zip(better, self.names, strict=True)]
        return PathBounds(np.where(better, values, self.values), names)

    def monotone(self) -> PathBounds:
        """Whatever bounds k + 1 bounds k."""
        values, names = self.values.copy(), list(self.names)
        for place in range(len(values) - 2, -1, -1):
            if values[place + 1] < values[place]:
                values[place], names[place] = values[place + 1], names[place + 1]
        return PathBounds(values, names)


def shares_certificates(operator: Operator, count: int) -> bool:
    """Whether a path of so many points is certified as a whole."""
    return operator.size <= LARGEST_SIZE and count >= FEWEST_POINTS


def certify_path(
    operator: Operator, cardinalities: Sequence[int], vectors: Sequence[SparseVector]
) -> list[Certificate]:
    """A certificate for every point: what its vector reaches, and the smallest of the shared bounds."""
    problem = BoundProblem(operator, operator.size)  # what is left out is then covered for every cardinality
    achieved = [achieved_value(operator, vector) for vector in vectors]
    bounds = PathBounds(np.full(problem.size, np.inf), ["none"] * problem.size)
    margins = entry_margins(problem)
    bounds = bounds.lowered(trace_values(problem) + margins, "trace")
    bounds = bounds.lowered(_spectral_value(problem) + margins, "largest eigenvalue")
    factor = factorise(problem)
    places = np.unique(np.geomspace(1, len(cardinalities), ANCHORS).round().astype(int)) - 1
    for place in places:
        cardinality = int(cardinalities[place])
        point = replace(
            problem,
            cardinality=cardinality,
            vector=vectors[place],
            achieved=achieved[place],
            best=float(bounds.values[cardinality - 1]),
        )
        for values, name in _shared(point, factor, margins):
            bounds = bounds.lowered(values, name)
    bounds = bounds.monotone()
    return [
        certificate_at(problem, low, bounds, cardinality)
        for low, cardinality in zip(achieved, cardinalities, strict=True)
    ]


def _shared(point: BoundProblem, factor: Factor | None, margins: Numbers) -> Iterator[tuple[Numbers, str]]:
    """What one anchor proves for every cardinality."""
    if 2 * point.cardinality <= point.size:
        yield _row_values(point, settled_weights(point)) + margins, "scaled rows"
    if factor is not None and point.cardinality < point.size:
        points = best_points(point, factor, ASCENT_STEPS)
        if points is not None:
            yield dual_values(factor, points), "penalised dual"


def certificate_at(problem: BoundProblem, low: float, bounds: PathBounds, cardinality: int) -> Certificate:
    """The bracket of one point, in the caller's units."""
    upper = problem.unscaled(float(bounds.values[cardinality - 1]))
    return Certificate(low, max(low, upper), bounds.names[cardinality - 1], scale=problem.scale)


def entry_margins(problem: BoundProblem) -> Numbers:
    """The operator's own entry errors for every cardinality."""
    totals = np.cumsum(np.sort(problem.entry_errors)[::-1])
    return np.array([raised_sum(float(total), len(totals)) for total in totals])


def trace_values(problem: BoundProblem) -> Numbers:
    """Sums of the largest diagonal entries, where the matrix is proven positive semidefinite."""
    shift = psd_shift(problem)
    if np.isinf(shift):
        return np.full(problem.size, np.inf)
    totals = np.cumsum(np.sort(problem.diagonal)[::-1])
    slack = 2.0 * gamma(problem.size) * np.cumsum(np.sort(np.abs(problem.diagonal))[::-1])
    values: Numbers = totals + slack + np.arange(problem.size) * shift * (1.0 + 4.0 * UNIT) + TINY
    return values


def _spectral_value(problem: BoundProblem) -> float:
    return np.inf if problem.dense is None else largest_eigenvalue_bound(problem.dense)


def _row_values(problem: BoundProblem, weights: Numbers) -> Numbers:
    """The scaled Gershgorin bound of one set of weights for every cardinality: rows sorted once, summed as they come.

    The same sums as in `scaled_row_values`, with the same margin for their rounding.
    """
    worst = np.full(problem.size, -np.inf)
    steps = 2.0 * gamma(problem.size + 6)
    for own, block in problem.blocks():
        terms = np.abs(block) * weights
        terms[np.arange(len(own)), own] = 0.0
        terms.sort(axis=1)
        rest = np.cumsum(terms[:, ::-1], axis=1) / weights[own, None]
        diagonal = problem.diagonal[own, None]
        # The sum for cardinality k has k - 1 terms; for k = 1 there are none.
        rest = np.hstack([np.zeros((len(own), 1)), rest[:, :-1]])
        rows = diagonal + rest + steps * (np.abs(diagonal) + rest)
        worst = np.maximum(worst, rows.max(axis=0))
    values: Numbers = worst + TINY
    return values


DUAL_ANCHORS = 8
DUAL_TRIALS = 3
"""Penalties tried at each: a neighbour's points prove nearly as much, so a long search does not pay."""
ROW_ANCHORS = 3


def certify_streamed_path(
    operator: Operator, cardinalities: Sequence[int], vectors: Sequence[SparseVector]
) -> list[Certificate]:
    """A certificate for every point, the bounds made by the operator where its data are."""
    problem = BoundProblem(operator, operator.size)  # what is left out is then covered for every cardinality
    achieved = [achieved_value(operator, vector) for vector in vectors]
    margins = entry_margins(problem)
    bounds = PathBounds(np.full(problem.size, np.inf), ["none"] * problem.size)
    bounds = bounds.lowered(trace_values(problem) + margins, "trace")
    places = _spread(len(cardinalities), DUAL_ANCHORS)
    chosen, ks = [vectors[place] for place in places], [int(cardinalities[place]) for place in places]
    values = streamed_dual_values(problem, chosen, ks, DUAL_TRIALS)
    if values is not None:
        bounds = bounds.lowered(values + 2.0 * margins, "closed-form dual")
    for place in _spread(len(cardinalities), ROW_ANCHORS):
        k = int(cardinalities[place])
        point = replace(problem, cardinality=k, vector=vectors[place], achieved=achieved[place])
        point.best = float(bounds.values[k - 1])
        if 2 * k > problem.size or point.closed:
            continue
        own = np.full(problem.size, np.inf)
        own[k - 1] = scaled_row_bound(point)
        bounds = bounds.lowered(own, "scaled rows")
    bounds = bounds.monotone()
    return [certificate_at(problem, low, bounds, k) for low, k in zip(achieved, cardinalities, strict=True)]


def _spread(count: int, anchors: int) -> Indices:
    """Places spread evenly over the path, its end included."""
    return np.unique(np.linspace(0, count - 1, min(anchors, count)).round().astype(np.int64))
