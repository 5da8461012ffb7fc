"""Matrices whose rows and columns have names: both must come in the same order."""

from __future__ import annotations

from typing import Any

from sparseigen.errors import InputError


def check_same_order(matrix: Any) -> None:
    """Refuse a frame, or a table of a file, whose rows have the names of its columns in another order.

    Its diagonal is then not its diagonal; where the numbers happen to be symmetric all the same, nothing else would
    notice. Rows that are only numbered, or have other names, say nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> check_same_order(pd.DataFrame([[1.0, 0.0], [0.0, 2.0]], index=["a", "b"], columns=["a", "b"]))
    """
    rows, columns = row_names(matrix), column_names(matrix)
    if rows is None or columns is None or rows == columns or sorted(rows) != sorted(columns):
        return
    place = next(i for i, (row, column) in enumerate(zip(rows, columns, strict=True)) if row != column)
    message = (
        f"the rows of the matrix have the names of its columns in another order: row {place} is {rows[place]!r}, "
        f"column {place} is {columns[place]!r}. Bring both into one order first, for a frame with "
        "frame.loc[frame.columns]."
    )
    raise InputError(message)


def row_names(matrix: Any) -> list[str] | None:
    """The names of the rows of a frame or table, where it has any."""
    found = getattr(matrix, "row_labels", None)
    if found is None and hasattr(matrix, "columns"):
        found = getattr(matrix, "index", None)
    return None if found is None or callable(found) else [str(name) for name in found]


def column_names(matrix: Any) -> list[str] | None:
    """The names of the columns of a frame or table, where it has any."""
    found = getattr(matrix, "names" if hasattr(matrix, "row_labels") else "columns", None)
    return None if found is None or callable(found) else [str(name) for name in found]
