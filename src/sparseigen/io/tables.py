"""Tables and matrices from files: one row per format.

Tables in files: text (csv, tsv), NumPy and scipy files, Matrix Market, parquet, AnnData.

Whatever is wrong with a file ends in one sentence that names it. No pickled object is ever loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.checks.coercion import check_sides, checked_sparse, compressed, from_saved
from sparseigen.checks.memory import WORK_VECTORS, available_bytes, check_columns_fit, check_fits
from sparseigen.config import require
from sparseigen.errors import InputError, MissingDataError, NonFiniteError, OptionError, ShapeError, one_of
from sparseigen.io.columns import Columns, Table, TableOptions, check_names, check_whole_numbers, damaged
from sparseigen.io.hdf5 import as_words, child, names_of, open_hdf5
from sparseigen.io.matrix_market import read_matrix
from sparseigen.io.npy import file_header, mapped_array, read_archive

NAME_ARRAYS = ("names", "columns", "variables", "feature_names", "features", "genes")
"""Arrays of an npz file that are looked at for the names of the variables."""


def read_npy(path: Path, options: TableOptions) -> Table:
    """NumPy's own format; larger than half the free memory it stays on disk."""
    header = file_header(path)
    if len(header.shape) == 2:
        check_columns_fit(header.shape[1], path.name)
    if 2 * header.n_bytes > available_bytes():
        return Table(mapped_array(path, header))
    values = np.fromfile(path, dtype=header.dtype, count=header.size, offset=header.start)
    order: Any = header.order
    return Table(values.reshape(header.shape, order=order))


def read_npz(path: Path, options: TableOptions) -> Table:
    """A matrix saved by scipy.sparse.save_npz, or one 2-dimensional array of NumPy's archive."""
    arrays = read_archive(path)
    if "format" in arrays and "shape" in arrays:
        return Table(from_saved(arrays, path.name).tocsr())
    return _from_arrays(path.name, arrays, options)


def _from_arrays(file: str, arrays: dict[str, NDArray[Any]], options: TableOptions) -> Table:
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    wanted = options.array
    if wanted is None and len(tables) == 1:
        wanted = tables[0]
    if wanted is None:
        what = f"{len(tables)} tables ({one_of(tables)})" if tables else f"no table, only {one_of(arrays)}"
        message = f"{file} holds {what}; name one of its arrays ('array')."
        raise OptionError(message, parameter="array")
    if wanted not in arrays:
        message = f"array={wanted!r} is not in {file}; it has {one_of(arrays)}."
        raise OptionError(message, parameter="array")
    values = arrays[wanted]
    if values.ndim == 2:
        check_columns_fit(values.shape[1], file)
    rows, columns = values.shape if values.ndim == 2 else (0, 0)
    names = next((as_words(arrays[name]) for name in NAME_ARRAYS if _fits(arrays.get(name), columns)), None)
    check_names(file, names)
    labels = None
    if options.label is not None:
        if not _fits(arrays.get(options.label), rows):
            able = one_of(name for name in arrays if _fits(arrays[name], rows)) or "none"
            message = f"label={options.label!r} is not an array of {rows} entries in {file}; it has: {able}."
            raise OptionError(message, parameter="label")
        labels = as_words(arrays[options.label])
    return Table(values, names, None, labels)


def _fits(array: NDArray[Any] | None, length: int) -> bool:
    return array is not None and array.shape == (length,)


def read_matrix_market(path: Path, options: TableOptions) -> Table:
    """A Matrix Market file, coordinate (sparse) or array (dense)."""
    values = read_matrix(path, column_bytes=8 * WORK_VECTORS)
    return Table(checked_sparse(values, path.name).tocsr() if sp.issparse(values) else values)


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
    with open_hdf5(path) as file:
        place = "X" if options.array in (None, "X") else f"layers/{options.array}"
        values = _h5_matrix(path.name, child(file, place, path.name))
        names, rows = names_of(file, "var", path.name), names_of(file, "obs", path.name)
        labels = None if options.label is None else _h5_column(path.name, file, options.label, values.shape[0])
    for what, found, side in (("var", names, 1), ("obs", rows, 0)):
        if found is not None and len(found) != values.shape[side]:
            message = f"{path.name}: {what} has {len(found)} names, X has the shape {values.shape}."
            raise ShapeError(message)
    check_names(path.name, names)
    return Table(values, names, rows, labels)


def _h5_matrix(file: str, matrix: Any) -> Any:
    if hasattr(matrix, "shape"):
        if len(matrix.shape) != 2 or matrix.dtype.kind not in "fiub":
            message = f"{file}: X has the shape {matrix.shape} and dtype {matrix.dtype}; it must be a table of numbers."
            raise ShapeError(message)
        check_columns_fit(int(matrix.shape[1]), file)
        check_fits(int(matrix.shape[0]) * int(matrix.shape[1]) * int(matrix.dtype.itemsize), file)
        return matrix[()]
    shape = check_sides(matrix.attrs["shape"], f"{file}: X")
    form = str(matrix.attrs.get("encoding-type", "csr_matrix"))[:3]
    if form not in ("csr", "csc"):
        message = f"{file}: X is a {form!r} matrix of shape {shape}; it must be dense, csr or csc, with two sides."
        raise ShapeError(message)
    check_columns_fit(shape[1], file)
    parts = [child(matrix, part, file) for part in ("data", "indices", "indptr")]
    check_fits(sum(int(part.size) * 8 for part in parts), file)
    return compressed(form, (parts[0][()], parts[1][()], parts[2][()]), shape, f"{file}: X")


def _h5_column(file: str, tree: Any, wanted: str, rows: int) -> tuple[str, ...]:
    obs = child(tree, "obs", file)
    if wanted not in obs:
        message = f"label={wanted!r} is not a column of obs in {file}; it has {one_of(obs.keys())}."
        raise OptionError(message, parameter="label")
    column = child(obs, wanted, file)
    grouped = hasattr(column, "keys")  # categories and their codes
    cells = child(column, "codes", file) if grouped else column
    if cells.shape != (rows,):
        message = f"{file}: label has {cells.shape} entries, X has {rows} rows."
        raise ShapeError(message, parameter="label")
    if not grouped:
        return as_words(cells[()])
    categories = as_words(child(column, "categories", file)[()])
    return tuple(categories[code] if code >= 0 else "" for code in cells[()].tolist())


MISSING = ("error", "mean", "drop")
"""What may be done about gaps: refuse them, fill in the column's mean, or drop the rows."""

Reader = Callable[[Path, TableOptions], Table]


def read_table(
    path: str | Path,
    *,
    kind: str | None = None,
    header: bool | None = None,
    index: str = "auto",
    label: str | None = None,
    drop_text: bool = False,
    array: str | None = None,
    missing: str = "error",
) -> Table:
    r"""Read a table of numbers with the names of its columns; the file's ending says how.

    Parameters
    ----------
    path : str or path
        The file; text may be compressed (``.gz``).
    kind : str, optional
        The format, where the ending does not say it.
    header : bool, optional
        Whether the first line of a text file holds names. By default it does if one of its cells is text.
    index : str
        The column with the names of the rows, or "none". "auto" takes a first column of distinct text, or one called
        id, index, sample, ... that counts the rows.
    label : str, optional
        A column of groups: kept as text beside the numbers, never a variable.
    drop_text : bool
        Leave out columns that hold text instead of refusing them.
    array : str, optional
        The array to take from an npz file that holds several, or the layer of an h5ad file.
    missing : {"error", "mean", "drop"}
        What to do about gaps.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "people.csv"
    ...     _ = file.write_text("id,age,height\nann,31,1.7\nben,44,1.8\n")
    ...     table = read_table(file)
    >>> table.names, table.row_labels, table.values.shape
    (('age', 'height'), ('ann', 'ben'), (2, 2))
    """
    path = Path(path)
    if missing not in MISSING:
        message = f"missing={missing!r} is not known. Allowed: {one_of(MISSING)}."
        raise OptionError(message, parameter="missing")
    if not path.is_file():
        message = f"{path} does not exist or is not a file; check the path."
        raise MissingDataError(message)
    ending = f".{kind}" if kind else ending_of(path)
    if ending not in READERS:
        message = f"{path.name} has the ending {ending!r}, which is not known. Allowed: {one_of(READERS)}."
        raise InputError(message)
    if path.stat().st_size == 0:
        message = f"{path.name} is empty; it must hold at least one row of numbers."
        raise ShapeError(message)
    options = TableOptions(header, index, label, drop_text, array)
    with damaged(path.name, ending):
        table = READERS[ending](path, options)
    return _without_gaps(table, missing)


def ending_of(path: Path) -> str:
    """The ending that says how to read a file, in lower case, without .gz.

    Examples
    --------
    >>> ending_of(Path("genes.CSV.gz"))
    '.csv'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] == ".gz":
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def _without_gaps(table: Table, missing: str) -> Table:
    if missing == "error":
        return table
    values = table.dense_values("missing='mean' and missing='drop'")
    gaps = np.isnan(values)
    if not gaps.any():
        return table
    if missing == "drop":
        kept = ~gaps.any(axis=1)
        if not kept.any():
            message = "every row has a gap, so none is left without; fill them instead (missing='mean')."
            raise NonFiniteError(message, parameter="missing")
        return table.with_rows(kept, f"{int((~kept).sum())} of {len(kept)} rows with gaps left out")
    empty = np.flatnonzero(gaps.all(axis=0))
    if empty.size:
        message = f"{table.column_name(int(empty[0]))} has no value at all, so there is no mean to fill in; remove it."
        raise NonFiniteError(message)
    counts = (~gaps).sum(axis=0)
    means = np.where(gaps, 0.0, values).sum(axis=0) / counts
    return table.with_values(np.where(gaps, means, values), f"{int(gaps.sum())} gaps filled with the column's mean")


def _text(path: Path, options: TableOptions) -> Table:
    from sparseigen.io.text import read_text

    return read_text(path, options)


def _binary(name: str) -> Reader:
    def read(path: Path, options: TableOptions) -> Table:
        from sparseigen.io import tables as binary_tables

        table: Table = getattr(binary_tables, name)(path, options)
        return table

    return read


READERS: dict[str, Reader] = {
    ".csv": _text,
    ".tsv": _text,
    ".npy": _binary("read_npy"),
    ".npz": _binary("read_npz"),
    ".mtx": _binary("read_matrix_market"),
    ".parquet": _binary("read_parquet"),
    ".h5ad": _binary("read_h5ad"),
}
"""File ending -> reader. A new format is a function and a row in this table."""
