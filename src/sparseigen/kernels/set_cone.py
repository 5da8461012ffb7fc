"""The row projections behind the bound on dense subgraphs, in NumPy: the twin of ``src/cpp/set_cone.cpp``.

The cone of row i holds the rows i of k 1_S 1_S' and their mixtures: y with 0 <= y_j <= y_i and sum over j != i of y_j
equal to (k - 1) y_i. The point of it nearest to (w, g), w the entry on the diagonal, is y_j = clip(g_j - t, 0, x),
y_i = x, where the threshold t and the height x solve

    sum_j clip(g_j - t, 0, x) = (k - 1) x,     x = w + (k - 1) t + sum of (g_j - t - x) over the j with g_j - t >= x;

it is zero where w + (sum of the k - 1 largest g_j) <= 0. Both equations are linear while no entry passes t or t + x:
Newton's method from the last iterate's solution takes two or three looks at a row. Where it does not settle, two nested
bisections do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]
Numbers = NDArray[np.float64]

NEWTON_STEPS, HALVINGS = 14, 50


def project_rows(
    point: Singles, mirror: Singles, count: int, relaxation: float, thresholds: Numbers, heights: Numbers
) -> None:
    """Project every row, in place: ``mirror = Y - D`` and ``point = D - (relaxation - 1) Y`` with D = point - Y.

    ``thresholds`` and ``heights``: where the search of a row begins and where it ended.
    """
    own = point.diagonal().astype(np.float64)
    others = point.astype(np.float64)
    np.fill_diagonal(others, -np.inf)
    if count == 1:
        thresholds[:], heights[:] = 3e38, np.maximum(own, 0.0)
    else:
        _find_points(others, own, count - 1, thresholds, heights)
    projected = np.clip(others - thresholds[:, None], 0.0, heights[:, None])
    np.fill_diagonal(projected, heights)
    rest = point - projected
    mirror[:] = projected - rest
    point[:] = rest - (relaxation - 1.0) * projected


def symmetrise(matrix: Singles, added: Singles, step: float) -> None:
    """``matrix = (matrix + matrix') / 2 + step * added``, in place."""
    matrix[:] = 0.5 * (matrix + matrix.T) + np.float32(step) * added


def _find_points(others: Numbers, own: Numbers, k_less: int, thresholds: Numbers, heights: Numbers) -> None:
    """Thresholds and heights of all rows, in place."""
    size = len(others)
    ordered = -np.sort(-others, axis=1)[:, : size - 1]
    reach = own + ordered[:, :k_less].sum(axis=1)
    thresholds[:] = np.where(heights > 0.0, thresholds, ordered[:, k_less - 1])
    heights[:] = np.where(heights > 0.0, heights, np.maximum(reach, 0.0) / (1.0 + k_less))
    heights[reach <= 0.0] = 0.0
    left = np.flatnonzero(reach > 0.0)
    counts = np.full((size, 2), -1.0)
    for _ in range(NEWTON_STEPS):
        if left.size == 0:
            return
        seen = _count(others[left], thresholds[left], heights[left])
        moving = (seen[0] != counts[left, 0]) | (seen[1] != counts[left, 1])
        left, seen = left[moving], seen[:, moving]
        counts[left] = seen[:2].T
        thresholds[left], heights[left] = _newton(seen, own[left], k_less, thresholds[left])
        lost = heights[left] <= 0.0
        for row in left[lost]:
            thresholds[row], heights[row] = _bisect(ordered[row], float(own[row]), k_less)
        left = left[~lost]
    for row in left:
        thresholds[row], heights[row] = _bisect(ordered[row], float(own[row]), k_less)


def _count(others: Numbers, thresholds: Numbers, heights: Numbers) -> Numbers:
    """Numbers of the entries above the threshold and at the upper limit, and the two sums."""
    above, upper = others > thresholds[:, None], others >= (thresholds + heights)[:, None]
    sums = [np.where(mask, others, 0.0).sum(axis=1) for mask in (above, upper)]
    return np.array([above.sum(axis=1), upper.sum(axis=1), *sums], dtype=np.float64)


def _newton(seen: Any, own: Numbers, k_less: int, thresholds: Numbers) -> tuple[Numbers, Numbers]:
    above, upper, above_sum, upper_sum = seen
    inside, surplus, inside_sum, rest = above - upper, upper - k_less, above_sum - upper_sum, own + upper_sum
    determinant = inside * (1.0 + upper) + surplus * surplus
    safe = np.where(determinant > 0.0, determinant, 1.0)
    solved = ((1.0 + upper) * inside_sum + surplus * rest) / safe, (inside * rest - surplus * inside_sum) / safe
    # Exactly k - 1 entries at the limit and none inside: any threshold between.
    pinned = determinant == 0.0
    return np.where(pinned, thresholds, solved[0]), np.where(pinned, rest / (1.0 + upper), solved[1])


def _bisect(ordered: Numbers, own: float, k_less: int) -> tuple[float, float]:
    """Two nested bisections: for every height the threshold at which the row adds up."""
    low, high, threshold = 0.0, own + float(ordered[:k_less].sum()), float(ordered[k_less - 1])
    for _ in range(HALVINGS):
        height = 0.5 * (low + high)
        under, over = float(ordered[-1]) - height, float(ordered[0])
        for _ in range(HALVINGS):
            threshold = 0.5 * (under + over)
            total = float(np.clip(ordered - threshold, 0.0, height).sum())
            under, over = (threshold, over) if total > k_less * height else (under, threshold)
        upper = ordered[ordered >= threshold + height]
        left = own - height + k_less * threshold + float((upper - threshold - height).sum())
        low, high = (height, high) if left > 0.0 else (low, height)
    return threshold, 0.5 * (low + high)
