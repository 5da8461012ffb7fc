"""The other end of the bracket: a value that a sparse vector certainly reaches."""

from __future__ import annotations

import numpy as np

from sparseigen.certificates.rounding import TINY, UNIT, gamma
from sparseigen.operators.contract import Operator
from sparseigen.solvers.interface import SparseVector

BLOCK_ENTRIES = 1 << 22


def achieved_value(operator: Operator, vector: SparseVector) -> float:
    """A number that x'Ax / x'x certainly reaches: the computed quotient moved down past every rounding error."""
    indices, weights = vector.indices, vector.weights
    count = len(indices)
    form, magnitude = 0.0, 0.0
    step = max(1, BLOCK_ENTRIES // operator.size)
    parts = [slice(begin, min(begin + step, count)) for begin in range(0, count, step)]
    largest = max(float(np.abs(operator.accurate_columns(indices[part])[indices]).max()) for part in parts)
    exponent = int(np.frexp(largest)[1]) if largest > 0.0 else 0
    for part in parts:
        block = np.ldexp(operator.accurate_columns(indices[part])[indices], -exponent)
        form += float(weights @ (block @ weights[part]))
        magnitude += float(np.abs(weights) @ (np.abs(block) @ np.abs(weights[part])))
    entries = np.ldexp(operator.entry_errors()[indices], -exponent)
    own = float(np.abs(weights) @ np.sqrt(entries)) ** 2
    low = form - 4.0 * gamma(2 * count) * magnitude - own * (1.0 + 4.0 * gamma(count)) - TINY
    length = float(weights @ weights)
    slack = 2.0 * gamma(count)
    quotient = low / (length * (1.0 + slack)) if low >= 0.0 else low / (length * (1.0 - slack))
    value = float(np.ldexp(quotient - 4.0 * UNIT * abs(quotient), exponent))
    return float(np.nextafter(value, -np.inf))
