"""The compiled kernels behind the bounds: same names and signatures as `numpy_bounds`."""

from __future__ import annotations

import numpy as np

from sparseigen.kernels import _compiled
from sparseigen.kernels.numpy_bounds import Numbers, Positions


def top_row_sums(block: Numbers, own: Positions, weights: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Per row f the sum of the ``count`` largest ``|block[f, j]| * weights[j]``, j != own[f], and the smallest used."""
    sums, least = np.empty(len(block)), np.empty(len(block))
    _compiled.top_row_sums(block, own, weights, count, sums, least)
    return sums, least


def node_row_sums(
    matrix: Numbers, members: Positions, n_inside: int, picks: int, weights: Numbers
) -> tuple[Numbers, Numbers]:
    """Row sums of the scaled bound at a node of the search, and the smallest free product each row used."""
    sums, least = np.empty(len(members)), np.empty(len(members))
    _compiled.node_row_sums(matrix, members, n_inside, picks, weights, sums, least)
    return sums, least
