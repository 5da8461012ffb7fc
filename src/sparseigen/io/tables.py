"""Tables from files: NumPy and scipy files, Matrix Market, parquet, AnnData; the format follows from the name.

Whatever is wrong with a file ends in one sentence that names it. No pickled object is ever loaded.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import is_sparse
from sparseigen.checks.coercion import check_integers, check_names
from sparseigen.checks.memory import WORK_VECTORS, available_bytes, check_columns_fit
from sparseigen.checks.sparse import build_saved, check_sparse
from sparseigen.config import require
from sparseigen.errors import InputError, MissingDataError, NonFiniteError, OptionError, ShapeError, one_of
from sparseigen.io.arrow import read_whole
from sparseigen.io.columns import Columns, Table, TableOptions
from sparseigen.io.formats import ending_of, explain_damage, find_endings, find_reader
from sparseigen.io.hdf5 import as_words, find_node, open_hdf5, read_label, read_matrix, read_names
from sparseigen.io.matrix_market import read_matrix as read_market
from sparseigen.io.npy import map_array, read_archive, read_file_header
from sparseigen.io.zarr_stores import check_codecs, find_in_store, list_store, open_store

NAME_ARRAYS = ("names", "columns", "variables", "feature_names", "features", "genes")
"""Arrays of an npz file that are looked at for the names of the variables."""


FOLDERS = (".zarr",)
"""Endings of tables that are folders."""


def read_npy(path: Path, options: TableOptions) -> Table:
    """NumPy's own format; larger than half the free memory it stays on disk."""
    header = read_file_header(path)
    if len(header.shape) == 2:
        check_columns_fit(header.shape[1], path.name)
    if 2 * header.n_bytes > available_bytes():
        return Table(map_array(path, header))
    values = np.fromfile(path, dtype=header.dtype, count=header.size, offset=header.start)
    order: Any = header.order
    return Table(values.reshape(header.shape, order=order))


def read_npz(path: Path, options: TableOptions) -> Table:
    """A matrix saved by scipy.sparse.save_npz, or one 2-dimensional array of NumPy's archive."""
    arrays = read_archive(path)
    if "format" in arrays and "shape" in arrays:
        return Table(build_saved(arrays, path.name).tocsr())
    return _from_arrays(path.name, arrays, options)


def _from_arrays(file: str, arrays: dict[str, NDArray[Any]], options: TableOptions) -> Table:
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    wanted = options.array
    if wanted is None and len(tables) == 1:
        wanted = tables[0]
    if wanted is None:
        subject = f"{len(tables)} tables ({one_of(tables)})" if tables else f"no table, only {one_of(arrays)}"
        message = f"{file} holds {subject}; name one of its arrays ('array')."
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


def read_mtx(path: Path, options: TableOptions) -> Table:
    """A Matrix Market file, coordinate (sparse) or array (dense)."""
    values = read_market(path, column_bytes=8 * WORK_VECTORS)
    return Table(check_sparse(values, path.name).tocsr() if is_sparse(values) else values)


def read_parquet(path: Path, options: TableOptions) -> Table:
    """A parquet table."""
    table = read_whole(path)
    types = require("pyarrow.types", purpose="a parquet file")
    names = tuple(str(name) for name in table.column_names)
    index = _find_pandas_index(table, names)
    if index is not None and options.index == "auto":
        options = replace(options, index=index)
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
        check_integers(array, f"{path.name}, column {names[j]!r}")
        values[:, i] = array
    return Columns(path.name, names, len(names), numeric, values, text, kept).table(options)


def _find_pandas_index(table: Any, names: tuple[str, ...]) -> str | None:
    """The column that was the index of the pandas frame which a parquet file was written from."""
    try:
        said = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
        columns = [name for name in said.get("index_columns", []) if isinstance(name, str) and name in names]
    except (ValueError, AttributeError, TypeError):  # whatever else may be written there
        return None
    return columns[0] if len(columns) == 1 else None


def read_h5ad(path: Path, options: TableOptions) -> Table:
    """The matrix X of an AnnData file (or a layer, named by ``array``) with the names of cells and genes."""
    with open_hdf5(path) as file:
        return _read_annotated(path.name, file, options)


def read_zarr(path: Path, options: TableOptions) -> Table:
    """A zarr array, one of a group (named by ``array``), or AnnData's layout with its names, dense or sparse."""
    node = open_store(path)
    if hasattr(node, "keys") and "X" in node:
        return _read_annotated(path.name, node, options)
    if hasattr(node, "keys"):
        names = list_store(node)
        place = options.array or (names[0] if len(names) == 1 else None)
        if place is None or place not in node:
            message = f"{path.name} is a group; name one of its arrays ('array'): {one_of(names)}."
            raise OptionError(message, parameter="array")
        node = find_in_store(node, place, path.name)
    else:
        check_codecs(node, path.name)
    return Table(read_matrix(node, path.name, path.name))


def _read_annotated(file: str, tree: Any, options: TableOptions) -> Table:
    """AnnData's layout, in an HDF5 file or a zarr store."""
    place = "X" if options.array in (None, "X") else f"layers/{options.array}"
    values = read_matrix(find_node(tree, place, file), file, f"{file}: X")
    names, rows = read_names(tree, "var", file), read_names(tree, "obs", file)
    labels = None if options.label is None else read_label(tree, options.label, values.shape[0], file)
    for subject, found, side in (("var", names, 1), ("obs", rows, 0)):
        if found is not None and len(found) != values.shape[side]:
            message = f"{file}: {subject} has {len(found)} names, X has the shape {values.shape}."
            raise ShapeError(message)
    check_names(file, names)
    return Table(values, names, rows, labels)


def read_xlsx(path: Path, options: TableOptions) -> Table:
    """The first sheet of an Excel file (or the one named by ``array``), through pandas."""
    pandas = require("pandas", purpose="an Excel file")
    require("openpyxl", purpose="an Excel file")
    header = None if options.header is False else 0
    frame = pandas.read_excel(path, sheet_name=0 if options.array is None else options.array, header=header)
    names = None if header is None else tuple("" if str(n).startswith("Unnamed: ") else str(n) for n in frame.columns)
    numeric, text, kept = [], {}, {}
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if column.dtype.kind in "fiub":
            numeric.append(j)
        else:
            first = next((cell for cell in column if isinstance(cell, str)), column.iloc[0] if len(column) else "")
            text[j] = ("", str(first))
        kept[j] = ["" if cell is None or cell != cell else str(cell) for cell in column]
    values = frame.iloc[:, numeric].to_numpy(dtype=np.float64)
    return Columns(path.name, names, frame.shape[1], numeric, values, text, kept).table(options)


MISSING = ("error", "mean", "drop")
"""What may be done about gaps: refuse them, fill in the column's mean, or drop the rows."""


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
    ending = f".{kind}" if kind else ending_of(path)
    if not (path.is_file() or (path.is_dir() and ending in FOLDERS)):
        message = f"{path} does not exist or is not a file; check the path."
        raise MissingDataError(message)
    reader = find_reader(ending, "table")
    if reader is None:
        message = (
            f"{path.name} has the ending {ending!r}, which is not known. Allowed: {one_of(find_endings('table'))}."
        )
        raise InputError(message)
    if path.stat().st_size == 0:
        message = f"{path.name} is empty; it must hold at least one row of numbers."
        raise ShapeError(message)
    options = TableOptions(header, index, label, drop_text, array)
    with explain_damage(path.name, ending):
        table: Table = reader(path, options)
    return _treat_gaps(table, missing)


def _treat_gaps(table: Table, missing: str) -> Table:
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
    filled = int(gaps.sum())
    note = f"{filled} {'gap' if filled == 1 else 'gaps'} filled with the column's mean"
    return table.with_values(np.where(gaps, means, values), note)
