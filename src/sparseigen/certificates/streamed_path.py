"""Certificates for a whole path of data that do not come to this memory.

As in `along_path`, what is expensive is done at a few cardinalities: dual points at up to DUAL_ANCHORS of them, each of
which proves a bound for every k; row bounds at ROW_ANCHORS, each of which bounds every smaller k too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sparseigen.certificates.achieved import achieved_value
from sparseigen.certificates.along_path import PathBounds, certificate_at, entry_margins, trace_values
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.scaled_rows import scaled_row_bound
from sparseigen.certificates.streamed_dual import streamed_dual_values
from sparseigen.operators.contract import Indices, Operator
from sparseigen.results import Certificate
from sparseigen.solvers.interface import SparseVector

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
