"""Text: lines split into cells, blocks of lines of plain numbers, and tables made of them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.coercion import LARGEST_EXACT_INTEGER, say_beyond_exact
from sparseigen.checks.memory import available_bytes, check_columns_fit, check_fits
from sparseigen.errors import InputError, IntegerOverflowError, MissingDataError, ShapeError
from sparseigen.io.columns import Columns, Table, TableOptions, find_column
from sparseigen.io.formats import ending_of, explain_damage, open_bytes

GAPS = {"", "na", "n/a", "nan", "null", "none", "."}
"""Cells, in lower case, that stand for a missing value."""

SEPARATORS = (",", "\t", ";")
COMMAS = {
    ";": re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?"),
    "\t": re.compile(r"[+-]?(\d+,(\d{1,2}|\d{4,})|0,\d+)([eE][+-]?\d+)?"),
}
"""Numbers with a decimal comma, by what separates the cells; beside tabs 1,234 may as well be a thousand."""
DOT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
LONGEST_CELL = 1 << 20
LONGEST_LINE = 1 << 28
BLOCK = 1 << 24
"""Bytes of plain numbers that are parsed at a time."""

Row = list[str]


def read_text(path: Path, options: TableOptions) -> Table:
    """A table from comma, tab or semicolon separated text, compressed or not."""
    table = TextTable(path, options)
    blocks: list[NDArray[np.float64]] = []
    for block in table.read_blocks(1 << 18):
        blocks.append(block)
        check_fits(sum(part.nbytes for part in blocks), f"{path.name}, read up to line {table.line},")
    columns = table.columns(np.concatenate(blocks))
    _check_exact(path, columns, options)
    return columns.table(options)


def find_separator(path: Path) -> str:
    """What separates the cells of a text table."""
    longest = min(LONGEST_LINE, max(1 << 20, available_bytes() // 64))
    with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        return _find_separator(next(_lines(file, path, "", longest), ""), path)


def read_cells(path: Path) -> tuple[Row | None, list[Row]]:
    """Header (None without one) and rows of a text table as text, all rows of the same length."""
    if not path.is_file():
        message = f"{path} does not exist or is not a file; check the path."
        raise MissingDataError(message)
    with explain_damage(path.name, "a text table"):
        rows = [row for _, row in text_rows(path)]
    if len(rows) < 1 or len({len(row) for row in rows}) > 1:
        message = f"{path.name} is empty or its lines have different numbers of cells."
        raise ShapeError(message)
    words = [all(not is_number(cell) and not _is_gap(cell) for cell in row) for row in rows[:2]]
    return (rows[0], rows[1:]) if words == [True, False] else (None, rows)


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
            separator = _find_separator(first, path)
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


def _find_separator(first: str, path: Path) -> str:
    """What separates the cells of the first line; a comma may also be that of decimals."""
    if ending_of(path) == ".tsv":
        return "\t"
    for mark, comma in COMMAS.items():
        cells = [cell.strip() for cell in first.split(mark)]
        if len(cells) > 1 and any(map(comma.fullmatch, cells)) and all(c.count(",") <= 1 for c in cells):
            return mark
    return max(SEPARATORS, key=first.count)


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


class TextTable:
    """A text table: its header, numbers of the numeric columns, text of those that may be names or labels.

    With ``gaps`` cells that are empty, NA or the like are missing numbers; without, they are text. A header and the
    numeric columns are known once the first block has been read, all text when the last one has.
    """

    def __init__(self, path: Path, options: TableOptions, *, gaps: bool = True) -> None:
        self.path, self.options, self.gaps = path, options, gaps
        self.comma: re.Pattern[str] | None = None
        """How numbers with a decimal comma look, where such may be meant."""
        self.decimals = ""
        """The marks that stand before decimals so far."""
        self.header: Row | None = None
        self.width = self.line = 0
        self.numeric: list[int] = []
        self.text: dict[int, tuple[str, str]] = {}
        self.kept: dict[int, list[str]] = {}

    @property
    def names(self) -> tuple[str, ...] | None:
        """The header, in single spaces."""
        return None if self.header is None else tuple(" ".join(cell.split()) for cell in self.header)

    def read_blocks(self, entries: int) -> Iterator[NDArray[np.float64]]:
        """The numbers of the rows, about so many at a time."""
        lines: list[int] = []
        rows: list[Row] = []
        try:
            self.comma = COMMAS.get(find_separator(self.path))
            for line, row in text_rows(self.path):
                self.line = line
                if not self.width:
                    if self.header is None and self._is_header(row):
                        self.header = row
                        continue
                    self._begin(row)
                if len(row) != self.width:
                    of = "first line" if self.header is None or len(self.header) == self.width else "line before"
                    raise ShapeError(self._say_cells(row, self.width, of))
                for column, cells in self.kept.items():
                    cells.append(row[column])
                lines.append(line)
                rows.append(row if len(self.numeric) == self.width else [row[j] for j in self.numeric])
                if len(rows) * self.width >= entries:
                    yield self._parse(lines, rows)
                    lines, rows = [], []
        except (UnicodeDecodeError, csv.Error) as error:
            message = f"{self.path.name} is not readable text: {error}. Save it as UTF-8, cells in matching quotes."
            raise InputError(message) from error
        if not self.width:
            subject = "is empty" if self.header is None else "holds a header and no rows"
            message = f"{self.path.name} {subject}; it must hold at least one row of numbers."
            raise ShapeError(message)
        if rows:
            yield self._parse(lines, rows)

    def _is_header(self, row: Row) -> bool:
        named = any(self._is_text(cell) for cell in row[1:] or row)
        return named if self.options.header is None else self.options.header

    def _is_text(self, cell: str) -> bool:
        return not (is_number(cell) or self._has_comma(cell)) and not (self.gaps and _is_gap(cell))

    def _has_comma(self, cell: str) -> bool:
        return self.comma is not None and self.comma.fullmatch(cell.strip()) is not None

    def _begin(self, row: Row) -> None:
        if self.header is not None and len(self.header) == len(row) - 1:  # R leaves out the cell above the row names
            self.header = ["", *self.header]
        if self.header is not None and len(self.header) != len(row):
            raise ShapeError(self._say_cells(row, len(self.header), "first line"))
        self.width = len(row)
        asked = (("index", self.options.index), ("label", self.options.label))
        places = [
            find_column(self.path.name, self.names, self.width, name, option)
            for option, name in asked
            if name not in ("auto", "none", None)
        ]
        self.kept = {column: [] for column in {*([] if self.options.index == "none" else [0]), *places}}
        self.numeric = [column for column, cell in enumerate(row) if not self._is_text(cell)]
        self.text = {j: (f"line {self.line}, ", cell) for j, cell in enumerate(row) if self._is_text(cell)}

    def _say_cells(self, row: Row, expected: int, of: str) -> str:
        return f"{self.path.name}, line {self.line}: {len(row)} cells where the {of} has {expected}."

    def _replace_commas(self, lines: list[int], rows: list[Row]) -> list[Row]:
        """Rows with points before decimals; refused where some numbers have commas and others points."""
        written = [[cell.strip().replace(",", ".") if self._has_comma(cell) else cell for cell in row] for row in rows]
        for line, row, before in zip(lines, written, rows, strict=True):
            for cell, original in zip(row, before, strict=True):
                mark = "," if cell != original else "." if DOT.fullmatch(cell.strip()) else ""
                if mark and mark not in self.decimals:
                    self.decimals += mark
                if len(self.decimals) > 1:
                    message = (
                        f"{self.path.name}, line {line}: {original!r}, where numbers before have another decimal mark. "
                        "Write all decimals with a point, or all with a comma."
                    )
                    raise InputError(message)
        return written

    def _parse(self, lines: list[int], rows: list[Row]) -> NDArray[np.float64]:
        if self.comma is not None:
            rows = self._replace_commas(lines, rows)
        try:
            if not any("_" in "".join(cells) for cells in rows):
                return np.array(rows, dtype=np.float64)
        except ValueError:
            pass  # a gap, or text: cell by cell
        numbers = np.full((len(rows), len(self.numeric)), np.nan)
        for i, cells in enumerate(rows):
            for j, cell in enumerate(cells):
                if is_number(cell):
                    numbers[i, j] = float(cell)
                elif self._is_text(cell):
                    self.text.setdefault(self.numeric[j], (f"line {lines[i]}, ", cell))
        return numbers

    def columns(self, values: NDArray[np.float64]) -> Columns:
        """Everything read, with these numbers."""
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
