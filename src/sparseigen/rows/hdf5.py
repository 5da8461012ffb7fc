"""Rows of HDF5 and AnnData files: dense tables and compressed rows; compressed columns turned in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import check_data_shape
from sparseigen.checks.coercion import float_dtype
from sparseigen.checks.memory import check_columns_fit, check_fits
from sparseigen.config import require
from sparseigen.errors import InputError, OptionError, one_of
from sparseigen.io.formats import BY_ENDING, ending_of, explain_damage, guard_blocks
from sparseigen.io.hdf5 import find_node, open_hdf5, read_matrix, read_names
from sparseigen.rows.source import (
    CONVERT,
    Buffers,
    CallerRows,
    RowSource,
    as_floats,
    file_fingerprint,
)


class Hdf5Rows:
    """A dense HDF5 dataset, or X of an AnnData file stored dense."""

    sparse = False

    def __init__(self, path: Path, place: str, names: tuple[str, ...] | None) -> None:
        self.path, self.place, self.names = path, place, names
        self.label = f"{path.name}:{place}"
        with open_hdf5(path) as file:
            data = find_node(file, place, path.name)
            self.shape = check_data_shape(data.shape, self.label)
            check_columns_fit(self.shape[1], self.label)
            self.dtype = float_dtype(data.dtype, self.label)
            chunks = data.chunks
        self.chunk_rows = chunks[0] if chunks else 1
        by_columns = chunks is not None and chunks[0] * 16 > self.shape[0] and chunks[1] * 4 < self.shape[1]
        self.advice = f"{self.label} is stored in tall chunks {chunks}; {CONVERT}" if by_columns else None

    @guard_blocks
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[NDArray[Any]]:
        """Read straight into the buffers; HDF5 converts on the way."""
        with open_hdf5(self.path) as file:
            data = find_node(file, self.place, self.path.name)
            for begin in range(start, self.shape[0], rows):
                block = buffers(min(rows, self.shape[0] - begin))
                if data.dtype.kind in "iu" and data.dtype.itemsize == 8:
                    block[:] = as_floats(data[begin : begin + len(block)], self.dtype, self.label)
                else:
                    data.read_direct(block, np.s_[begin : begin + len(block)])
                yield block

    def fingerprint(self) -> str:
        """That of the file, and the dataset."""
        return f"{file_fingerprint(self.path)} {self.place}"


class CsrRows:
    """X of an AnnData file in compressed rows (``data``, ``indices``, ``indptr``), never densified."""

    sparse = True

    def __init__(self, path: Path, place: str, shape: tuple[int, ...], names: tuple[str, ...] | None) -> None:
        self.path, self.place, self.names = path, place, names
        self.advice: str | None = None
        self.label = f"{path.name}:{place}"
        self.shape = check_data_shape(shape, self.label)
        check_columns_fit(self.shape[1], self.label)
        with self._open(path) as file:
            values, columns, pointers = self._parts(file)
            self.dtype = float_dtype(values.dtype, self.label)
            if pointers.shape != (self.shape[0] + 1,) or {columns.dtype.kind, pointers.dtype.kind} - {"i", "u"}:
                message = f"{self.label} is damaged: {pointers.shape} row pointers do not fit {self.shape[0]} rows."
                raise InputError(message)
            check_fits(16 * (self.shape[0] + 1), self.label)
            self.starts: NDArray[np.int64] = np.asarray(pointers[:], dtype=np.int64)
            stored = (values.shape[0], columns.shape[0])
        steps = np.diff(self.starts)
        if len(self.starts) != self.shape[0] + 1 or self.starts[0] != 0 or (steps < 0).any():
            message = f"{self.label} is damaged: its row pointers do not fit {self.shape[0]} rows."
            raise InputError(message)
        if stored != (self.starts[-1], self.starts[-1]):
            message = f"{self.label} is damaged: {stored[0]} values, {stored[1]} indices, {self.starts[-1]} expected."
            raise InputError(message)
        # A block of compressed rows is multiplied through copies of its values and indices.
        # Three times: as read, as a matrix, and what is made of it.
        self.row_bytes = 3 * int(np.ceil((4 + self.dtype.itemsize) * self.starts[-1] / self.shape[0])) + 8

    @staticmethod
    def _open(path: Path) -> Any:
        """The file, for a ``with`` block."""
        return open_hdf5(path)

    def _parts(self, file: Any) -> list[Any]:
        group = find_node(file, self.place, self.path.name)
        return [find_node(group, part, self.path.name) for part in ("data", "indices", "indptr")]

    @guard_blocks
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[Any]:
        """CSR matrices of some rows each."""
        from scipy.sparse import csr_matrix

        with self._open(self.path) as file:
            stored_values, stored_columns, _ = self._parts(file)
            for begin in range(start, self.shape[0], rows):
                end = min(begin + rows, self.shape[0])
                part = slice(int(self.starts[begin]), int(self.starts[end]))
                values = as_floats(stored_values[part], self.dtype, self.label)
                columns = stored_columns[part]
                if columns.size and (int(columns.min()) < 0 or int(columns.max()) >= self.shape[1]):
                    message = f"{self.label} is damaged: column indices outside 0..{self.shape[1] - 1}."
                    raise InputError(message)
                pointers = self.starts[begin : end + 1] - self.starts[begin]
                small = np.int32 if int(pointers[-1]) < 2**31 else np.int64
                block = csr_matrix(
                    (values, columns.astype(small, copy=False), pointers.astype(small)), (end - begin, self.shape[1])
                )
                block.sum_duplicates()
                yield block

    def fingerprint(self) -> str:
        """That of the file, and the place of the matrix in it."""
        return f"{file_fingerprint(self.path)} {self.place}"


def open_tables(path: Path, dataset: str | None) -> RowSource:
    """The rows of a table of an HDF5 or AnnData file: the one that is named, X, or the only one there is."""
    h5py = require("h5py", purpose="reading HDF5 files")
    with open_hdf5(path) as file:
        place = dataset or _find_only_table(file, h5py, path)
        if place not in file:
            message = f"{path.name} has no dataset {place!r}; it has: {one_of(_list_tables(file, h5py))}."
            raise OptionError(message)
        node = find_node(file, place, path.name)
        names = read_variable_names(file, node, path.name)
        if not isinstance(node, h5py.Group):
            return Hdf5Rows(path, place, names)
        kind = node.attrs.get("encoding-type", "")
        shape = tuple(int(side) for side in node.attrs.get("shape", ()))
    if kind == "csr_matrix":
        return CsrRows(path, place, shape, names)
    if kind == "csc_matrix":
        message = f"{path.name}:{place} is stored by columns (csc_matrix), which gives no blocks of rows; {CONVERT}"
        raise InputError(message)
    message = f"{path.name}:{place} is a group that holds no matrix ({kind or 'no encoding-type'})."
    raise InputError(message)


def _list_tables(file: Any, h5py: Any) -> list[str]:
    found: list[str] = []

    def look(name: str, node: Any) -> None:
        dense = isinstance(node, h5py.Dataset) and node.ndim == 2
        sparse = isinstance(node, h5py.Group) and node.attrs.get("encoding-type") in ("csr_matrix", "csc_matrix")
        if dense or sparse:
            found.append(name)

    file.visititems(look)
    return found


def _find_only_table(file: Any, h5py: Any, path: Path) -> str:
    if "X" in file:
        return "X"
    tables = _list_tables(file, h5py)
    if len(tables) != 1:
        has = f"it has: {one_of(tables)}" if tables else "it has no two-dimensional dataset"
        message = f"{path.name} does not say which table is meant; {has}. Choose one with dataset='...'."
        raise OptionError(message)
    return tables[0]


def read_variable_names(file: Any, node: Any, name: str) -> tuple[str, ...] | None:
    """The names of an AnnData file's variables, where they fit the matrix."""
    found = read_names(file, "var", name)
    shape = node.shape if hasattr(node, "shape") else node.attrs.get("shape", (0, 0))
    return found if found is not None and len(found) == int(shape[-1]) and len(set(found)) == len(found) else None


def turn_columns(path: Path, dataset: str | None) -> RowSource | None:
    """The rows of a matrix stored by columns, turned in memory; None for every other file."""
    form = BY_ENDING.get(ending_of(path))
    if form is None or form.name not in ("AnnData", "HDF5"):
        return None
    place = dataset or "X"
    with explain_damage(path.name, ending_of(path)), open_hdf5(path) as file:
        node = find_node(file, place, path.name) if place in file else None
        if node is None or node.attrs.get("encoding-type") != "csc_matrix":
            return None
        shape = check_data_shape(tuple(int(side) for side in node.attrs["shape"]), f"{path.name}:{place}")
        matrix = read_matrix(node, path.name, f"{path.name}:{place}").tocsr()
    step = max(1, (1 << 22) // shape[1])
    return CallerRows(lambda: (matrix[i : i + step] for i in range(0, shape[0], step)), shape)
