"""Data in row partitions: dask arrays and frames, delayed objects, loaders."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sparseigen.errors import OptionError, PartitionError, ShapeError, SparseigenError
from sparseigen.inputs.arrays import check_block


@dataclass(frozen=True)
class RowPartition:
    """One partition: a name for messages, and either a loader or a lazy dask object."""

    name: str
    loader: Callable[[], Any] | None = None
    lazy: Any = None

    def without_lazy(self) -> RowPartition:
        """What travels to a worker beside the computed value of the lazy object."""
        return replace(self, lazy=None)


class BlockFacts(NamedTuple):
    """What all partitions but their rows must agree on."""

    n_rows: int
    n_columns: int
    dtype: str
    sparse: bool
    names: tuple[str, ...] | None
    digest: str
    """Of the first and last row: data that are loaded again must be the same."""


def is_row_partitions(data: Any) -> bool:
    """Whether these are data in partitions: a dask collection, or a list of delayed objects or loaders."""
    if type(data).__module__.split(".")[0] in ("dask", "dask_expr"):
        return True
    return isinstance(data, (list, tuple)) and bool(data) and all(_is_delayed(one) or callable(one) for one in data)


def row_partitions(data: Any) -> list[RowPartition]:
    """The partitions in the order of their rows."""
    if hasattr(data, "chunks") and hasattr(data, "rechunk"):
        if data.ndim != 2:
            message = f"X has {data.ndim} dimensions; it must be a table of samples x variables (2 dimensions)."
            raise ShapeError(message)
        if len(data.chunks[1]) > 1:  # products need whole rows
            data = data.rechunk({1: -1})
        return [RowPartition(str(one.key), lazy=one) for one in np.ravel(data.to_delayed()).tolist()]
    if hasattr(data, "to_delayed"):
        data = list(data.to_delayed())
    if _is_delayed(data):
        data = [data]
    return [_partition(one, number) for number, one in enumerate(data)]


def _is_delayed(one: Any) -> bool:
    return type(one).__module__.startswith("dask.delayed")


def _partition(one: Any, number: int) -> RowPartition:
    if _is_delayed(one):
        return RowPartition(str(one.key), lazy=one)
    if callable(one):
        return RowPartition(getattr(one, "__name__", type(one).__name__), loader=one)
    message = f"partition {number} is of type {type(one).__name__}; it must be a delayed object or a callable."
    raise OptionError(message)


def where(number: int, partition: RowPartition) -> str:
    """How messages name a partition."""
    return f"partition {number} ({partition.name})"


def load_block(number: int, partition: RowPartition, given: Any = None) -> tuple[Any, BlockFacts]:
    """One partition as a dense array or compressed rows, with its facts; runs on a worker."""
    try:
        if partition.loader is not None:
            given = partition.loader()
        block, names = check_block(given)
    except SparseigenError as error:
        message = f"{where(number, partition)}: {error}"
        raise type(error)(message) from error
    except Exception as error:
        message = f"{where(number, partition)} cannot be loaded: {type(error).__name__}: {error}"
        raise PartitionError(message) from error
    return block, BlockFacts(
        block.shape[0], block.shape[1], str(block.dtype), hasattr(block, "indptr"), names, _digest(block)
    )


def _digest(block: Any) -> str:
    ends = block[[0, -1]] if block.shape[0] else block
    rows = ends.toarray() if hasattr(ends, "toarray") else np.asarray(ends)
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()


def check_alike(number: int, partition: RowPartition, facts: BlockFacts, expected: BlockFacts, what: str) -> None:
    """Raise if a partition is not what it must be; ``expected.n_rows`` of -1 allows any number of rows."""
    if facts.n_columns != expected.n_columns or expected.n_rows not in (-1, facts.n_rows):
        rows = "any number of" if expected.n_rows < 0 else str(expected.n_rows)
        message = (
            f"{where(number, partition)} has shape ({facts.n_rows}, {facts.n_columns}); {what} has {rows} rows and "
            f"{expected.n_columns} columns. All partitions need the same columns, and the same rows whenever loaded."
        )
        raise PartitionError(message)
    if expected.n_rows >= 0 and facts.digest != expected.digest:
        message = f"{where(number, partition)} was loaded again and holds other values than before; a loader must not."
        raise PartitionError(message)
    for name in ("dtype", "sparse", "names"):
        found, wanted = getattr(facts, name), getattr(expected, name)
        if found != wanted:
            message = f"{where(number, partition)} has {name}={found!r}; {what} has {wanted!r}. Make them all alike."
            raise PartitionError(message)
