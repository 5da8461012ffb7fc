"""Tables as text, row by row: only the numbers are held in memory."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import InputError, IntegerOverflowError, MissingDataError, OptionError, ShapeError
from sparseigen.inputs.columns import LARGEST_EXACT_INTEGER, Columns, Table, TableOptions, damaged, overflow_message
from sparseigen.inputs.memory import available_bytes, check_columns_fit, check_fits

GAPS = {"", "na", "n/a", "nan", "null", "none", "."}
"""Cells, in lower case, that stand for a missing value."""

SEPARATORS = (",", "\t", ";")
LONGEST_CELL = 1 << 20
LONGEST_LINE = 1 << 28

Row = list[str]


def read_text(path: Path, options: TableOptions) -> Table:
    """A table from comma, tab or semicolon separated text, compressed or not."""
    try:
        rows = text_rows(path)
        first = next(rows, None)
        if first is None:
            message = f"{path.name} is empty; it must hold at least one row of numbers."
            raise ShapeError(message)
        reading = _Reading(path, first, options)
        for line, row in rows:
            reading.add(line, row)
    except (UnicodeDecodeError, csv.Error) as error:
        message = f"{path.name} is not readable text: {error}. Save it as UTF-8, cells in matching quotes."
        raise InputError(message) from error
    columns = reading.columns()
    _check_exact(path, columns, options)
    return columns.table(options)


def read_cells(path: Path) -> tuple[Row | None, list[Row]]:
    """Header (None without one) and rows of a text table as text, all rows of the same length."""
    if not path.is_file():
        message = f"{path} does not exist or is not a file; check the path."
        raise MissingDataError(message)
    with damaged(path.name, "a text table"):
        rows = [row for _, row in text_rows(path)]
    if len(rows) < 1 or len({len(row) for row in rows}) > 1:
        message = f"{path.name} is empty or its lines have different numbers of cells."
        raise ShapeError(message)
    if len(rows) > 1 and all(_is_text(cell) for cell in rows[0]) and not all(_is_text(cell) for cell in rows[1]):
        return rows[0], rows[1:]
    return None, rows


def _is_text(cell: str) -> bool:
    return not is_number(cell) and not _is_gap(cell)


def _open(path: Path) -> IO[str]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def text_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Lines that are not empty, split into cells, each with its number."""
    csv.field_size_limit(LONGEST_CELL)
    with _open(path) as file:
        first = next(_lines(file, path), "")
        separator = "\t" if _is_tsv(path) else max(SEPARATORS, key=first.count)
        check_columns_fit(first.count(separator) + 1, path.name)
        file.seek(0)
        reader = csv.reader(_lines(file, path), delimiter=separator, strict=True)
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield reader.line_num, row


def _lines(file: IO[str], path: Path) -> Iterator[str]:
    """Lines of a bearable length: a small compressed file can hold one that fills the memory."""
    limit = min(LONGEST_LINE, max(1 << 20, available_bytes() // 64))
    while line := file.readline(limit):
        if len(line) == limit:
            message = f"{path.name} has a line of more than {limit} characters; a table has one line a row."
            raise InputError(message)
        yield line


def _is_tsv(path: Path) -> bool:
    return ".tsv" in [suffix.lower() for suffix in path.suffixes[-2:]]


class _Reading:
    """Rows as they come: numbers of the numeric columns, text of those that may be names or labels."""

    def __init__(self, path: Path, first: tuple[int, Row], options: TableOptions) -> None:
        self.path, self.options = path, options
        self.header: Row | None = None
        self.width = 0
        self.numeric: list[int] = []
        self.numbers: list[NDArray[np.float64]] = []
        self.text: dict[int, tuple[str, str]] = {}
        self.kept: dict[int, list[str]] = {}
        self.limit = available_bytes()
        line, row = first
        rest = row[1:] or row
        named = any(_is_text(cell) for cell in rest)
        if named if options.header is None else options.header:
            self.header = row
        else:
            self.add(line, row)

    def add(self, line: int, row: Row) -> None:
        """One more row of the table."""
        if not self.width:
            self._begin(row)
        if len(row) != self.width:
            of = "first line" if self.header is None or len(self.header) == self.width else "line before"
            message = f"{self.path.name}, line {line}: {len(row)} cells where the {of} has {self.width}."
            raise ShapeError(message)
        for column, cells in self.kept.items():
            cells.append(row[column])
        cells = row if len(self.numeric) == self.width else [row[j] for j in self.numeric]
        try:
            numbers = np.array(cells, dtype=np.float64)
            self.numbers.append(numbers if "_" not in "".join(cells) else self._one_by_one(line, cells))
        except ValueError:
            self.numbers.append(self._one_by_one(line, cells))
        if 8 * len(self.numeric) * len(self.numbers) > self.limit:
            check_fits(8 * len(self.numeric) * len(self.numbers), f"{self.path.name}, read up to line {line},")

    def _begin(self, row: Row) -> None:
        header = self.header
        if header is not None and len(header) == len(row) - 1:  # R leaves out the cell above the row names
            self.header = header = ["", *header]
        if header is not None and len(header) != len(row):
            message = f"{self.path.name}, line 2: {len(row)} cells where the first line has {len(header)}."
            raise ShapeError(message)
        self.width = len(row)
        self.kept = {column: [] for column in {0, *self._asked_for()}}
        self.numeric = []
        for column, cell in enumerate(row):
            if is_number(cell) or _is_gap(cell):
                self.numeric.append(column)
            else:
                self.text[column] = (f"line {1 if header is None else 2}, ", cell)

    def _asked_for(self) -> list[int]:
        """Columns named as row names or labels."""
        wanted = [name for name in (self.options.index, self.options.label) if name not in ("auto", "none", None)]
        header = self.header or [str(j + 1) for j in range(self.width)]
        for name in wanted:
            if name not in header:
                message = (
                    f"{name!r} is not a column of {self.path.name}; it has {', '.join(map(repr, header[:5]))}, ..."
                )
                raise OptionError(message, parameter="index" if name == self.options.index else "label")
        return [header.index(str(name)) for name in wanted]

    def _one_by_one(self, line: int, cells: Row) -> NDArray[np.float64]:
        numbers = np.full(len(cells), np.nan)
        for i, cell in enumerate(cells):
            if is_number(cell):
                numbers[i] = float(cell)
            elif not _is_gap(cell):
                self.text.setdefault(self.numeric[i], (f"line {line}, ", cell))
        return numbers

    def columns(self) -> Columns:
        """Everything read."""
        if not self.numbers:
            message = f"{self.path.name} holds a header and no rows; it must hold at least one row of numbers."
            raise ShapeError(message)
        values = np.empty((len(self.numbers), len(self.numeric)))
        for i, row in enumerate(self.numbers):
            values[i] = row
        names = None
        if self.header is not None:
            names = tuple(" ".join(cell.split()) for cell in self.header)
        text = dict(sorted(self.text.items()))
        return Columns(self.path.name, names, self.width, self.numeric, values, text, self.kept)


def _check_exact(path: Path, columns: Columns, options: TableOptions) -> None:
    """Whole numbers beyond 2**53 are refused: as floating point they would silently be others."""
    with np.errstate(invalid="ignore"):
        large = (np.abs(columns.values) >= LARGEST_EXACT_INTEGER).any(axis=0)
    names = columns.names or tuple(str(j + 1) for j in range(columns.count))
    suspects = [j for j, found in zip(columns.numeric, large, strict=True) if found]
    suspects = [j for j in suspects if names[j] not in (options.index, options.label)]
    for line, row in text_rows(path) if suspects else ():
        for cell in (row[j].strip() for j in suspects if j < len(row)):
            digits = cell.lstrip("+-")
            if digits.isdecimal() and int(float(digits)) != int(digits):
                raise IntegerOverflowError(overflow_message(f"{path.name}, line {line}", cell))


def is_number(cell: str) -> bool:
    """Whether a cell of a text table is a number."""
    if "_" in cell:  # Python's own notation for 1000, nobody else's
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_gap(cell: str) -> bool:
    return cell.strip().lower() in GAPS
