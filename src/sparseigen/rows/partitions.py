"""Data and edges in partitions that Dask loads."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import check_block
from sparseigen.checks.graphs import LARGEST_EXACT_INTEGER, as_path, edge_columns
from sparseigen.errors import (
    DtypeError,
    GraphFileError,
    NegativeWeightError,
    OptionError,
    PartitionError,
    ShapeError,
    SparseigenError,
)
from sparseigen.io.arrow import read_facts, read_whole


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


class Edges(NamedTuple):
    """The ends of some arcs, and their weights (None: all 1)."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[Any] | None


@dataclass(frozen=True)
class EdgePartition:
    """One partition: a name for messages, and either a path, a loader, or a lazy dask object."""

    name: str
    path: str | None = None
    loader: Callable[[], Any] | None = None
    lazy: Any = None

    def without_lazy(self) -> EdgePartition:
        """What travels to a worker beside the computed value of the lazy object."""
        return replace(self, lazy=None)


def is_partitioned(source: Any) -> bool:
    """Whether this is a source in partitions: a pattern, a folder, a sequence of them, or a dask collection."""
    path = as_path(source)
    if path is not None:
        return glob.has_magic(str(path)) or path.is_dir()
    if type(source).__module__.split(".")[0] in ("dask", "dask_expr"):
        return True
    return isinstance(source, (list, tuple)) and bool(source) and all(_is_partition(one) for one in source)


def edge_partitions(source: Any) -> list[EdgePartition]:
    """The partitions of a source, in a fixed order (files by name)."""
    path = as_path(source)
    if path is not None:
        return [EdgePartition(Path(file).name, path=file) for file in _files(path)]
    if _is_delayed(source):  # asked first: a delayed object has every attribute, to_delayed too
        source = [source]
    elif hasattr(source, "to_delayed"):
        source = list(np.ravel(source.to_delayed()))
    if not isinstance(source, (list, tuple)) or not source:
        message = (
            f"the edges are of type {type(source).__name__}; give a pattern or folder of parquet files, a list of "
            "paths, of callables or of dask delayed objects, or a dask dataframe."
        )
        raise OptionError(message)
    return [_edge_partition(one, number) for number, one in enumerate(source)]


def _is_partition(one: Any) -> bool:
    return as_path(one) is not None or _is_delayed(one) or callable(one)


def _edge_partition(one: Any, number: int) -> EdgePartition:
    path = as_path(one)
    if path is not None:
        return EdgePartition(path.name, path=str(path))
    if _is_delayed(one):
        return EdgePartition(str(one.key), lazy=one)
    if callable(one):
        return EdgePartition(getattr(one, "__name__", "loader"), loader=one)
    message = f"partition {number} is of type {type(one).__name__}; it must be a path, a callable or a delayed object."
    raise OptionError(message)


def _files(path: Path) -> list[str]:
    pattern = str(path / "*.parquet") if path.is_dir() else str(path)
    found = sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else [pattern]
    if not found:
        message = f"{pattern}: no file matches. Check the folder and the pattern."
        raise GraphFileError(message)
    wrong = [file for file in found if Path(file).suffix.lower() != ".parquet"]
    if wrong:
        message = f"{wrong[0]}: partitions of a graph must be parquet files (.parquet). Narrow the pattern."
        raise GraphFileError(message)
    return found


def load_partition(number: int, partition: EdgePartition, columns: Sequence[str] | None, given: Any = None) -> Edges:
    """The arcs of one partition, checked; runs on a worker. Errors name the partition."""
    where = f"partition {number} ({partition.name})"
    try:
        if partition.path is not None:
            given = _read_parquet(partition.path, columns, where)
        elif partition.loader is not None:
            given = partition.loader()
    except (GraphFileError, PartitionError):
        raise
    except Exception as error:
        message = f"{where} cannot be loaded: {type(error).__name__}: {error}"
        raise PartitionError(message) from error
    return _checked(_as_columns(given, columns, where), where)


def _read_parquet(path: str, columns: Sequence[str] | None, where: str) -> list[NDArray[Any]]:
    wanted = _wanted(read_facts(Path(path))[0].names, columns, where)
    table = read_whole(Path(path), wanted)
    return [table.column(name).to_numpy() for name in wanted]


def _wanted(names: Sequence[str], columns: Sequence[str] | None, where: str) -> list[str]:
    wanted = edge_columns([str(name) for name in names]) if columns is None else list(columns)
    missing = [name for name in wanted if name not in names]
    if missing or len(wanted) < 2:
        message = (
            f"{where} has columns {list(names)}; {missing or 'two for the ends of an edge'} not found. Set columns=."
        )
        raise PartitionError(message)
    return wanted


def _as_columns(given: Any, columns: Sequence[str] | None, where: str) -> list[NDArray[Any]]:
    if hasattr(given, "columns"):
        names = [str(name) for name in given.columns]
        return [np.asarray(given[given.columns[names.index(name)]]) for name in _wanted(names, columns, where)]
    if isinstance(given, (tuple, list)) and len(given) in (2, 3):
        return [np.asarray(one) for one in given]
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] in (2, 3):
        return [given[:, column] for column in range(given.shape[1])]
    shape = f" of shape {given.shape}" if isinstance(given, np.ndarray) else ""
    message = (
        f"{where} is a {type(given).__name__}{shape}; it must be a frame, two or three columns (source, target, "
        "weight) of equal length, or an array of two or three columns."
    )
    raise PartitionError(message)


def _checked(columns: list[NDArray[Any]], where: str) -> Edges:
    lengths = [column.shape for column in columns]
    if any(column.ndim != 1 for column in columns) or len(set(lengths)) > 1:
        message = f"{where} has edge columns of shapes {lengths}; they must be one-dimensional and equally long."
        raise PartitionError(message)
    ends = [_vertex_numbers(column, where) for column in columns[:2]]
    weight = None
    if len(columns) == 3:
        weight = columns[2]
        if weight.dtype.kind not in "fiub":
            message = f"{where} has edge weights of dtype {weight.dtype}; they must be real numbers."
            raise DtypeError(message)
        _check_weights(weight, ends, where)
        weight = weight.astype(np.int64 if weight.dtype.kind in "iub" else np.float64)
    return Edges(ends[0], ends[1], weight)


def _vertex_numbers(column: NDArray[Any], where: str) -> NDArray[np.int64]:
    if column.dtype.kind not in "iuf":
        message = (
            f"{where} names vertices by dtype {column.dtype}; a graph on a cluster needs whole numbers. Number the "
            "labels first, or read the graph in memory."
        )
        raise DtypeError(message)
    if column.dtype.kind == "f" and not (np.isfinite(column).all() and (column == np.floor(column)).all()):
        wrong = column[~(np.isfinite(column) & (column == np.floor(column)))][0]
        message = f"{where} holds {wrong} as a vertex; vertex numbers must be whole."
        raise PartitionError(message)
    if column.dtype.kind == "f" and (np.abs(column) >= LARGEST_EXACT_INTEGER).any():
        wrong = column[np.abs(column) >= LARGEST_EXACT_INTEGER][0]
        message = (
            f"{where} holds the vertex number {wrong:.0f}, beyond 2**53: read as floating point it could be another "
            "one. Number the vertices first, or keep them as integers."
        )
        raise PartitionError(message)
    if column.size and column.dtype.kind == "u" and int(column.max()) >= 2**63:
        message = f"{where} holds a vertex number {column.max()} beyond 2^63 - 1. Number the vertices first."
        raise PartitionError(message)
    return column.astype(np.int64, copy=False)


def _check_weights(weight: NDArray[Any], ends: list[NDArray[np.int64]], where: str) -> None:
    if weight.size == 0 or (weight.min() >= 0 and np.isfinite(weight.max())):
        return
    first = int(np.flatnonzero(~(weight >= 0) | ~np.isfinite(weight))[0])
    edge = f"{where}: edge ({ends[0][first]}, {ends[1][first]}) has weight {weight[first].item()!r}"
    if weight[first] < 0:
        message = f"{edge}; weights must be >= 0. Shift or drop negative weights first."
        raise NegativeWeightError(message)
    message = f"{edge}; weights must be finite numbers. Drop or fill them first."
    raise PartitionError(message)
