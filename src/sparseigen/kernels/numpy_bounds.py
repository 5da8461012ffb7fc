"""The NumPy kernels behind the bounds: the truth their compiled twins are tested against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Positions = NDArray[np.int64]


def top_row_sums(block: Numbers, own: Positions, weights: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Per row f the sum of the ``count`` largest ``|block[f, j]| * weights[j]``, j != own[f], and the smallest used."""
    products = np.abs(block) * weights
    products[np.arange(len(block)), own] = 0.0
    return _sums_of_largest(products, count)


def node_row_sums(
    matrix: Numbers, members: Positions, n_inside: int, picks: int, weights: Numbers
) -> tuple[Numbers, Numbers]:
    """Row sums of the scaled bound at a node of the search.

    ``members`` are the variables in play, the first ``n_inside`` of them fixed in; a support takes those and
    ``picks`` others. A free row takes picks - 1 other free ones, an inside row takes picks. Returns the sums and the
    smallest free product used.
    """
    products = np.abs(matrix[np.ix_(members, members)]) * weights
    np.fill_diagonal(products, 0.0)
    of_inside, of_free = products[:, :n_inside], products[:, n_inside:]
    sums, least = np.empty(len(members)), np.empty(len(members))
    sums[:n_inside], least[:n_inside] = _sums_of_largest(of_free[:n_inside], picks)
    sums[n_inside:], least[n_inside:] = _sums_of_largest(of_free[n_inside:], max(0, picks - 1))
    return sums + of_inside.sum(axis=1), least


def _sums_of_largest(products: Numbers, count: int) -> tuple[Numbers, Numbers]:
    n_rows, width = products.shape
    if count == 0 or width == 0:
        return np.zeros(n_rows), np.zeros(n_rows)
    largest = np.partition(products, width - count, axis=1)[:, width - count :]
    return largest.sum(axis=1), largest[:, 0].copy()
