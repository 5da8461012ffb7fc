"""Parquet and Arrow IPC files, for tables, blocks of rows and edges: what they declare, batches, whole columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparseigen.checks.memory import check_fits
from sparseigen.config import require
from sparseigen.io.formats import BY_ENDING, ending_of


def is_ipc(path: Path) -> bool:
    """Whether the name is that of an Arrow IPC file; parquet otherwise."""
    form = BY_ENDING.get(ending_of(path))
    return form is not None and form.name == "Arrow IPC"


@contextmanager
def _open(path: Path, *, mapped: bool) -> Iterator[Any]:
    """Pyarrow's reader of the file."""
    if not is_ipc(path):
        with require("pyarrow.parquet", purpose="a parquet file").ParquetFile(path, memory_map=mapped) as file:
            yield file
        return
    pyarrow = require("pyarrow", purpose="an Arrow file")
    opened = pyarrow.memory_map(str(path)) if mapped else pyarrow.OSFile(str(path))
    with opened, require("pyarrow.ipc", purpose="an Arrow file").open_file(opened) as file:
        yield file


def read_facts(path: Path) -> tuple[Any, int]:
    """The schema, and the number of rows."""
    with _open(path, mapped=is_ipc(path)) as file:
        if not is_ipc(path):
            return file.schema_arrow, file.metadata.num_rows
        return file.schema, sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))


def read_batches(path: Path, rows: int) -> Iterator[Any]:
    """Record batches of at most so many rows."""
    with _open(path, mapped=True) as file:
        if not is_ipc(path):
            yield from file.iter_batches(batch_size=rows)
            return
        for i in range(file.num_record_batches):
            batch = file.get_batch(i)
            batch.validate(full=True)  # what a damaged batch points at may lie outside of it
            for begin in range(0, batch.num_rows, rows):
                yield batch.slice(begin, rows)


def read_whole(path: Path, columns: Sequence[str] | None = None) -> Any:
    """All columns, or some, as a pyarrow table; a file that declares more than fits into memory is refused."""
    with _open(path, mapped=False) as file:
        if not is_ipc(path):
            wanted = file.metadata.num_columns if columns is None else len(columns)
            check_fits(16 * file.metadata.num_rows * wanted, path.name)
            return file.read(columns=None if columns is None else list(columns))
        table = file.read_all()
    table.validate(full=True)  # what a damaged table points at may lie outside of it
    return table if columns is None else table.select(list(columns))
