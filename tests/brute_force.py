"""The optimum by trying every support, for small matrices."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def brute_force(matrix: np.ndarray, cardinality: int) -> float:
    """The largest eigenvalue over all supports of size k, one batch of LAPACK calls."""
    supports = np.array(list(combinations(range(len(matrix)), cardinality)))
    blocks = matrix[supports[:, :, None], supports[:, None, :]]
    return float(np.linalg.eigvalsh(blocks)[:, -1].max())


def small_matrix(rng: np.random.Generator, size: int, kind: str) -> np.ndarray:
    """A symmetric matrix of one of the KINDS."""
    square = rng.standard_normal((size, size))
    matrix = MAKERS[kind](rng, square)
    return (matrix + matrix.T) / 2.0


def _duplicated(rng: np.random.Generator, square: np.ndarray) -> np.ndarray:
    square[:, -1] = square[:, 0]
    return square.T @ square


def _with_zeros(rng: np.random.Generator, square: np.ndarray) -> np.ndarray:
    square[:, :: max(2, len(square) // 2)] = 0.0
    square[:, -1] = 1.0
    return square.T @ square


MAKERS = {
    "gram": lambda rng, square: square.T @ square,
    "low rank": lambda rng, square: square[:2].T @ square[:2],
    "indefinite": lambda rng, square: square,
    "negative": lambda rng, square: -square.T @ square - np.eye(len(square)),
    "ties": lambda rng, square: np.round(square),
    "integers": lambda rng, square: (square > 0.5) * 1.0 + np.eye(len(square)) * rng.integers(0, 2),
    "duplicated": _duplicated,
    "zero variables": _with_zeros,
    "huge": lambda rng, square: square.T @ square * 1e290,
    "tiny": lambda rng, square: square * 1e-290,
    "diagonal": lambda rng, square: np.diag(square[0]),
}
KINDS = sorted(MAKERS)
