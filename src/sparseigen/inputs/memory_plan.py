"""How much memory reading in blocks may take, and what it is spent on."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from sparseigen.errors import OptionError
from sparseigen.inputs.read_ahead import BLOCKS_HELD

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
DEFAULT_BLOCK, USUAL_ROWS = 1 << 23, 128
"""Bytes of a block: large enough to make a read cheap, small enough to stay in the last cache; and more where that
would be fewer rows than this, because what a block adds to the sums has to be worth adding."""
DEFAULT_CACHE = 1 << 28
WORK_VECTORS = 128
"""Vectors of length p that a solve holds at the same time, at most, besides remembered columns."""


class MemoryPlan(NamedTuple):
    """Rows of a block, and bytes for remembered columns of A."""

    rows: int
    cache_bytes: int


def check_memory_limit(value: Any) -> int | None:
    """Bytes from a number or text such as "1GB", "512 MiB"; None for no limit."""
    if value is None:
        return None
    found: float | None = None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?i?)b?\s*", value.lower())
        if match and match.group(2) in UNITS:
            found = float(match.group(1)) * UNITS[match.group(2)]
    elif not isinstance(value, bool) and isinstance(value, (int, float, np.integer, np.floating)):
        found = float(value)
    if found is None or not 1.0 <= found < 2.0**60:
        message = f'memory_limit={value!r} must be a number of bytes or text such as "1GB" or "512MiB".'
        raise OptionError(message)
    return int(found)


def plan_memory(limit: int | None, row_bytes: int, n_rows: int, size: int) -> MemoryPlan:
    """Blocks and memory for columns that keep within the limit, or an error that says what is needed.

    A sixth of the limit is for blocks, a twentieth for remembered columns: asking for columns, and what solvers and
    bounds make of them, takes several times as much.
    """
    work = 8 * WORK_VECTORS * size
    if limit is None:
        usual = max(DEFAULT_BLOCK, USUAL_ROWS * row_bytes)
        return MemoryPlan(_rows(usual, row_bytes, n_rows), max(DEFAULT_CACHE, work))
    needed = 8 * BLOCKS_HELD * row_bytes + 2 * work
    if limit < needed:
        message = (
            f"memory_limit={limit} bytes is too little for {size} variables: a few rows and the vectors of a solve "
            f"need {needed} bytes ({needed / 1e6:.0f} MB). Raise memory_limit, or use fewer variables."
        )
        raise OptionError(message)
    usual = max(DEFAULT_BLOCK, USUAL_ROWS * row_bytes)
    block = min(usual, max(limit // (6 * BLOCKS_HELD), row_bytes))
    return MemoryPlan(_rows(block, row_bytes, n_rows), limit // 20)


def _rows(block: int, row_bytes: int, n_rows: int) -> int:
    return max(1, min(n_rows, block // max(1, row_bytes)))
