"""Blocks of rows from files (NumPy, Arrow, parquet), and from whatever else gives rows."""

from __future__ import annotations

import mmap
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import as_file_path
from sparseigen.checks.arrays import check_data_shape
from sparseigen.checks.coercion import check_names
from sparseigen.checks.memory import check_columns_fit
from sparseigen.config import require
from sparseigen.errors import (
    DtypeError,
    InputError,
    MissingDataError,
    OptionError,
    ShapeError,
    SlowLayoutWarning,
    one_of,
)
from sparseigen.io.arrow import read_batches, read_facts
from sparseigen.io.columns import Table
from sparseigen.io.formats import BY_ENDING, ending_of, explain_damage, find_endings, find_reader, guard_blocks
from sparseigen.io.npy import map_array, read_file_header
from sparseigen.io.zarr_stores import is_store
from sparseigen.rows.source import (
    CONVERT,
    ArrayRows,
    Buffers,
    CallerRows,
    PlainRows,
    RowSource,
    as_floats,
    file_fingerprint,
    iter_once,
)


def open_rows(path: Path, dataset: str | None) -> RowSource:
    """The rows of a file; a folder is taken for a zarr store."""
    if not path.exists():
        message = f"{path} does not exist; check the path."
        raise MissingDataError(message)
    ending = ending_of(path)
    opener = find_reader(ending, "rows")
    if opener is None:
        message = (
            f"{path.name} has the ending {ending!r}, which cannot be read in blocks of rows. "
            f"Allowed: {one_of(find_endings('rows'))}. Text tables: {CONVERT}"
        )
        raise InputError(message)
    if dataset is not None and not BY_ENDING[ending].datasets:
        several = one_of(known for known, form in BY_ENDING.items() if form.datasets)
        message = f"dataset={dataset!r} names a part of a {several} file; {path.name} has none."
        raise OptionError(message, parameter="dataset")
    with explain_damage(path.name, BY_ENDING[ending].name):
        source: RowSource = opener(path, dataset)
    return source


def open_npy(path: Path, dataset: str | None) -> RowSource:
    """The rows of a NumPy file."""
    header = read_file_header(path)
    shape = check_data_shape(header.shape, path.name)
    check_columns_fit(shape[1], path.name)
    if header.order == "C" or 1 in shape:
        return PlainRows(path, header.start, shape, header.dtype, path.name)
    by_column = ArrayRows(map_array(path, header), path.name)
    by_column.path = path
    return by_column


MANY_COLUMNS = 256
"""Tables with one array per column are slow to read by rows above this many columns."""


class ArrowRows:
    """Record batches of an Arrow IPC file, or of a parquet file: one list column, or one column per variable."""

    sparse = False

    def __init__(self, path: Path) -> None:
        self.path, self.label = path, path.name
        pyarrow = require("pyarrow", purpose=f"reading {path.suffix} files")
        schema, n_rows = read_facts(path)
        width = None
        if len(schema) == 1 and pyarrow.types.is_fixed_size_list(schema[0].type):
            width, element = schema[0].type.list_size, schema[0].type.value_type
            self.names: tuple[str, ...] | None = None
            elements = [element]
        else:
            self.names = tuple(schema.names)
            elements = [field.type for field in schema]
        for field, element in zip(schema, elements * (len(schema) if width else 1), strict=False):
            if not (pyarrow.types.is_floating(element) or pyarrow.types.is_integer(element)):
                message = f"{path.name}, column {field.name!r}, holds {element}; it must hold real numbers. Drop it."
                raise DtypeError(message)
        self.list_size = width
        self.shape = check_data_shape((n_rows, width or len(schema)), path.name)
        check_columns_fit(self.shape[1], path.name)
        small = all(pyarrow.types.is_float32(e) or pyarrow.types.is_float16(e) for e in elements)
        self.dtype = np.dtype(np.float32 if small else np.float64)
        wide = width is None and len(schema) > MANY_COLUMNS
        self.advice = (
            f"{path.name} keeps {len(schema)} columns apart, which is slow to read by rows; {CONVERT}" if wide else None
        )

    @guard_blocks
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[NDArray[Any]]:
        """Batches copied into rows; where batches are small, several of them fill one block."""
        block, filled, skip = None, 0, start
        for batch in read_batches(self.path, rows):
            begin = min(skip, batch.num_rows)
            skip -= begin
            while begin < batch.num_rows:
                if block is None:
                    block, filled = buffers(min(rows, self.shape[0])), 0
                count = min(len(block) - filled, batch.num_rows - begin)
                self._copy(batch.slice(begin, count), block[filled : filled + count])
                begin, filled = begin + count, filled + count
                if filled == len(block):
                    yield block
                    block = None
        if block is not None and filled:
            yield block[:filled]

    def _copy(self, batch: Any, out: NDArray[Any]) -> None:
        if self.list_size is None:
            for place, column in enumerate(batch.columns):
                out[:, place] = self._numbers(column, batch.schema[place].name)
            return
        column = batch.column(0)
        if column.null_count:
            self._refuse_gaps(column.null_count, batch.schema[0].name)
        out[:] = self._numbers(column.flatten(), batch.schema[0].name).reshape(out.shape)

    def _numbers(self, column: Any, name: str) -> NDArray[Any]:
        if column.null_count:
            self._refuse_gaps(column.null_count, name)
        return as_floats(column.to_numpy(zero_copy_only=False), self.dtype, f"{self.label}, column {name!r},")

    def _refuse_gaps(self, count: int, name: str) -> None:
        message = f"{self.label}, column {name!r}, has {count} empty cells in one batch; fill or drop them first."
        raise ShapeError(message)

    def fingerprint(self) -> str:
        """That of the file."""
        return file_fingerprint(self.path)


def open_arrow(path: Path, dataset: str | None) -> RowSource:
    """The rows of an Arrow IPC or parquet file."""
    return ArrowRows(path)


LARGE = 1 << 26
"""Bytes from which a slow layout is worth a warning."""
SOURCE_MEMBERS = ("shape", "dtype", "names", "sparse", "blocks", "fingerprint")


def as_row_source(value: Any, *, dataset: str | None, shape: Any) -> RowSource | None:
    """The source behind a path, a memory map, a zarr array, an iterable of blocks; None for data in memory."""
    source = _find_source(value, dataset, shape)
    if source is None:
        return None
    if shape is not None and tuple(shape) != source.shape:
        message = f"shape={tuple(shape)} does not fit {source.label}, which has shape {source.shape}."
        raise OptionError(message)
    check_names(source.label, source.names)
    if source.advice is not None and source.shape[0] * source.shape[1] * source.dtype.itemsize > LARGE:
        warnings.warn(f"{source.advice}", SlowLayoutWarning, stacklevel=4)
    return source


def _find_source(value: Any, dataset: str | None, shape: Any) -> RowSource | None:
    if isinstance(value, (str, os.PathLike)):
        return open_rows(as_file_path(value, "X"), dataset)
    if isinstance(value, np.memmap):
        return _open_map(value)
    if isinstance(value, Table) and isinstance(value.values, np.memmap):
        source = _open_map(value.values)
        source.names = value.names
        return source
    if is_store(value) and hasattr(value, "chunks"):
        from sparseigen.rows.zarr_stores import ZarrRows

        return ZarrRows(value, "X (zarr array)")
    if all(hasattr(value, name) for name in SOURCE_MEMBERS):
        return value  # type: ignore[no-any-return]
    if callable(value) or iter_once(value) or (shape is not None and isinstance(value, (list, tuple))):
        return CallerRows(value, shape)
    return None


def _open_map(values: Any) -> RowSource:
    """A memory map; a plain one that nobody writes to is read from its file, which is faster and keeps no pages."""
    plain = isinstance(values.base, mmap.mmap) and values.flags.c_contiguous and values.ndim == 2
    if plain and values.mode == "r" and values.filename is not None and Path(values.filename).is_file():
        return PlainRows(Path(values.filename), values.offset, values.shape, values.dtype, "X (memory map)")
    return ArrayRows(values, "X (memory map)")


def check_checkpoint(value: Any) -> Path | None:
    """A path in a folder that exists."""
    if value is None:
        return None
    path = as_file_path(value, "checkpoint")
    if path.is_dir() or not path.parent.is_dir():
        message = f"checkpoint={str(path)!r} must name a file in a folder that exists."
        raise InputError(message)
    return path
