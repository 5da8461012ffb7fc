"""Matrix products in calls that are short enough to be interrupted between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]

LARGEST_CALL = 1 << 31
"""Multiplications of one call, a tenth of a second or so: BLAS looks at no signal before it is done."""

CONVERTED = 1 << 22
"""Entries converted to float64 at a time."""


def parts(count: int, work_each: float) -> list[slice]:
    """``range(count)`` in as few parts as keep a call within `LARGEST_CALL`.

    Examples
    --------
    >>> parts(10, 1.0), parts(10, LARGEST_CALL / 4)
    ([slice(0, 10, None)], [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)])
    """
    step = max(1, min(count, int(LARGEST_CALL / max(work_each, 1.0))))
    return [slice(begin, min(begin + step, count)) for begin in range(0, count, step)]


def multiplied(left: Numbers, right: Numbers) -> Numbers:
    """``left @ right``, some rows of the left factor at a time."""
    pieces = parts(len(left), float(left.shape[1]) * right.shape[1])
    if len(pieces) <= 1:
        product: Numbers = left @ right
        return product
    out = np.empty((len(left), right.shape[1]), dtype=np.result_type(left, right))
    for piece in pieces:
        np.matmul(left[piece], right, out=out[piece])
    return out


def summed(left: Numbers, right: Numbers) -> Numbers:
    """``left.T @ right``, some rows of both at a time."""
    pieces = parts(len(left), float(left.shape[1]) * right.shape[1])
    out: Numbers = left[pieces[0]].T @ right[pieces[0]] if pieces else left.T @ right
    for piece in pieces[1:]:
        out += left[piece].T @ right[piece]
    return out


def gram(rows: Numbers) -> NDArray[np.float64]:
    """``rows @ rows.T`` in float64, symmetric to the bit; some columns at a time."""
    count = float(len(rows))
    # Numbers that have to be converted are so in blocks: a copy in float64 of all would be twice the data.
    converted = 0.0 if rows.dtype == np.float64 else LARGEST_CALL * count / CONVERTED
    pieces = parts(rows.shape[1], max(0.5 * count**2, converted))
    out = np.zeros((len(rows), len(rows)))
    for number, piece in enumerate(pieces):
        block = rows[:, piece].astype(np.float64, copy=False)
        if number == 0:
            out = block @ block.T
        else:
            out += block @ block.T
    return out
