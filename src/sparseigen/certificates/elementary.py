"""Bounds that need one look at the matrix."""

from __future__ import annotations

import numpy as np

from sparseigen.operators.contract import Operator

EPSILON = float(np.finfo(np.float64).eps)


def _raised(value: float, operations: int) -> float:
    """A computed sum of nonnegative terms, moved up past its rounding error."""
    return value * (1.0 + 2.0 * (operations + 4) * EPSILON)


def trace_bound(operator: Operator, cardinality: int) -> float:
    """Sum of the k largest diagonal entries: a positive semidefinite block's trace bounds its eigenvalues."""
    if not operator.positive_semidefinite:
        return float("inf")
    largest = np.partition(operator.diagonal(), operator.size - cardinality)[operator.size - cardinality :]
    return _raised(float(largest.sum()), cardinality)


def row_bound(operator: Operator, cardinality: int) -> float:
    """Gershgorin: for some row of the block, the diagonal entry plus the k - 1 largest others in magnitude."""
    worst = -np.inf
    everything = np.arange(operator.size, dtype=np.int64)
    step = max(1, (1 << 22) // operator.size)
    for begin in range(0, operator.size, step):
        chosen = everything[begin : begin + step]
        rows = np.abs(operator.columns(chosen).T.astype(np.float64))
        rows[np.arange(len(chosen)), chosen] = 0.0
        if cardinality > 1:
            others = np.partition(rows, operator.size - cardinality + 1, axis=1)
            radius = others[:, operator.size - cardinality + 1 :].sum(axis=1)
        else:
            radius = np.zeros(len(chosen))
        radius *= 1.0 + 2.0 * (cardinality + 4) * EPSILON
        worst = max(worst, float((operator.diagonal()[chosen] + radius).max()))
    return worst + abs(worst) * 4.0 * EPSILON
