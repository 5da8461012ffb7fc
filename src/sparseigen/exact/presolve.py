"""Before the search: remove the variables that no support better than the answer found can hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import TINY, UNIT, gamma
from sparseigen.certificates.scaled_rows import FLOOR, starting_weights
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices

Numbers = NDArray[np.float64]

MOST_ROWS_ABOVE = 512
"""With more rows above the cutoff than this, a whole-matrix probe from products is not tried."""


def surviving(problem: BoundProblem, cutoff: float, passes: int) -> Indices:
    """The variables that remain after probing from row blocks; used where the matrix is too large to be held.

    The same rule as at the nodes of the search, but only the rows above the cutoff are read again.
    """
    everything = np.arange(problem.size, dtype=np.int64)
    if problem.dense is not None:
        return everything
    weights = starting_weights(problem)
    alive = np.ones(problem.size, dtype=bool)
    for _ in range(passes):
        rows, least = _row_values(problem, weights)
        above = np.flatnonzero(rows > cutoff)
        if 0 < above.size <= MOST_ROWS_ABOVE:
            entries = np.vstack([np.abs(block) for _, block in problem.blocks(above)]) * weights
            loss = (least[above, None] - np.minimum(entries, least[above, None])) / weights[above, None]
            forced = rows[above, None] - loss + 16.0 * UNIT * np.abs(rows[above, None])
            alive &= (rows > cutoff) | ~(forced <= cutoff).all(axis=0)
        elif above.size == 0:
            alive[:] = False
        if alive.sum() <= LARGEST_MATERIALISED:
            break
        weights = np.maximum(weights * rows / (weights * rows).max(), FLOOR)
    return everything[alive]


def _row_values(problem: BoundProblem, weights: Numbers) -> tuple[Numbers, Numbers]:
    rows, least = np.empty(problem.size), np.empty(problem.size)
    for own, block in problem.blocks():
        sums, least[own] = kernels.top_row_sums(block, own, weights, problem.cardinality - 1)
        rest, diagonal = sums / weights[own], problem.diagonal[own]
        rows[own] = diagonal + rest + 2.0 * gamma(problem.cardinality + 8) * (np.abs(diagonal) + rest) + TINY
    return rows + problem.margin, least
