"""Tables and edge lists in text."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.graphs import FRAME_COLUMNS, Graph, graph_from_edges
from sparseigen.checks.memory import available_bytes, check_columns_fit, check_fits
from sparseigen.errors import (
    GraphFileError,
    InputError,
    IntegerOverflowError,
    MissingDataError,
    OptionError,
    ShapeError,
)
from sparseigen.io.columns import LARGEST_EXACT_INTEGER, Columns, Table, TableOptions, damaged, overflow_message

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


LONGEST_EDGE_LINE = 1 << 20
PEEK = 1 << 20
"""Bytes in which the first two lines that are not comments must lie."""


@dataclass(frozen=True)
class EdgeLayout:
    """Which columns of a text file are the ends and the weight."""

    names: tuple[str, ...] | None
    """The header, if there is one."""
    ends: tuple[int, int] = (0, 1)
    weight: int | None = None
    separator: str | None = None
    """Between cells; None is any white space."""
    labelled: bool = False
    """Whether vertices are names rather than numbers."""


def edge_layout(path: Path, weight: str | None) -> EdgeLayout | None:
    """How to read the file; None for plain numbers without a header, which need no help."""
    lines = _first_lines(path)
    if not lines:
        return None
    separator = next((mark for mark in (",", "\t", ";") if mark in lines[0]), None)
    cells = [_split(line, separator) for line in lines]
    if _numeric(cells[0][:2]):
        return None
    known = any(set(pair) <= {cell.lower() for cell in cells[0]} for pair in FRAME_COLUMNS)
    headed = known or (len(cells) > 1 and _numeric(cells[1][:2]))
    if len(cells) < 2 and (headed or not known):
        message = f"{path}: the only line is {lines[0][:60]!r}; an edge list needs edges, two ends a line."
        raise GraphFileError(message)
    names = tuple(cells[0]) if headed else None
    ends = _ends(names, len(cells[1]), path)
    chosen = _weight(names, len(cells[1]), ends, weight, path)
    return EdgeLayout(names, ends, chosen, separator, labelled=not _numeric([cells[1][j] for j in ends]))


def _first_lines(path: Path) -> list[str]:
    try:
        with _open_bytes(path) as file:
            text = file.read(PEEK).decode("utf-8-sig", "replace")
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path}: {error}. The file is damaged; download it again."
        raise GraphFileError(message) from error
    lines = (line for line in text.splitlines() if line.strip() and line.lstrip()[0] not in "#%")
    return [line for line, _ in zip(lines, range(2), strict=False)]


def _open_bytes(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path))
    return path.open("rb")


def _split(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]


def _numeric(cells: list[str]) -> bool:
    try:
        return bool([float(cell) for cell in cells])
    except ValueError:
        return False


def _ends(names: tuple[str, ...] | None, width: int, path: Path) -> tuple[int, int]:
    if names is not None and len(names) != width:
        message = f"{path}: the header has {len(names)} cells, the line after it {width}; they must agree."
        raise GraphFileError(message)
    if width < 2:
        message = f"{path}: lines have 1 column; an edge list has 2, or 3 with weights."
        raise GraphFileError(message)
    lower = [name.lower() for name in names or ()]
    for first, second in FRAME_COLUMNS:
        if first in lower and second in lower:
            return lower.index(first), lower.index(second)
    return 0, 1


def _weight(
    names: tuple[str, ...] | None, width: int, ends: tuple[int, int], wanted: str | None, path: Path
) -> int | None:
    if wanted is not None:
        if names is None or wanted not in names:
            have = "no header" if names is None else "the columns " + ", ".join(map(repr, names))
            message = f"weight={wanted!r} is not a column of {path}; it has {have}."
            raise GraphFileError(message, parameter="weight")
        return names.index(wanted)
    lower = [name.lower() for name in names or ()]
    if "weight" in lower:
        return lower.index("weight")
    rest = [j for j in range(width) if j not in ends]
    if len(rest) > 1:
        listed = ", ".join(map(repr, names)) if names is not None else f"{width} columns"
        message = f"{path} has {listed}: which of them is the weight? Name it ('weight')."
        raise GraphFileError(message, parameter="weight")
    return rest[0] if rest else None


def read_labelled(path: Path, layout: EdgeLayout) -> Graph:
    """A graph whose vertices are names; vertices are numbered in the order in which they occur."""
    ends: tuple[list[str], list[str]] = ([], [])
    weights: list[float] = []
    needed = max(*layout.ends, layout.weight or 0) + 1
    for line, cells in _edges(path, layout):
        if len(cells) < needed:
            message = f"{path}, line {line}: {len(cells)} cells where an edge has {needed}."
            raise GraphFileError(message)
        if not all(cells[column] for column in layout.ends):
            message = f"{path}, line {line}: an end of the edge is empty; every edge has two vertices."
            raise GraphFileError(message)
        for column, names in zip(layout.ends, ends, strict=True):
            names.append(cells[column])
        if layout.weight is not None:
            weights.append(_number(cells[layout.weight], path, line))
    weight = None if layout.weight is None else np.array(weights)
    graph = graph_from_edges(np.array(ends[0], dtype=object), np.array(ends[1], dtype=object), weight)
    graph.notes["format"] = "edge list"
    return graph


def _number(cell: str, path: Path, line: int) -> float:
    try:
        return float(cell)
    except ValueError:
        message = f"{path}, line {line}: the weight {cell!r} is not a number."
        raise GraphFileError(message) from None


def _edges(path: Path, layout: EdgeLayout) -> Iterator[tuple[int, list[str]]]:
    headed = layout.names is not None
    with _open_bytes(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_EDGE_LINE), ""), 1):
            if len(line) == LONGEST_EDGE_LINE:
                message = f"{path}, line {number} is longer than {LONGEST_EDGE_LINE} characters; an edge has few."
                raise GraphFileError(message)
            if not line.strip() or line.lstrip()[0] in "#%":
                continue
            if headed:
                headed = False
                continue
            yield number, _split(line, layout.separator)
