"""Random graphs in compressed rows, beside their matrices."""

from __future__ import annotations

import numpy as np

from sparseigen.kernels.graph_reference import Rows

WEIGHTS = {"unit": (0, np.int32), "small": (5, np.int32), "large": (1 << 40, np.int64)}


def make_rows(rng, n, kind, *, share=0.3):
    largest, dtype = WEIGHTS[kind]
    upper = np.triu(rng.random((n, n)) < share, 1)
    values = upper * (1 if largest == 0 else rng.integers(1, largest, (n, n)))
    matrix = values + values.T
    starts = np.concatenate([[0], np.cumsum((matrix > 0).sum(axis=1))]).astype(np.int64)
    neighbours = np.nonzero(matrix)[1].astype(np.int32)
    weights = matrix[matrix > 0].astype(dtype) if largest else np.zeros(0, dtype=dtype)
    return Rows(starts, neighbours, weights), matrix
