"""From the words of a command line to an operator: files, standard input, lists of k."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparseigen.cli.failures import bad_usage, one_line
from sparseigen.cli.options import Reading
from sparseigen.errors import CardinalityError, ShapeError, SparseigenError

MAGIC = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"%%Matrix": "mtx",
    b"PAR1": "parquet",
    b"\x89HDF": "h5ad",
    b"<?xml": "graphml",
}
"""How files begin -> their format, for standard input."""
BLOCK = 1 << 20
MOST_CARDINALITIES = 1_000_000


@dataclass
class Loaded:
    """A table and the operator that stands for its covariance."""

    source: str
    table: Any
    operator: Any
    is_covariance: bool

    def facts(self) -> dict[str, Any]:
        """What was read, for result.json and the report."""
        rows, columns = self.table.values.shape
        kind = "covariance" if self.is_covariance else "data"
        return {"file": self.source, "kind": kind, "rows": rows, "columns": columns, "notes": list(self.table.notes)}

    def title(self) -> str:
        """One line about the data."""
        rows, columns = self.table.values.shape
        what = f"{columns} variables (covariance)" if self.is_covariance else f"{rows} samples x {columns} variables"
        notes = "".join(f"; {text}" for text in self.table.notes)
        return f"{self.source}: {what}{notes}"

    def scores(self, vectors: list[Any]) -> Any:
        """The centred (and scaled) data times the loadings; None for a covariance matrix."""
        import numpy as np

        if self.is_covariance:
            return None
        weights = np.column_stack(vectors) / self.operator.deviations[:, None]
        return np.asarray(self.table.values @ weights) - self.operator.means @ weights


def load(data: str, reading: Reading) -> Loaded:
    """Read the data and check them."""
    from sparseigen.io.tables import read_table
    from sparseigen.operators import as_operator
    from sparseigen.operators import covariance as covariance_of

    if reading.covariance and reading.scale:
        message = "--scale is for data; a --covariance matrix is taken as it is."
        raise bad_usage(message)
    with local_file(data, reading.format) as (path, kind):
        table = read_table(
            path,
            kind=kind,
            header=reading.header,
            index=reading.index,
            label=reading.label,
            drop_text=reading.drop_text,
            array=reading.array,
            missing=reading.missing.value,
        )
    if reading.transpose:
        table = table.transposed()
    if not reading.covariance and table.names is not None and table.names == table.row_labels:
        table = replace(table, notes=(*table.notes, "rows and columns have the same names: a --covariance matrix?"))
    if reading.names is not None:
        table = table.named(column_of(reading.names, table.values.shape[1]))
    operator = as_operator(table) if reading.covariance else covariance_of(table, scale=reading.scale)
    return Loaded("standard input" if data == "-" else one_line(Path(data).name), table, operator, reading.covariance)


@contextmanager
def local_file(data: str, kind: str | None, default: str = "csv") -> Iterator[tuple[Path, str | None]]:
    """The path and, where the name does not say it, the format; standard input is copied to a temporary file."""
    if data != "-":
        yield Path(data), kind
        return
    if sys.stdin.isatty():
        message = "'-' reads standard input, which is a terminal; pipe a file into it or name one."
        raise bad_usage(message)
    import tempfile

    stream = sys.stdin.buffer
    first = stream.read(BLOCK)
    kind = kind or next((name for magic, name in MAGIC.items() if first.startswith(magic)), default)
    packed = ".gz" if first.startswith(b"\x1f\x8b") else ""
    with tempfile.TemporaryDirectory(prefix="sparseigen-") as folder:
        path = Path(folder) / f"stdin.{kind}{packed}"
        with path.open("wb") as file:
            while first:
                file.write(first)
                first = stream.read(BLOCK)
        try:
            yield path, kind
        except SparseigenError as error:  # the temporary file is nothing the user knows of
            told = str(error).replace(str(path), "standard input").replace(path.name, "standard input")
            if told == str(error):
                raise
            raise type(error)(told) from error


def column_of(text: str, count: int) -> tuple[str, ...]:
    """Names from FILE or FILE:COLUMN, one a line; with one column that is text, that one."""
    from sparseigen.io.text import read_cells

    name, _, column = text.rpartition(":")
    if not name or Path(text).is_file():
        name, column = text, ""
    header, rows = read_cells(Path(name))
    if column and (header is None or column not in header):
        message = (
            f"--names: {column!r} is not a column of {name}; it has {', '.join(map(repr, header or ['no header']))}."
        )
        raise bad_usage(message)
    if column and header is not None:
        position = header.index(column)
    else:
        texts = [j for j, cell in enumerate(rows[0]) if not _is_number(cell)] if rows else []
        position = texts[0] if len(texts) == 1 else 0
        if len(texts) > 1:
            message = f"--names {name} has {len(texts)} columns of text; say which: {name}:COLUMN."
            raise bad_usage(message)
    names = tuple(row[position] for row in rows)
    if len(names) != count:
        message = f"{name} has {len(names)} names for {count} variables; there must be one for each."
        raise ShapeError(message)
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def cardinalities(text: str, what: str = "cardinality") -> list[int]:
    """Whole numbers from '5', '7,2,1' or '10:300:10' (both ends included).

    Examples
    --------
    >>> cardinalities("7,2,1"), cardinalities("10:30:10")
    ([7, 2, 1], [10, 20, 30])
    """
    found: list[int] = []
    for part in text.split(","):
        numbers = [_whole(number, text, what) for number in part.split(":")]
        if len(numbers) > 3 or (len(numbers) == 3 and numbers[2] < 1):
            message = f"{what}={text!r} must be a number, first:last or first:last:step with a step of at least 1."
            raise CardinalityError(message)
        first, last = numbers[0], numbers[1] if len(numbers) > 1 else numbers[0]
        step = numbers[2] if len(numbers) == 3 else 1
        if len(numbers) > 1 and not 0 <= (last - first) // step < MOST_CARDINALITIES:
            message = f"{what}={text!r} must go up, and over at most {MOST_CARDINALITIES} numbers."
            raise CardinalityError(message)
        found += range(first, last + 1, step)
    return found


def _whole(number: str, text: str, what: str) -> int:
    try:
        return int(number)
    except ValueError:
        message = f"{what}={text!r} must be a whole number, several (7,2,1) or a range (10:300:10)."
        raise CardinalityError(message) from None
