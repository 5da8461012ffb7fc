"""Files rewritten in a format that is fast to read in passes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import DtypeError, InputError, MissingDataError, NonFiniteError, OptionError
from sparseigen.io.columns import TableOptions, name_column
from sparseigen.io.formats import BY_ENDING, ending_of, explain_damage, find_endings, find_reader
from sparseigen.io.text import TextTable
from sparseigen.io.writing import whole_file, write_whole
from sparseigen.rows.files import open_rows
from sparseigen.rows.hdf5 import turn_columns
from sparseigen.rows.source import RowSource

OnRows = Callable[[int, int | None], None]
"""(rows written, rows in all where known)."""
TEXT = BY_ENDING[".csv"].endings
BLOCK_ENTRIES = 1 << 20
DTYPES = {None: None, "float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}


def convert(
    source: str | Path,
    target: str | Path,
    *,
    dtype: str | None = None,
    dataset: str | None = None,
    overwrite: bool = False,
    on_rows: OnRows | None = None,
) -> tuple[int, int]:
    r"""Write a table as a `.npy` file in rows, a block at a time, with the names of its columns beside it.

    Parameters
    ----------
    source : path
        csv, tsv, parquet, Arrow IPC, HDF5, h5ad (dense, or sparse by rows or columns) or zarr. Sparse tables become
        dense.
    target : path
        Ends in ``.npy``. Written under another name and renamed when it is complete. Column names, where there are
        any, go to the same name with ``.names.txt`` added.
    dtype : {"float32", "float64"}, optional
        float32 halves the file and the time of every pass; the source's precision if not given.
    dataset : str, optional
        Which table of an HDF5, h5ad or zarr file.
    overwrite : bool
        Replace a target that exists.
    on_rows : callable, optional
        Called as ``on_rows(rows_written, n_rows)`` after every block; ``n_rows`` is None for text.

    Returns
    -------
    (int, int)
        The shape written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sparseigen.rows.convert import convert
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "x.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    >>> convert(folder / "x.csv", folder / "x.npy")
    (2, 3)
    >>> np.load(folder / "x.npy")[1]
    array([4., 5., 6.])
    """
    source, target = Path(source), Path(target)
    _check_request(source, target, dtype, overwrite)
    opened = _open(source, dataset)
    if isinstance(opened, TextTable):
        blocks, n_rows, stored = _read_text_blocks(opened), None, np.dtype(np.float64)
    else:
        blocks, n_rows, stored = _read_blocks(opened), opened.shape[0], opened.dtype
    listed = target.with_name(target.name + ".names.txt")
    with whole_file(target) as file:
        shape = _write_rows(file, source.name, blocks, DTYPES[dtype] or stored, n_rows, on_rows)
        # Names of other numbers would be wrong names: those of a target that is replaced go before it does.
        listed.unlink(missing_ok=True)
    names = opened.names
    if names is not None:
        kept = opened.numeric if isinstance(opened, TextTable) else range(len(names))
        write_whole(listed, _as_lines([names[column] for column in kept]))
    return shape


def _open(source: Path, dataset: str | None) -> TextTable | RowSource:
    if ending_of(source) in TEXT:
        return TextTable(source, TableOptions(index="none"), gaps=False)
    return turn_columns(source, dataset) or open_rows(source, dataset)


def _as_lines(names: list[str]) -> str:
    """One name per line, in quotes where a name has a line end or a comma of its own."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([name] for name in names)
    return text.getvalue()


def _check_request(source: Path, target: Path, dtype: str | None, overwrite: bool) -> None:
    if not source.exists():
        message = f"{source} does not exist; check the path."
        raise MissingDataError(message)
    if not (source.is_file() or source.is_dir()):  # a pipe would be waited for, and read only once
        message = f"{source} is not a file; store it as one first."
        raise InputError(message)
    if ending_of(source) not in TEXT and find_reader(ending_of(source), "rows") is None:
        allowed = ", ".join(sorted({*TEXT, *find_endings("rows")}))
        message = f"{source.name} has the ending {ending_of(source)!r}, which is not known. Allowed: {allowed}."
        raise InputError(message)
    if target.suffix.lower() != ".npy":
        message = f"the target {target.name} must end in .npy: that is the layout that streams fastest."
        raise OptionError(message)
    if dtype not in DTYPES:
        message = f"dtype={dtype!r} must be 'float32', 'float64' or None."
        raise OptionError(message, parameter="dtype")
    if target.exists() and (not overwrite or target.samefile(source)):
        message = f"{target} exists; choose another name, or overwrite=True (--overwrite)."
        raise OptionError(message)


def _write_rows(
    file: BinaryIO,
    source: str,
    blocks: Iterator[NDArray[Any]],
    dtype: np.dtype[Any],
    n_rows: int | None,
    on_rows: OnRows | None,
) -> tuple[int, int]:
    """The rows after a header that is written again at the end, when their number is known."""
    done, width = 0, 0
    for block in blocks:
        if not done:
            width = block.shape[1]
            _write_header(file, (0, width), dtype)
        with np.errstate(over="ignore"):  # too large for float32: refused below, not warned about
            numbers = np.ascontiguousarray(block, dtype=dtype)
        if dtype.itemsize < block.dtype.itemsize and not np.isfinite(numbers[np.isfinite(block)]).all():
            message = f"{source} holds a number too large for {dtype}; leave out dtype, or scale the data first."
            raise NonFiniteError(message)
        file.write(numbers.data)
        done += len(block)
        if on_rows is not None:
            on_rows(done, n_rows)
    file.seek(0)
    _write_header(file, (done, width), dtype)
    return done, width


def _write_header(file: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    """NumPy's header keeps room for a first axis of any length."""
    facts = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, facts)


def _read_blocks(rows: RowSource) -> Iterator[NDArray[Any]]:
    count = max(1, BLOCK_ENTRIES // rows.shape[1])
    for block in rows.blocks(count, 0, lambda n: np.empty((n, rows.shape[1]), dtype=rows.dtype)):
        yield block.toarray() if rows.sparse else block


def _read_text_blocks(table: TextTable) -> Iterator[NDArray[Any]]:
    """Blocks of a text table; a first line that is not all numbers is a header, a first column of text holds labels."""
    name = table.path.name
    with explain_damage(name, "a text table"):
        for block in table.read_blocks(BLOCK_ENTRIES):
            wrong = [column for column in sorted(table.text) if column > 0 or 0 in table.numeric]
            if wrong or not table.numeric:
                column = wrong[0] if wrong else 0
                place, cell = table.text[column]
                where = f"{name}, {place}{name_column(table.names, column)}"
                message = f"{where}: {cell[:40]!r} is not a number. Drop or encode it first."
                raise DtypeError(message)
            yield block
