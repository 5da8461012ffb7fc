"""Tables in files: text (csv, tsv), NumPy and scipy files, Matrix Market, parquet, AnnData.

Whatever is wrong with a file ends in one sentence that names it. No pickled object is ever loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from sparseigen.errors import InputError, MissingDataError, NonFiniteError, OptionError, ShapeError, one_of
from sparseigen.inputs.columns import Table, TableOptions, damaged

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
    from sparseigen.inputs.text_tables import read_text

    return read_text(path, options)


def _binary(name: str) -> Reader:
    def read(path: Path, options: TableOptions) -> Table:
        from sparseigen.inputs import binary_tables

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
