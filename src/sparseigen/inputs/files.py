"""Tables in files: comma or tab separated text, and NumPy's own format."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import DtypeError, InputError, MissingDataError, ShapeError, one_of


@dataclass(frozen=True)
class Table:
    """Numbers from a file, with the names of its columns where it has any."""

    values: NDArray[np.float64]
    names: tuple[str, ...] | None


def read_table(path: str | Path) -> Table:
    """Read a table of numbers; the file's ending says how.

    A header line is recognised by cells that are not numbers, and a first column of text under an empty or
    any other header cell is taken for row labels.
    """
    path = Path(path)
    if not path.is_file():
        message = f"{path} does not exist or is not a file; check the path."
        raise MissingDataError(message)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        message = f"{path.name} has the ending {path.suffix!r}, which is not known. Allowed: {one_of(READERS)}."
        raise InputError(message)
    return reader(path)


def _read_npy(path: Path) -> Table:
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        message = f"{path.name} cannot be read as a NumPy array: {error}"
        raise InputError(message) from error
    return Table(values, None)


def _read_text(separator: str) -> Callable[[Path], Table]:
    def read(path: Path) -> Table:
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                rows = [row for row in csv.reader(file, delimiter=separator) if row]
        except (UnicodeDecodeError, csv.Error) as error:
            message = f"{path.name} is not readable text: {error}"
            raise InputError(message) from error
        return _parse(path.name, rows)

    return read


def _parse(name: str, rows: list[list[str]]) -> Table:
    if not rows:
        message = f"{name} is empty; it must hold at least one row of numbers."
        raise ShapeError(message)
    header = rows[0] if any(not _is_number(cell) for cell in rows[0][1:] or rows[0]) else None
    body = rows[1:] if header else rows
    first_line = 2 if header else 1
    for offset, row in enumerate(body):
        if len(row) != len(rows[0]):
            message = f"{name}, line {first_line + offset}: {len(row)} cells where the first line has {len(rows[0])}."
            raise ShapeError(message)
    labelled = bool(body) and not _is_number(body[0][0])
    cells = [row[1:] for row in body] if labelled else body
    names = tuple(header[1:] if labelled else header) if header else None
    try:
        return Table(np.array(cells, dtype=np.float64).reshape(len(body), -1), names)
    except ValueError:
        raise DtypeError(_first_text_cell(name, cells, names, first_line)) from None


def _first_text_cell(name: str, cells: list[list[str]], names: tuple[str, ...] | None, first_line: int) -> str:
    for offset, row in enumerate(cells):
        for column, cell in enumerate(row):
            if not _is_number(cell):
                where = f"column {names[column]!r}" if names else f"column {column + 1}"
                return (
                    f"{name}, line {first_line + offset}, {where}: {cell!r} is not a number. Drop or encode it first."
                )
    return f"{name} holds cells that are not numbers."


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": _read_text(","),
    ".tsv": _read_text("\t"),
    ".npy": _read_npy,
}
"""File ending -> reader. A new format is a function here and a row in this table."""
