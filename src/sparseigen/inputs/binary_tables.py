"""Tables in binary files. What a header declares is checked against the file and the memory before it is believed."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.errors import DtypeError, InputError, OptionError, ShapeError, one_of
from sparseigen.inputs.columns import Columns, Table, TableOptions, check_names, check_whole_numbers
from sparseigen.inputs.memory import available_bytes, check_columns_fit, check_fits
from sparseigen.inputs.optional import require

NAME_ARRAYS = ("names", "columns", "variables", "feature_names", "features", "genes")
"""Arrays of an npz file that are looked at for the names of the variables."""

LARGEST_HEADER = 10_000
SHORTEST_ENTRY = 4
"""Bytes of the shortest line with an entry of a coordinate file: '1 1' and the end of the line."""


def read_npy(path: Path, options: TableOptions) -> Table:
    """NumPy's own format; larger than half the free memory it stays on disk."""
    with path.open("rb") as file:
        declared = _declared(file, path.name)
        start = file.tell()
    if declared > path.stat().st_size - start:
        message = (
            f"{path.name} declares {declared} bytes of numbers and holds {path.stat().st_size - start}: truncated."
        )
        raise InputError(message)
    if 2 * declared > available_bytes():
        return Table(np.load(path, mmap_mode="r", allow_pickle=False))
    return Table(np.load(path, allow_pickle=False))


def _declared(file: BinaryIO, name: str) -> int:
    """Bytes of numbers that a npy header announces; pickled objects are refused here."""
    version = np.lib.format.read_magic(file)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = reader(file, max_header_size=LARGEST_HEADER)
    if dtype.hasobject:
        message = f"{name} has dtype object; it must hold real numbers (pickled objects are never loaded)."
        raise DtypeError(message)
    if any(side < 0 for side in shape):
        message = f"{name} declares the shape {shape}; sides cannot be negative."
        raise ShapeError(message)
    size = int(dtype.itemsize)
    for side in shape:
        size *= int(side)
    if len(shape) == 2:
        check_columns_fit(int(shape[1]), name)
    return size


def read_npz(path: Path, options: TableOptions) -> Table:
    """A matrix saved by scipy.sparse.save_npz, or one 2-dimensional array of NumPy's archive."""
    check_archive(path)
    with np.load(path, allow_pickle=False) as arrays:
        if "format" in arrays.files and "shape" in arrays.files:
            shape = [int(side) for side in arrays["shape"]]
            if len(shape) == 2:
                check_columns_fit(max(0, shape[1]), path.name)
            return Table(sp.csr_array(sp.load_npz(path)))
        found = {name: arrays[name] for name in arrays.files}
    return _from_arrays(path.name, found, options)


def check_archive(path: Path) -> None:
    """Refuse an npz file whose arrays are objects, longer than the archive says, or larger than memory."""
    with zipfile.ZipFile(path) as archive:
        check_fits(sum(_checked_member(archive, member) for member in archive.infolist()), path.name)


def _checked_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Bytes that a member of the archive says it holds, if its header agrees."""
    with archive.open(member) as file:
        declared = _declared(file, member.filename)  # type: ignore[arg-type]
    if declared > member.file_size:
        message = f"{member.filename} declares {declared} bytes of numbers and holds {member.file_size}: truncated."
        raise InputError(message)
    return member.file_size


def _from_arrays(file: str, arrays: dict[str, NDArray[Any]], options: TableOptions) -> Table:
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    wanted = options.array
    if wanted is None and len(tables) == 1:
        wanted = tables[0]
    if wanted is None:
        what = f"{len(tables)} tables ({one_of(tables)})" if tables else f"no table, only {one_of(arrays)}"
        message = f"{file} holds {what}; name one of its arrays ('array')."
        raise OptionError(message)
    if wanted not in arrays:
        message = f"array={wanted!r} is not in {file}; it has {one_of(arrays)}."
        raise OptionError(message)
    values = arrays[wanted]
    rows, columns = values.shape if values.ndim == 2 else (0, 0)
    names = next((_texts(arrays[name]) for name in NAME_ARRAYS if _fits(arrays.get(name), columns)), None)
    check_names(file, names)
    labels = None
    if options.label is not None:
        if not _fits(arrays.get(options.label), rows):
            able = one_of(name for name in arrays if _fits(arrays[name], rows)) or "none"
            message = f"label={options.label!r} is not an array of {rows} entries in {file}; it has: {able}."
            raise OptionError(message)
        labels = _texts(arrays[options.label])
    return Table(values, names, None, labels)


def _fits(array: NDArray[Any] | None, length: int) -> bool:
    return array is not None and array.shape == (length,)


def _texts(array: NDArray[Any]) -> tuple[str, ...]:
    return tuple(item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item) for item in array.tolist())


def read_matrix_market(path: Path, options: TableOptions) -> Table:
    """A Matrix Market file, coordinate (sparse) or array (dense)."""
    import scipy.io

    rows, columns, entries, form, _, _ = scipy.io.mminfo(path)
    check_columns_fit(int(columns), path.name)
    check_fits(8 * int(rows) * int(columns) if form == "array" else 16 * int(entries), path.name)
    plain = path.suffix.lower() != ".gz"
    if plain and form == "coordinate" and SHORTEST_ENTRY * int(entries) > path.stat().st_size:
        message = f"{path.name} declares {entries} entries and has {path.stat().st_size} bytes: truncated."
        raise InputError(message)
    values = scipy.io.mmread(path, spmatrix=False)
    return Table(sp.csr_array(values) if sp.issparse(values) else values)


def read_parquet(path: Path, options: TableOptions) -> Table:
    """A parquet table."""
    parquet = require("pyarrow.parquet", purpose="a parquet file")
    types = require("pyarrow.types", purpose="a parquet file")
    with parquet.ParquetFile(path) as file:
        facts = file.metadata
        check_fits(16 * facts.num_rows * facts.num_columns, path.name)
        table = file.read()
    names = tuple(str(name) for name in table.column_names)
    numeric, text, kept = [], {}, {}
    wanted = {0, *(j for j, name in enumerate(names) if name in (options.index, options.label))}
    for j, column in enumerate(table.columns):
        kind = column.type
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
            numeric.append(j)
        else:
            first = column.slice(0, 1).to_pylist()
            text[j] = ("", str(first[0]) if first else "")
        if j in wanted:
            kept[j] = ["" if cell is None else str(cell) for cell in column.to_pylist()]
    values = np.empty((table.num_rows, len(numeric)))
    for i, j in enumerate(numeric):
        array = table.column(j).to_numpy()
        check_whole_numbers(array, f"{path.name}, column {names[j]!r}")
        values[:, i] = array
    return Columns(path.name, names, len(names), numeric, values, text, kept).table(options)


def read_h5ad(path: Path, options: TableOptions) -> Table:
    """The matrix X of an AnnData file (or a layer, named by ``array``) with the names of cells and genes."""
    h5py = require("h5py", purpose="an h5ad file")
    with h5py.File(path, "r") as file:
        matrix = file["X"] if options.array in (None, "X") else file["layers"][options.array]
        values = _h5_matrix(path.name, matrix)
        names, rows = _h5_index(file, "var"), _h5_index(file, "obs")
        labels = None if options.label is None else _h5_column(path.name, file["obs"], options.label)
    for what, found, side in (("var", names, 1), ("obs", rows, 0), ("label", labels, 0)):
        if found is not None and len(found) != values.shape[side]:
            message = f"{path.name}: {what} has {len(found)} names, X has the shape {values.shape}."
            raise ShapeError(message)
    check_names(path.name, names)
    return Table(values, names, rows, labels)


def _h5_matrix(file: str, matrix: Any) -> Any:
    if hasattr(matrix, "shape"):
        if len(matrix.shape) == 2:
            check_columns_fit(int(matrix.shape[1]), file)
        check_fits(int(np.prod([float(side) for side in matrix.shape])) * int(matrix.dtype.itemsize), file)
        return matrix[()]
    shape = tuple(int(side) for side in matrix.attrs["shape"])
    form = str(matrix.attrs.get("encoding-type", "csr_matrix"))[:3]
    if form not in ("csr", "csc") or len(shape) != 2 or min(shape) < 0:
        message = f"{file}: X is a {form!r} matrix of shape {shape}; it must be dense, csr or csc, with two sides."
        raise ShapeError(message)
    check_columns_fit(shape[1], file)
    check_fits(sum(int(matrix[part].size) * 8 for part in ("data", "indices", "indptr")), file)
    parts = tuple(matrix[part][()] for part in ("data", "indices", "indptr"))
    return (sp.csr_array if form == "csr" else sp.csc_array)(parts, shape=shape)


def _h5_index(file: Any, axis: str) -> tuple[str, ...] | None:
    if axis not in file:
        return None
    group = file[axis]
    if not hasattr(group, "keys"):  # before anndata 0.7: one compound array
        fields = group.dtype.names or ()
        return _texts(group["index"]) if "index" in fields else None
    name = group.attrs.get("_index", "_index")
    return _texts(group[name][()]) if name in group else None


def _h5_column(file: str, obs: Any, wanted: str) -> tuple[str, ...]:
    if wanted not in obs:
        message = f"label={wanted!r} is not a column of obs in {file}; it has {one_of(obs.keys())}."
        raise OptionError(message)
    column = obs[wanted]
    if hasattr(column, "keys"):  # categories and their codes
        categories = _texts(column["categories"][()])
        return tuple(categories[code] if code >= 0 else "" for code in column["codes"][()].tolist())
    return _texts(column[()])
