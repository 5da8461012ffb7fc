"""From the columns of a file to a table: which of them are variables, row names, labels, or text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import is_sparse
from sparseigen.checks.coercion import check_names
from sparseigen.errors import DtypeError, OptionError

INDEX_NAMES = {"", "index", "id", "ids", "row", "rows", "name", "names", "sample", "samples", "obs", "unnamed: 0"}
"""Names, in lower case, under which a first column that counts the rows is taken for row names."""

COLUMNS_NAMED = 5
"""How many columns of text an error names."""


@dataclass(frozen=True)
class TableOptions:
    """How the caller wants a file to be read; see `read_table`."""

    header: bool | None = None
    index: str = "auto"
    label: str | None = None
    drop_text: bool = False
    array: str | None = None


@dataclass(frozen=True)
class Table:
    """Numbers from a file, with what the file says about them.

    ``values`` is an array or a scipy sparse matrix, samples x variables; ``labels`` the column of groups that was
    asked for; ``notes`` what was decided on the way, in words.
    """

    values: Any
    names: tuple[str, ...] | None = None
    row_labels: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    notes: tuple[str, ...] = field(default=())

    def column_name(self, column: int) -> str:
        """How to call a column in a sentence."""
        return name_column(self.names, column)

    def dense_values(self, purpose: str) -> NDArray[Any]:
        """The numbers as an array; sparse ones are refused for this purpose."""
        if is_sparse(self.values):
            message = f"{purpose} is for dense tables; a sparse file has no gaps but its own NaN. Fill them first."
            raise OptionError(message)
        return np.asarray(self.values)

    def with_values(self, values: NDArray[Any], note: str) -> Table:
        """The same table with other numbers."""
        return replace(self, values=values, notes=(*self.notes, note))

    def with_names(self, names: tuple[str, ...]) -> Table:
        """The same table with names for its variables."""
        check_names("the list of names", names)
        return replace(self, names=names)

    def transpose(self) -> Table:
        """Rows and columns exchanged, and their names with them."""
        check_names("the first column", self.row_labels)
        values = self.values.T.tocsr() if is_sparse(self.values) else np.asarray(self.values).T
        return Table(values, self.row_labels, self.names, None, (*self.notes, "transposed"))

    def with_rows(self, kept: NDArray[np.bool_], note: str) -> Table:
        """Some of the rows."""
        picked = [
            None if cells is None else tuple(cell for cell, keep in zip(cells, kept, strict=True) if keep)
            for cells in (self.row_labels, self.labels)
        ]
        values = np.asarray(self.values)[kept]
        return replace(self, values=values, row_labels=picked[0], labels=picked[1], notes=(*self.notes, note))


@dataclass
class Columns:
    """What a reader found: numbers of every numeric column, and text of the others.

    ``text`` maps the position of a column of text to the first cell that shows it (place, cell).
    """

    file: str
    names: tuple[str, ...] | None
    count: int
    numeric: list[int]
    values: NDArray[Any]
    text: dict[int, tuple[str, str]]
    kept: dict[int, list[str]]
    """Cells of the columns that may be row names or labels, as text."""

    def name(self, column: int) -> str:
        """How to call a column in a sentence."""
        return name_column(self.names, column)

    def find(self, wanted: str, option: str) -> int:
        """The position of a column that an option names."""
        return find_column(self.file, self.names, self.count, wanted, option)

    def table(self, options: TableOptions) -> Table:
        """Variables, row names and labels; text that nobody asked to leave out is an error."""
        index = _find_index(self, options)
        label = None if options.label is None else self.find(options.label, "label")
        left_out = [j for j in self.text if j not in (index, label)]
        if left_out and not options.drop_text:
            raise DtypeError(self._text_message(left_out), parameter="drop_text")
        wanted = [i for i, j in enumerate(self.numeric) if j not in (index, label) and j not in self.text]
        if not wanted:
            message = f"{self.file}: no column of numbers is left; a table needs at least one."
            raise DtypeError(message)
        names = None if self.names is None else tuple(self._variable_name(self.numeric[i]) for i in wanted)
        check_names(self.file, names)
        everything = len(wanted) == self.values.shape[1]
        values = self.values if everything else np.ascontiguousarray(self.values[:, wanted])
        rows = None if index is None else tuple(self.kept[index])
        groups = None if label is None else tuple(self.kept[label])
        return Table(values, names, rows, groups, self._notes(index, left_out))

    def _variable_name(self, column: int) -> str:
        return (self.names or ())[column] or f"column {column + 1}"

    def _notes(self, index: int | None, left_out: list[int]) -> tuple[str, ...]:
        names = self.names or ("",) * self.count
        notes = [] if index is None or names[index] == "" else [f"row names from {self.name(index)}"]
        if left_out:
            notes.append("left out as text: " + _list_names([self.name(j) for j in left_out]))
        return tuple(notes)

    def _text_message(self, columns: list[int]) -> str:
        place, cell = self.text[columns[0]]
        shown = cell if len(cell) <= 40 else cell[:37] + "..."
        single = len(columns) == 1
        listed = "" if single else f" ({_list_names([self.name(j) for j in columns])})"
        return (
            f"{self.file}, {place}{self.name(columns[0])}: {shown!r} is not a number; {len(columns)} of {self.count} "
            f"columns {'holds' if single else 'hold'} text{listed}. Encode as numbers or leave out ('drop_text')."
        )


def name_column(names: Sequence[str] | None, column: int) -> str:
    """How to call a column in a sentence: by its name, or by its place."""
    return f"column {column + 1}" if names is None else f"column {names[column]!r}"


def _list_names(names: list[str]) -> str:
    more = len(names) - COLUMNS_NAMED
    return ", ".join(names[:COLUMNS_NAMED]) + (f" and {more} more" if more > 0 else "")


def _find_index(columns: Columns, options: TableOptions) -> int | None:
    if options.index == "none":
        return None
    if options.index != "auto":
        return columns.find(options.index, "index")
    first = columns.kept.get(0)
    if not first or columns.count == 1 or (options.label is not None and columns.find(options.label, "label") == 0):
        return None
    named = columns.names is not None and columns.names[0] != ""
    if 0 in columns.text:
        return 0 if not named or len(set(first)) == len(first) else None
    if columns.names is None or columns.names[0].strip().lower() not in INDEX_NAMES:
        return None
    counted = columns.values[:, columns.numeric.index(0)]
    steps = np.arange(len(counted))
    return 0 if np.array_equal(counted, steps) or np.array_equal(counted, steps + 1) else None


def find_column(file: str, names: Sequence[str] | None, count: int, wanted: str, option: str) -> int:
    """The position of a column by its name, or, where there are no names, by its number from 1 on."""
    if names is None and wanted.isdecimal() and 1 <= int(wanted) <= count:
        return int(wanted) - 1
    if names is not None and wanted in names:
        return list(names).index(wanted)
    known = f"numbers 1 to {count}" if names is None else _list_names([repr(name) for name in names])
    message = f"{option}={wanted!r} is not a column of {file}; it has {known}."
    raise OptionError(message, parameter=option)
