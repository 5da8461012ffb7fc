"""Rows of zarr stores: dense arrays, and AnnData's layout with names, dense or in compressed rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import check_data_shape
from sparseigen.checks.coercion import float_dtype
from sparseigen.checks.memory import check_columns_fit, check_fits
from sparseigen.errors import InputError, OptionError, one_of
from sparseigen.io.formats import guard_blocks
from sparseigen.io.zarr_stores import check_codecs, find_in_store, list_store, open_store
from sparseigen.rows.genotypes import TallRows, VcfZarrRows
from sparseigen.rows.hdf5 import CsrRows, read_variable_names
from sparseigen.rows.source import CONVERT, Buffers, RowSource, as_floats, sampled_hash


class ZarrRows:
    """A two-dimensional zarr array; whole chunks of rows are read at a time."""

    sparse = False

    def __init__(self, array: Any, label: str, names: tuple[str, ...] | None = None) -> None:
        self.array, self.label, self.names = array, label, names
        check_codecs(array, label)
        self.shape = check_data_shape(tuple(array.shape), label)
        self.dtype = float_dtype(np.dtype(array.dtype), label)
        check_columns_fit(self.shape[1], label)
        check_fits(int(array.chunks[0]) * int(array.chunks[1]) * int(array.dtype.itemsize), f"{label}: one chunk")
        self.chunk_rows = int(array.chunks[0])
        wide = self.chunk_rows * 16 > self.shape[0] and int(array.chunks[1]) * 4 < self.shape[1]
        self.advice = f"{label} is stored in tall chunks {tuple(array.chunks)}; {CONVERT}" if wide else None

    @guard_blocks
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[NDArray[Any]]:
        """Blocks that end where chunks end, so that no chunk is decompressed twice, if one fits into a block."""
        step = max(rows - rows % self.chunk_rows, min(rows, self.chunk_rows))
        for begin in range(start, self.shape[0], step):
            part = self.array[begin : begin + step]
            block = buffers(len(part))
            block[:] = as_floats(np.asarray(part), self.dtype, self.label)
            yield block

    def fingerprint(self) -> str:
        """A hash of the first, the middle and the last row."""
        return sampled_hash(self.array, self.shape)


class ZarrCsrRows(CsrRows):
    """X of an AnnData store in compressed rows, never densified."""

    @staticmethod
    def _open(path: Path) -> Any:
        return nullcontext(open_store(path))

    def fingerprint(self) -> str:
        """A hash of the first, the middle and the last values, and the place of the matrix in the store."""
        values = self._parts(open_store(self.path))[0]
        return f"{sampled_hash(values, values.shape)} {self.place}"


def _open_array(array: Any, label: str, names: tuple[str, ...] | None) -> RowSource:
    """By rows; small whole numbers in chunks of most samples by variables, as they lie."""
    check_codecs(array, label)
    if np.dtype(array.dtype) == np.int8 and len(array.shape) == 2 and 2 * array.chunks[0] >= array.shape[0]:
        check_fits(int(array.chunks[0]) * int(array.chunks[1]), f"{label}: one chunk")
        return TallRows(array, label, names)
    return ZarrRows(array, label, names)


def open_zarr(path: Path, dataset: str | None) -> RowSource:
    """The rows of a zarr array, or of one in a group: the one that is named, X, or the only one there is."""
    node = open_store(path)
    if not hasattr(node, "keys"):
        return _open_array(node, path.name, None)
    names = list_store(node)
    if "call_genotype" in names and dataset in (None, "call_genotype"):
        return VcfZarrRows(node, path.name)
    place = dataset or ("X" if "X" in names else names[0] if len(names) == 1 else None)
    if place is None or place not in node:
        message = f"{path.name} is a group; choose one of its arrays with dataset='...': {one_of(names)}."
        raise OptionError(message)
    table = find_in_store(node, place, path.name)
    variables = read_variable_names(node, table, path.name)
    if not hasattr(table, "keys"):
        return _open_array(table, path.name, variables)
    if table.attrs.get("encoding-type") == "csr_matrix":
        return ZarrCsrRows(path, place, tuple(int(side) for side in table.attrs["shape"]), variables)
    message = f"{path.name}:{place} is a group that gives no blocks of rows (it holds no compressed rows); {CONVERT}"
    raise InputError(message)
