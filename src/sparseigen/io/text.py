"""Text: lines split into cells, blocks of lines of plain numbers, and tables made of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.coercion import LARGEST_EXACT_INTEGER, say_beyond_exact
from sparseigen.checks.memory import available_bytes, check_columns_fit, check_fits
from sparseigen.errors import InputError, IntegerOverflowError, MissingDataError, ShapeError
from sparseigen.io.columns import Columns, Table, TableOptions, find_column
from sparseigen.io.formats import damaged, ending_of, open_bytes

GAPS = {"", "na", "n/a", "nan", "null", "none", "."}
"""Cells, in lower case, that stand for a missing value."""

SEPARATORS = (",", "\t", ";")
LONGEST_CELL = 1 << 20
LONGEST_LINE = 1 << 28
BLOCK = 1 << 24
"""Bytes of plain numbers that are parsed at a time."""

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


def text_rows(
    path: Path, separator: str | None = None, *, comments: str = "", longest: int | None = None
) -> Iterator[tuple[int, Row]]:
    """Lines that are not empty, split into cells, each with its number.

    ``separator`` is found in the first line unless given; a space is any white space. Lines that begin with one of
    the characters of ``comments`` are left out. Lines of more than ``longest`` characters are refused (of what a
    small compressed file may hold, one could fill the memory).
    """
    csv.field_size_limit(LONGEST_CELL)
    longest = min(LONGEST_LINE, max(1 << 20, available_bytes() // 64)) if longest is None else longest
    with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        if separator is None:
            first = next(_lines(file, path, comments, longest), "")
            separator = "\t" if ending_of(path) == ".tsv" else max(SEPARATORS, key=first.count)
            check_columns_fit(first.count(separator) + 1, path.name)
            file.seek(0)
        lines = _lines(file, path, comments, longest)
        if separator == " ":
            yield from ((number, cells) for number, line in enumerate(lines, 1) if (cells := line.split()))
            return
        reader = csv.reader(lines, delimiter=separator, strict=True)
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield reader.line_num, row


def _lines(file: IO[str], path: Path, comments: str, longest: int) -> Iterator[str]:
    """Lines of a bearable length; in the place of a comment there is an empty line, so that numbers stay right."""
    number = 0
    while line := file.readline(longest):
        number += 1
        if len(line) == longest:
            raise InputError(_say_too_long(path, longest, f" (line {number})"))
        yield "\n" if comments and line.lstrip()[:1] in tuple(comments) else line


def _say_too_long(path: Path, longest: int, where: str = "") -> str:
    return f"{path.name} has a line of more than {longest} characters{where}; a row, an edge or an entry is shorter."


def line_blocks(file: IO[bytes], path: Path, longest: int) -> Iterator[bytes]:
    """What is left of an open file, in blocks of whole lines: the way to read very many lines of plain numbers."""
    rest, text = b"", b"\n"
    while text:
        text = file.read(BLOCK)
        lines = rest + text
        cut = lines.rfind(b"\n") + 1 if text else len(lines)
        lines, rest = lines[:cut], lines[cut:]
        if len(rest) > longest:
            raise InputError(_say_too_long(path, longest))
        yield lines


def parse_numbers(lines: bytes, **options: Any) -> NDArray[np.float64]:
    """The numbers of a block of lines, one row per line; options are those of np.loadtxt."""
    return np.loadtxt(io.BytesIO(lines), ndmin=2, **options)


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
            self.numbers.append(numbers if "_" not in "".join(cells) else self._parse_cells(line, cells))
        except ValueError:
            self.numbers.append(self._parse_cells(line, cells))
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
        self.kept = {column: [] for column in {0, *self._find_asked_for()}}
        self.numeric = []
        for column, cell in enumerate(row):
            if is_number(cell) or _is_gap(cell):
                self.numeric.append(column)
            else:
                self.text[column] = (f"line {1 if header is None else 2}, ", cell)

    def _find_asked_for(self) -> list[int]:
        """Columns named as row names or labels."""
        asked = (("index", self.options.index), ("label", self.options.label))
        return [
            find_column(self.path.name, self.names, self.width, name, option)
            for option, name in asked
            if name not in ("auto", "none", None)
        ]

    @property
    def names(self) -> tuple[str, ...] | None:
        """The header, in single spaces."""
        return None if self.header is None else tuple(" ".join(cell.split()) for cell in self.header)

    def _parse_cells(self, line: int, cells: Row) -> NDArray[np.float64]:
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
        text = dict(sorted(self.text.items()))
        return Columns(self.path.name, self.names, self.width, self.numeric, values, text, self.kept)


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
                raise IntegerOverflowError(say_beyond_exact(f"{path.name}, line {line}", cell))


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
