"""The other end of the bracket: a value that a sparse vector certainly reaches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.rounding import TINY, UNIT, gamma
from sparseigen.operators.contract import Indices, Operator
from sparseigen.solvers.interface import SparseVector

BLOCK_ENTRIES = 1 << 22
LARGEST_PLAIN_EXPONENT = 200


def achieved_value(operator: Operator, vector: SparseVector) -> float:
    """A number that x'Ax / x'x certainly reaches: the computed quotient moved down past every rounding error."""
    indices, weights = vector.indices, vector.weights
    ready = operator.quadratic_form(indices, weights)
    if ready is not None and np.isfinite(ready).all():
        return _lowered(operator, vector, ready[0], ready[1], 0)
    count = len(indices)
    form, magnitude = 0.0, 0.0
    step = operator.columns_at_once(BLOCK_ENTRIES)
    parts = [slice(begin, min(begin + step, count)) for begin in range(0, count, step)]
    blocks = [operator.accurate_columns(indices[part])[indices] for part in parts[:1]]  # most often the only one
    largest = max(float(np.abs(block).max()) for block in itertools.chain(blocks, _rest(operator, indices, parts)))
    largest = max(largest, float(operator.entry_errors()[indices].max()))
    exponent = int(np.frexp(largest)[1]) if largest > 0.0 else 0
    exponent = exponent if abs(exponent) > LARGEST_PLAIN_EXPONENT else 0  # no copy where no product can overflow
    for part, block in zip(parts, itertools.chain(blocks, _rest(operator, indices, parts)), strict=True):
        block = np.ldexp(block, -exponent) if exponent else block
        form += float(weights @ (block @ weights[part]))
        magnitude += float(np.abs(weights) @ (np.abs(block) @ np.abs(weights[part])))
    return _lowered(operator, vector, form, 4.0 * gamma(2 * count) * magnitude, exponent)


def _lowered(operator: Operator, vector: SparseVector, form: float, error: float, exponent: int) -> float:
    """The quotient from the form (times 2 ** -exponent) and its error, less what the entries' own errors can do."""
    indices, weights, count = vector.indices, vector.weights, len(vector.indices)
    entries = np.ldexp(operator.entry_errors()[indices], -exponent)
    own = float(np.abs(weights) @ np.sqrt(entries)) ** 2
    low = form - error * (1.0 + 4.0 * UNIT) - own * (1.0 + 4.0 * gamma(count)) - TINY
    length = float(weights @ weights)
    slack = 2.0 * gamma(count)
    quotient = low / (length * (1.0 + slack)) if low >= 0.0 else low / (length * (1.0 - slack))
    value = float(np.ldexp(quotient - 4.0 * UNIT * abs(quotient), exponent))
    return float(np.nextafter(value, -np.inf))


def _rest(operator: Operator, indices: Indices, parts: list[slice]) -> Iterator[NDArray[np.float64]]:
    """The blocks after the first, formed one at a time: together they can be larger than memory allows."""
    for part in parts[1:]:
        yield operator.accurate_columns(indices[part])[indices]
