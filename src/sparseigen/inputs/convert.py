"""Any table -> one `.npy` file in rows: the layout that blocks are read from at the speed of the disk."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import DtypeError, InputError, MissingDataError, OptionError, ShapeError
from sparseigen.inputs.row_files import OPENERS, open_rows

OnRows = Callable[[int, int | None], None]
"""(rows written, rows in all where known)."""
SEPARATORS = {".csv": ",", ".tsv": "\t"}
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
    >>> from sparseigen.inputs.convert import convert
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "x.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    >>> convert(folder / "x.csv", folder / "x.npy")
    (2, 3)
    >>> np.load(folder / "x.npy")[1]
    array([4., 5., 6.])
    """
    source, target = Path(source), Path(target)
    _check(source, target, dtype, overwrite)
    if source.suffix.lower() in SEPARATORS:
        blocks, names, n_rows = _text_blocks(source)
        stored = np.dtype(np.float64)
    else:
        blocks, names, n_rows, stored = _source_blocks(source, dataset)
    temporary = target.with_name(target.name + ".part")
    try:
        shape = _write(temporary, blocks, DTYPES[dtype] or stored, n_rows, on_rows)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    if names is not None:
        target.with_name(target.name + ".names.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    return shape


def _check(source: Path, target: Path, dtype: str | None, overwrite: bool) -> None:
    if not source.exists():
        message = f"{source} does not exist; check the path."
        raise MissingDataError(message)
    if source.suffix.lower() not in {*SEPARATORS, *OPENERS}:
        allowed = ", ".join(sorted({*SEPARATORS, *OPENERS}))
        message = f"{source.name} has the ending {source.suffix!r}, which is not known. Allowed: {allowed}."
        raise InputError(message)
    if target.suffix.lower() != ".npy":
        message = f"the target {target.name} must end in .npy: that is the layout that streams fastest."
        raise OptionError(message)
    if dtype not in DTYPES:
        message = f"dtype={dtype!r} must be 'float32', 'float64' or None."
        raise OptionError(message)
    if target.exists() and (not overwrite or target.samefile(source)):
        message = f"{target} exists; choose another name, or overwrite=True (--overwrite)."
        raise OptionError(message)


def _write(
    path: Path, blocks: Iterator[NDArray[Any]], dtype: np.dtype[Any], n_rows: int | None, on_rows: OnRows | None
) -> tuple[int, int]:
    """The rows after a header that is written again at the end, when their number is known."""
    done, width = 0, 0
    with path.open("wb") as file:
        for block in blocks:
            if not done:
                width = block.shape[1]
                _header(file, (0, width), dtype)
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
            done += len(block)
            if on_rows is not None:
                on_rows(done, n_rows)
        if not done:
            message = f"{path.name.removesuffix('.part')}: the source has no rows."
            raise ShapeError(message)
        file.seek(0)
        _header(file, (done, width), dtype)
        file.flush()
        os.fsync(file.fileno())
    return done, width


def _header(file: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    """NumPy's header keeps room for a first axis of any length."""
    facts = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, facts)


def _source_blocks(
    source: Path, dataset: str | None
) -> tuple[Iterator[NDArray[Any]], tuple[str, ...] | None, int, np.dtype[Any]]:
    from sparseigen.inputs.row_columns import by_columns_or_rows

    rows = by_columns_or_rows(source, dataset) or open_rows(source, dataset)
    count = max(1, BLOCK_ENTRIES // rows.shape[1])

    def blocks() -> Iterator[NDArray[Any]]:
        for block in rows.blocks(count, 0, lambda n: np.empty((n, rows.shape[1]), dtype=rows.dtype)):
            yield block.toarray() if rows.sparse else block

    return blocks(), rows.names, rows.shape[0], rows.dtype


def _text_blocks(source: Path) -> tuple[Iterator[NDArray[Any]], tuple[str, ...] | None, None]:
    """Blocks of a text table; a first line that is not all numbers is a header, a first column of text holds labels."""
    separator = SEPARATORS[source.suffix.lower()]
    with source.open(newline="", encoding="utf-8-sig") as file:
        lines = (row for row in csv.reader(file, delimiter=separator) if row)
        first, second = next(lines, None), next(lines, None)
    if first is None:
        message = f"{source.name} is empty; it must hold at least one row of numbers."
        raise ShapeError(message)
    has_header = not all(_is_number(cell) for cell in first[1:] or first)
    body = second if has_header else first
    labelled = body is not None and not _is_number(body[0])
    width = len(first)
    names = tuple(first[1:] if labelled else first) if has_header else None

    def blocks() -> Iterator[NDArray[Any]]:
        step = max(1, BLOCK_ENTRIES // width)
        with source.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=separator)
            if has_header:
                next(row for row in reader if row)
            cells: list[list[str]] = []
            for row in reader:
                if not row:
                    continue
                if len(row) != width:
                    message = f"{source.name}, line {reader.line_num}: {len(row)} cells where the first has {width}."
                    raise ShapeError(message)
                cells.append(row[1:] if labelled else row)
                if len(cells) == step:
                    yield _numbers(cells, source.name, reader.line_num, names)
                    cells = []
            if cells:
                yield _numbers(cells, source.name, reader.line_num, names)

    return blocks(), names, None


def _numbers(cells: list[list[str]], name: str, last_line: int, names: tuple[str, ...] | None) -> NDArray[np.float64]:
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        for offset, row in enumerate(cells):
            for column, cell in enumerate(row):
                if not _is_number(cell):
                    where = f"column {names[column]!r}" if names else f"column {column + 1}"
                    line = last_line - len(cells) + offset + 1
                    message = f"{name}, near line {line}, {where}: {cell!r} is not a number. Drop or encode it first."
                    raise DtypeError(message) from None
        raise


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
