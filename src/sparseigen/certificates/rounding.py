"""Margins: how far a computed number can be from the true one.

``UNIT`` is the unit roundoff u of float64. A sum or dot product of n terms, in any order, with or without fused
multiply-add, is off by at most n u / (1 - n u) times the sum of the magnitudes; the factors below are larger.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

UNIT = 2.0**-53
TINY = 2.0**-960
"""Covers underflow in matrices whose largest entry is about one."""

ZERO = 1e-9
"""Values below this count as zero when gaps are measured, in matrices whose largest entry is about one."""


def gamma(operations: int) -> float:
    """A safe relative error of a sum of that many terms."""
    return 1.02 * (operations + 4) * UNIT


def raised_sum(value: float, terms: int) -> float:
    """A computed sum of nonnegative terms, moved up past its rounding error."""
    return value * (1.0 + 2.0 * gamma(terms)) + TINY


def sum_of_largest(values: Numbers, count: int) -> float:
    """Sum of the ``count`` largest entries."""
    if count >= values.size:
        return float(values.sum())
    return float(np.partition(values, values.size - count)[values.size - count :].sum())
