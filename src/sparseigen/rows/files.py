"""Blocks of rows from files, and from whatever else gives rows."""

from __future__ import annotations

import mmap
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import as_file_path
from sparseigen.checks.memory import check_columns_fit, check_fits
from sparseigen.config import require
from sparseigen.errors import InputError, MissingDataError, OptionError, SlowLayoutWarning, one_of
from sparseigen.io.columns import Table, check_names, damaged, readable
from sparseigen.io.hdf5 import child, names_of, open_hdf5
from sparseigen.io.npy import file_header, mapped_array
from sparseigen.rows.arrow import ArrowRows
from sparseigen.rows.source import (
    CONVERT,
    ArrayRows,
    Buffers,
    CallerRows,
    PlainRows,
    RowSource,
    as_floats,
    check_source_shape,
    file_fingerprint,
    float_dtype,
    iter_once,
    sampled_hash,
)


def open_rows(path: Path, dataset: str | None) -> RowSource:
    """The rows of a file; a folder is taken for a zarr store."""
    if not path.exists():
        message = f"{path} does not exist; check the path."
        raise MissingDataError(message)
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        message = (
            f"{path.name} has the ending {path.suffix!r}, which cannot be read in blocks of rows. "
            f"Allowed: {one_of(OPENERS)}. Text tables: {CONVERT}"
        )
        raise InputError(message)
    if dataset is not None and path.suffix.lower() not in WITH_DATASETS:
        message = f"dataset={dataset!r} names a part of a {one_of(WITH_DATASETS)} file; {path.name} has none."
        raise OptionError(message, parameter="dataset")
    with damaged(path.name, path.suffix.lower()):
        return opener(path, dataset)


def _open_npy(path: Path, dataset: str | None) -> RowSource:
    header = file_header(path)
    shape = check_source_shape(header.shape, path.name)
    check_columns_fit(shape[1], path.name)
    if header.order == "C" or 1 in shape:
        return PlainRows(path, header.start, shape, header.dtype, path.name)
    by_column = ArrayRows(mapped_array(path, header), path.name)
    by_column.path = path
    return by_column


class Hdf5Rows:
    """A dense HDF5 dataset, or X of an AnnData file stored dense."""

    sparse = False

    def __init__(self, path: Path, place: str, names: tuple[str, ...] | None) -> None:
        self.path, self.place, self.names = path, place, names
        self.label = f"{path.name}:{place}"
        with open_hdf5(path) as file:
            data = child(file, place, path.name)
            self.shape = check_source_shape(data.shape, self.label)
            check_columns_fit(self.shape[1], self.label)
            self.dtype = float_dtype(data.dtype, self.label)
            chunks = data.chunks
        self.chunk_rows = chunks[0] if chunks else 1
        by_columns = chunks is not None and chunks[0] * 16 > self.shape[0] and chunks[1] * 4 < self.shape[1]
        self.advice = f"{self.label} is stored in tall chunks {chunks}; {CONVERT}" if by_columns else None

    @readable
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[NDArray[Any]]:
        """Read straight into the buffers; HDF5 converts on the way."""
        with open_hdf5(self.path) as file:
            data = child(file, self.place, self.path.name)
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
        self.shape = check_source_shape(shape, self.label)
        check_columns_fit(self.shape[1], self.label)
        with open_hdf5(path) as file:
            values, columns, pointers = self._parts(file)
            self.dtype = float_dtype(values.dtype, self.label)
            if pointers.shape != (self.shape[0] + 1,) or {columns.dtype.kind, pointers.dtype.kind} - {"i", "u"}:
                message = f"{self.label} is damaged: {pointers.shape} row pointers do not fit {self.shape[0]} rows."
                raise InputError(message)
            check_fits(16 * (self.shape[0] + 1), self.label)
            self.starts: NDArray[np.int64] = np.asarray(pointers[:], dtype=np.int64)
            stored = (len(values), len(columns))
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

    def _parts(self, file: Any) -> list[Any]:
        group = child(file, self.place, self.path.name)
        return [child(group, part, self.path.name) for part in ("data", "indices", "indptr")]

    @readable
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[Any]:
        """CSR matrices of some rows each."""
        from scipy.sparse import csr_matrix

        with open_hdf5(self.path) as file:
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


def _open_hdf5(path: Path, dataset: str | None) -> RowSource:
    h5py = require("h5py", purpose="reading HDF5 files")
    with open_hdf5(path) as file:
        place = dataset or _only_table(file, h5py, path)
        if place not in file:
            message = f"{path.name} has no dataset {place!r}; it has: {one_of(_tables(file, h5py))}."
            raise OptionError(message)
        node = child(file, place, path.name)
        names = _variable_names(file, node, path.name)
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


def _tables(file: Any, h5py: Any) -> list[str]:
    found: list[str] = []

    def look(name: str, node: Any) -> None:
        dense = isinstance(node, h5py.Dataset) and node.ndim == 2
        sparse = isinstance(node, h5py.Group) and node.attrs.get("encoding-type") in ("csr_matrix", "csc_matrix")
        if dense or sparse:
            found.append(name)

    file.visititems(look)
    return found


def _only_table(file: Any, h5py: Any, path: Path) -> str:
    """X of an AnnData file, or the only table there is."""
    if "X" in file:
        return "X"
    tables = _tables(file, h5py)
    if len(tables) != 1:
        has = f"it has: {one_of(tables)}" if tables else "it has no two-dimensional dataset"
        message = f"{path.name} does not say which table is meant; {has}. Choose one with dataset='...'."
        raise OptionError(message)
    return tables[0]


def _variable_names(file: Any, node: Any, name: str) -> tuple[str, ...] | None:
    """The names of an AnnData file's variables, where they fit the matrix."""
    found = names_of(file, "var", name)
    shape = node.shape if hasattr(node, "shape") else node.attrs.get("shape", (0, 0))
    return found if found is not None and len(found) == int(shape[-1]) and len(set(found)) == len(found) else None


class ZarrRows:
    """A two-dimensional zarr array; whole chunks of rows are read at a time."""

    sparse = False
    names: tuple[str, ...] | None = None

    def __init__(self, array: Any, label: str) -> None:
        self.array, self.label = array, label
        _check_codecs(array, label)
        self.shape = check_source_shape(tuple(array.shape), label)
        self.dtype = float_dtype(np.dtype(array.dtype), label)
        check_columns_fit(self.shape[1], label)
        check_fits(int(array.chunks[0]) * int(array.chunks[1]) * int(array.dtype.itemsize), f"{label}: one chunk")
        self.chunk_rows = int(array.chunks[0])
        wide = self.chunk_rows * 16 > self.shape[0] and int(array.chunks[1]) * 4 < self.shape[1]
        self.advice = f"{label} is stored in tall chunks {tuple(array.chunks)}; {CONVERT}" if wide else None

    @readable
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


def _check_codecs(array: Any, label: str) -> None:
    """Refuse chunks packed in a way that is not plainly a compression: one way is to unpickle them."""
    facts = array.metadata if hasattr(array, "metadata") else array
    used = [*(getattr(facts, "filters", None) or ()), *(getattr(facts, "codecs", None) or ())]
    used += [one for one in (getattr(facts, "compressor", None),) if one is not None]
    used += [inner for codec in used for inner in getattr(codec, "codecs", ())]
    for codec in used:
        name = getattr(codec, "codec_id", None) or codec.to_dict().get("name", type(codec).__name__)
        if name.removeprefix("numcodecs.") not in CODECS:
            message = f"{label} is packed by {name!r}, which is not read from data files. Allowed: {one_of(CODECS)}."
            raise InputError(message)


CODECS = frozenset({
    "adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "fixedscaleoffset",
    "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits", "pcodec", "quantize",
    "sharding_indexed", "shuffle", "transpose", "zfpy", "zlib", "zstd",
})  # fmt: skip
"""Ways to pack chunks that only ever make numbers."""


def _open_zarr(path: Path, dataset: str | None) -> RowSource:
    zarr = require("zarr", purpose="reading zarr stores")
    try:
        node = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr has errors of its own for every way a store can be damaged
        message = f"{path.name} cannot be read as a zarr store: {error}"
        if zarr.__version__.startswith("2.") and (path / "zarr.json").exists():
            message = (
                f"{path.name} is in zarr's format 3, which zarr {zarr.__version__} does not read. "
                "Install a newer one: pip install 'zarr>=3'"
            )
        raise InputError(message) from error
    if hasattr(node, "keys"):
        names = sorted(node.keys())
        place = dataset or ("X" if "X" in names else names[0] if len(names) == 1 else None)
        if place is None or place not in names:
            message = f"{path.name} is a group; choose one of its arrays with dataset='...': {one_of(names)}."
            raise OptionError(message)
        node = node[place]
        if hasattr(node, "keys"):
            message = f"{path.name}:{place} is a group, not an array; sparse zarr groups: {CONVERT}"
            raise InputError(message)
    return ZarrRows(node, path.name)


def _arrow(kind: str) -> Callable[[Path, str | None], RowSource]:
    return lambda path, dataset: ArrowRows(path, kind)


OPENERS: dict[str, Callable[[Path, str | None], RowSource]] = {
    ".npy": _open_npy,
    ".h5": _open_hdf5,
    ".hdf5": _open_hdf5,
    ".h5ad": _open_hdf5,
    ".zarr": _open_zarr,
    ".arrow": _arrow("Arrow IPC"),
    ".feather": _arrow("Arrow IPC"),
    ".ipc": _arrow("Arrow IPC"),
    ".parquet": _arrow("parquet"),
}
"""File ending -> source. A new format is a class here (or beside this file) and a row in this table."""
WITH_DATASETS = {".h5", ".hdf5", ".h5ad", ".zarr"}


LARGE = 1 << 26
"""Bytes from which a slow layout is worth a warning."""
SOURCE_MEMBERS = ("shape", "dtype", "names", "sparse", "blocks", "fingerprint")


def as_row_source(value: Any, *, dataset: str | None, shape: Any) -> RowSource | None:
    """The source behind a path, a memory map, a zarr array, an iterable of blocks; None for data in memory."""
    source = _found(value, dataset, shape)
    if source is None:
        return None
    if shape is not None and tuple(shape) != source.shape:
        message = f"shape={tuple(shape)} does not fit {source.label}, which has shape {source.shape}."
        raise OptionError(message)
    check_names(source.label, source.names)
    if source.advice is not None and source.shape[0] * source.shape[1] * source.dtype.itemsize > LARGE:
        warnings.warn(f"{source.advice}", SlowLayoutWarning, stacklevel=4)
    return source


def _found(value: Any, dataset: str | None, shape: Any) -> RowSource | None:
    if isinstance(value, (str, os.PathLike)):
        return open_rows(as_file_path(value, "X"), dataset)
    if isinstance(value, np.memmap):
        return _mapped(value)
    if isinstance(value, Table) and isinstance(value.values, np.memmap):
        source = _mapped(value.values)
        source.names = value.names
        return source
    if type(value).__module__.split(".")[0] == "zarr" and hasattr(value, "chunks"):
        return ZarrRows(value, "X (zarr array)")
    if all(hasattr(value, name) for name in SOURCE_MEMBERS):
        return value  # type: ignore[no-any-return]
    if callable(value) or iter_once(value) or (shape is not None and isinstance(value, (list, tuple))):
        return CallerRows(value, shape)
    return None


def _mapped(values: Any) -> RowSource:
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
