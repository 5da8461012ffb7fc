"""Missing values filled with the mean of their variable: zeros of the centred data, counted per variable.

Data in memory are filled in a copy; data read in blocks of rows block by block (`FilledRows`), after one pass that
finds the means. What was missing is kept with the operator (`Gaps`) and told with every result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import is_sparse, label, row_blocks
from sparseigen.checks.memory import check_room
from sparseigen.errors import NonFiniteError, OptionError, one_of
from sparseigen.rows.source import Buffers

MISSING = ("error", "mean")
"""What may be done about values that are missing."""


@dataclass(frozen=True)
class Gaps:
    """How many values of each variable were missing."""

    counts: NDArray[np.int64]
    n_samples: int

    def describe(self) -> dict[str, Any]:
        """What a result's settings say; nothing where nothing was missing."""
        total = int(self.counts.sum())
        return {"missing": "mean", "missing_values": total} if total else {}

    def tell(self, support: NDArray[np.int64], names: Sequence[str] | None) -> dict[str, Any]:
        """The share of values that is missing of each chosen variable, where any is.

        Examples
        --------
        >>> Gaps(np.array([0, 5, 1]), 10).tell(np.array([0, 1]), ("a", "b", "c"))
        {'missing_shares': {'a': 0.0, 'b': 0.5}}
        """
        if not self.counts.any():
            return {}
        called = [str(int(i)) if names is None else names[i] for i in support]
        shares = (self.counts[support] / self.n_samples).tolist()
        return {"missing_shares": dict(zip(called, shares, strict=True))}


def check_missing(value: Any) -> str:
    """One of the ways."""
    if not isinstance(value, str) or value not in MISSING:
        message = f"missing={value!r} is not known. Allowed: {one_of(MISSING)}."
        raise OptionError(message, parameter="missing")
    return value


def find_gaps(operator: Any) -> Gaps | None:
    """What was missing of the data behind an operator, or behind the one that it was made of."""
    while not hasattr(operator, "gaps") and hasattr(operator, "base"):
        operator = operator.base
    found: Gaps | None = getattr(operator, "gaps", None)
    return found


def check_filled(subject: str, counts: NDArray[np.int64], n_samples: int, names: Sequence[str] | None) -> None:
    """Refuse variables without a single value: there is no mean to fill in."""
    empty = np.flatnonzero(counts >= n_samples)
    if empty.size:
        message = (
            f"{subject}: {label(int(empty[0]), names)} has no value at all ({len(empty)} such "
            f"{'variable' if len(empty) == 1 else 'variables'}), so there is no mean to fill in; remove it."
        )
        raise NonFiniteError(message, parameter="missing")


def count_gaps(block: Any) -> list[NDArray[Any]]:
    """Of some rows, dense or sparse, the NaN of each variable and the sum of its other values."""
    size = block.shape[1]
    if is_sparse(block):
        gaps = np.isnan(block.data)
        counts = np.bincount(block.indices[gaps], minlength=size)
        sums = np.bincount(block.indices[~gaps], weights=block.data[~gaps].astype(np.float64), minlength=size)
        return [counts.astype(np.int64), sums]
    gaps = np.isnan(block)
    return [gaps.sum(axis=0), np.where(gaps, 0.0, block).sum(axis=0, dtype=np.float64)]


def fill_block(block: Any, means: NDArray[Any]) -> Any:
    """The block with its gaps filled, in place."""
    if is_sparse(block):
        gaps = np.flatnonzero(np.isnan(block.data))
        block.data[gaps] = means[block.indices[gaps]]
        return block
    np.copyto(block, means, where=np.isnan(block))
    return block


def fill_array(values: Any, names: Sequence[str] | None) -> tuple[Any, Gaps]:
    """Data in memory with their gaps filled, in a copy where there are any, and what was missing."""
    rows = values.tocsr() if is_sparse(values) else values
    slices = row_blocks(*rows.shape)
    parts = [count_gaps(rows[part]) for part in slices]
    counts, sums = (sum(part[kind] for part in parts) for kind in range(2))
    n_samples = rows.shape[0]
    gaps = Gaps(np.asarray(counts), n_samples)
    if not gaps.counts.any():
        return values, gaps
    check_filled("X", gaps.counts, n_samples, names)
    stored = rows.data if is_sparse(rows) else rows
    check_room(stored.nbytes, "the copy of X whose gaps are filled", "save X as a .npy file and pass its path")
    means = (sums / (n_samples - gaps.counts)).astype(stored.dtype)
    return fill_block(rows.copy(), means), gaps


class FilledRows:
    """A source of rows with its gaps filled; one pass over it finds the means."""

    def __init__(self, source: Any) -> None:
        self.source = source
        for name in ("shape", "dtype", "names", "sparse", "label", "advice"):
            setattr(self, name, getattr(source, name))
        for name in ("path", "row_bytes"):
            if hasattr(source, name):
                setattr(self, name, getattr(source, name))
        n_rows, size = source.shape
        counts, sums = np.zeros(size, dtype=np.int64), np.zeros(size)
        step = max(1, (1 << 20) // size)
        for block in source.blocks(step, 0, lambda count: np.empty((count, size), dtype=source.dtype)):
            part = count_gaps(block)
            counts += part[0]
            sums += part[1]
        check_filled(source.label, counts, n_rows, source.names)
        self.gaps = Gaps(counts, n_rows)
        self.fills = (sums / (n_rows - counts)).astype(source.dtype)

    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[Any]:
        """The source's blocks, filled."""
        untouched = not self.gaps.counts.any()
        for block in self.source.blocks(rows, start, buffers):
            ours = untouched or (not is_sparse(block) and block.flags.writeable)
            yield block if untouched else fill_block(block if ours else block.copy(), self.fills)

    def fingerprint(self) -> str:
        """The source's, and that it is filled."""
        return f"{self.source.fingerprint()} filled with means"
