"""Data and edges in partitions that Dask loads."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import check_block, check_two_sides
from sparseigen.checks.graphs import as_path, check_vertex_numbers, check_weights, edge_columns
from sparseigen.errors import DtypeError, GraphFileError, OptionError, PartitionError, SparseigenError
from sparseigen.io.arrow import read_facts, read_whole


@dataclass(frozen=True)
class Partition:
    """One partition: a name for messages, and a path (of edges), a loader, or a lazy dask object."""

    name: str
    path: str | None = None
    loader: Callable[[], Any] | None = None
    lazy: Any = None

    def drop_lazy(self) -> Partition:
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
    return _is_collection(data) or _is_list_of(data, lambda part: _is_delayed(part) or callable(part))


def row_partitions(data: Any) -> list[Partition]:
    """The partitions in the order of their rows."""
    if hasattr(data, "chunks") and hasattr(data, "rechunk"):
        check_two_sides(data.shape, "X")
        if len(data.chunks[1]) > 1:  # products need whole rows
            data = data.rechunk({1: -1})
        data = np.ravel(data.to_delayed()).tolist()
    elif _is_delayed(data):
        data = [data]
    elif hasattr(data, "to_delayed"):
        data = list(data.to_delayed())
    return _list_partitions(data, "a delayed object or a callable", paths=False)


def _is_collection(source: Any) -> bool:
    return type(source).__module__.split(".")[0] in ("dask", "dask_expr")


def _is_delayed(source: Any) -> bool:
    return type(source).__module__.startswith("dask.delayed")


def _is_list_of(source: Any, kind: Callable[[Any], bool]) -> bool:
    return isinstance(source, (list, tuple)) and bool(source) and all(map(kind, source))


def _list_partitions(parts: Iterable[Any], allowed: str, *, paths: bool) -> list[Partition]:
    found = []
    for number, part in enumerate(parts):
        path = as_path(part) if paths else None
        if path is not None:
            found.append(Partition(path.name, path=str(path)))
        elif _is_delayed(part):
            found.append(Partition(str(part.key), lazy=part))
        elif callable(part):
            found.append(Partition(getattr(part, "__name__", type(part).__name__), loader=part))
        else:
            message = f"partition {number} is of type {type(part).__name__}; it must be {allowed}."
            raise OptionError(message)
    return found


def name_place(number: int, partition: Partition) -> str:
    """How messages name a partition."""
    return f"partition {number} ({partition.name})"


def load_block(number: int, partition: Partition, value: Any = None) -> tuple[Any, BlockFacts]:
    """One partition as a dense array or compressed rows, with its facts; runs on a worker."""
    try:
        block, names = check_block(value if partition.loader is None else partition.loader())
    except SparseigenError as error:
        message = f"{name_place(number, partition)}: {error}"
        raise type(error)(message) from error
    except Exception as error:  # the caller's loader may raise anything
        message = f"{name_place(number, partition)} cannot be loaded: {type(error).__name__}: {error}"
        raise PartitionError(message) from error
    return block, BlockFacts(
        block.shape[0], block.shape[1], str(block.dtype), hasattr(block, "indptr"), names, _digest(block)
    )


def _digest(block: Any) -> str:
    ends = block[[0, -1]] if block.shape[0] else block
    rows = ends.toarray() if hasattr(ends, "toarray") else np.asarray(ends)
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()


def check_alike(number: int, partition: Partition, facts: BlockFacts, expected: BlockFacts, subject: str) -> None:
    """Raise if a partition is not what it must be; ``expected.n_rows`` of -1 allows any number of rows."""
    if facts.n_columns != expected.n_columns or expected.n_rows not in (-1, facts.n_rows):
        rows = "any number of" if expected.n_rows < 0 else str(expected.n_rows)
        message = (
            f"{name_place(number, partition)} has shape ({facts.n_rows}, {facts.n_columns}); {subject} has {rows} rows "
            f"and {expected.n_columns} columns. All partitions need the same columns, and the same rows whenever "
            "loaded."
        )
        raise PartitionError(message)
    if expected.n_rows >= 0 and facts.digest != expected.digest:
        message = (
            f"{name_place(number, partition)} was loaded again and holds other values than before; a loader must not."
        )
        raise PartitionError(message)
    for name in ("dtype", "sparse", "names"):
        found, wanted = getattr(facts, name), getattr(expected, name)
        if found != wanted:
            message = (
                f"{name_place(number, partition)} has {name}={found!r}; {subject} has {wanted!r}. Make them all alike."
            )
            raise PartitionError(message)


class Edges(NamedTuple):
    """The ends of some arcs, and their weights (None: all 1)."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[Any] | None


def is_partitioned(source: Any) -> bool:
    """Whether this is a source in partitions: a pattern, a folder, a sequence of them, or a dask collection."""
    path = as_path(source)
    if path is not None:
        return glob.has_magic(str(path)) or path.is_dir()
    return _is_collection(source) or _is_list_of(
        source, lambda part: as_path(part) is not None or _is_delayed(part) or callable(part)
    )


def edge_partitions(source: Any) -> list[Partition]:
    """The partitions of a source, in a fixed order (files by name)."""
    path = as_path(source)
    if path is not None:
        source = _find_files(path)
    elif _is_delayed(source):  # asked first: a delayed object has every attribute, to_delayed too
        source = [source]
    elif hasattr(source, "to_delayed"):
        source = list(np.ravel(source.to_delayed()))
    if not isinstance(source, (list, tuple)) or not source:
        message = (
            f"the edges are of type {type(source).__name__}; give a pattern or folder of parquet files, a list of "
            "paths, of callables or of dask delayed objects, or a dask dataframe."
        )
        raise OptionError(message)
    return _list_partitions(source, "a path, a callable or a delayed object", paths=True)


def _find_files(path: Path) -> list[str]:
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


def load_partition(number: int, partition: Partition, columns: Sequence[str] | None, value: Any = None) -> Edges:
    """The arcs of one partition, checked; runs on a worker, with the value of a lazy object. Errors name it."""
    place = name_place(number, partition)
    try:
        if partition.path is not None:
            path = Path(partition.path)
            wanted = _choose_columns(read_facts(path)[0].names, columns, place)
            table = read_whole(path, wanted)
            value = [table.column(name).to_numpy() for name in wanted]
        elif partition.loader is not None:
            value = partition.loader()
    except (GraphFileError, PartitionError):
        raise
    except Exception as error:  # the caller's loader may raise anything
        message = f"{place} cannot be loaded: {type(error).__name__}: {error}"
        raise PartitionError(message) from error
    return _check_edges(_split_columns(value, columns, place), place)


def _choose_columns(names: Sequence[str], columns: Sequence[str] | None, place: str) -> list[str]:
    wanted = edge_columns([str(name) for name in names]) if columns is None else list(columns)
    missing = [name for name in wanted if name not in names]
    if missing or len(wanted) < 2:
        message = (
            f"{place} has columns {list(names)}; {missing or 'two for the ends of an edge'} not found. Set columns=."
        )
        raise PartitionError(message)
    return wanted


def _split_columns(value: Any, columns: Sequence[str] | None, place: str) -> list[NDArray[Any]]:
    if hasattr(value, "columns"):
        names = [str(name) for name in value.columns]
        wanted = _choose_columns(names, columns, place)
        return [np.asarray(value[value.columns[names.index(name)]]) for name in wanted]
    if isinstance(value, (tuple, list)) and len(value) in (2, 3):
        return [np.asarray(column) for column in value]
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] in (2, 3):
        return [value[:, column] for column in range(value.shape[1])]
    shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
    message = (
        f"{place} is a {type(value).__name__}{shape}; it must be a frame, two or three columns (source, target, "
        "weight) of equal length, or an array of two or three columns."
    )
    raise PartitionError(message)


def _check_edges(columns: list[NDArray[Any]], place: str) -> Edges:
    lengths = [column.shape for column in columns]
    if any(column.ndim != 1 for column in columns) or len(set(lengths)) > 1:
        message = f"{place} has edge columns of shapes {lengths}; they must be one-dimensional and equally long."
        raise PartitionError(message)
    for column in columns[:2]:
        if column.dtype.kind not in "iuf":
            message = (
                f"{place} names vertices by dtype {column.dtype}; a graph on a cluster needs whole numbers. Number the "
                "labels first, or read the graph in memory."
            )
            raise DtypeError(message)
        check_vertex_numbers(column, place, PartitionError)
    source, target = (column.astype(np.int64, copy=False) for column in columns[:2])
    if len(columns) < 3:
        return Edges(source, target, None)
    weight = columns[2]
    if weight.dtype.kind not in "fiub":
        message = f"{place} has edge weights of dtype {weight.dtype}; they must be real numbers."
        raise DtypeError(message)
    check_weights(weight, lambda edge: (source[edge], target[edge]), where=f"{place}: ", kind=PartitionError)
    return Edges(source, target, weight.astype(np.int64 if weight.dtype.kind in "iub" else np.float64))
