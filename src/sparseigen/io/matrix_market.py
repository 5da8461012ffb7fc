"""Matrix Market files, read strictly: what the header declares is checked, and every entry with it.

scipy.io.mmread would do, but for damaged files: the fuzzer saw it write behind the end of its array (scipy 1.17), and
scipy 1.17.1 takes the beginning of a broken line for a number without a word. Once the oldest scipy that we support
refuses the files of tests/unit/io/test_matrix_market.py, this module can go.

Reference: R. Boisvert, R. Pozo and K. Remington, "The Matrix Market exchange formats: initial design", NIST, 1996.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.coercion import LARGEST_EXACT_INTEGER, say_beyond_exact
from sparseigen.checks.memory import check_fits
from sparseigen.errors import DtypeError, InputError, IntegerOverflowError, ShapeError, one_of
from sparseigen.io.formats import OnProgress, count_bytes_read, open_bytes
from sparseigen.io.text import line_blocks, parse_numbers

FORMATS = ("array", "coordinate")
FIELDS = ("double", "integer", "pattern", "real", "unsigned-integer")
SYMMETRIES = ("general", "hermitian", "skew-symmetric", "symmetric")
SHORTEST_ENTRY = 4
"""Bytes of the shortest line with an entry of a coordinate file: '1 1' and the end of the line."""
LONGEST_LINE = 1 << 16


class Declared(NamedTuple):
    """What the first lines say."""

    form: str
    field: str
    symmetry: str
    rows: int
    columns: int
    entries: int


def read_matrix(path: Path, *, column_bytes: int = 0, on_progress: OnProgress | None = None) -> Any:
    """A scipy matrix in coordinates, or a dense array; ``column_bytes`` are what a column costs besides its entries."""
    with open_bytes(path) as file:
        declared = _read_declared(file, path.name)
        _check_declared(declared, path, column_bytes)
        blocks = _read_blocks(file, path, declared, on_progress)
        if declared.form == "coordinate":
            return _build_sparse(blocks, declared, path.name)
        return _build_dense(blocks, declared, path.name)


def _read_declared(file: IO[bytes], name: str) -> Declared:
    words = file.readline(LONGEST_LINE).decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        message = f"{name} cannot be read as Matrix Market: it must begin with '%%MatrixMarket matrix'."
        raise InputError(message)
    form, field, symmetry = words[2:]
    if field == "complex":
        message = f"{name} holds complex numbers; they must be real."
        raise DtypeError(message)
    for word, known in ((form, FORMATS), (field, FIELDS), (symmetry, SYMMETRIES)):
        if word not in known:
            message = f"{name} declares {word[:40]!r}, which is not known. Allowed: {one_of(known)}."
            raise InputError(message)
    line = b"%"
    while line and (line.lstrip()[:1] == b"%" or not line.strip()):
        line = file.readline(LONGEST_LINE)
    numbers = line.split()
    whole = all(part.isdigit() and len(part) < 19 for part in numbers)
    if not whole or len(numbers) != (3 if form == "coordinate" else 2):
        message = f"{name} declares the sizes {line[:60].decode('latin-1').strip()!r}; they must be whole numbers >= 0."
        raise ShapeError(message)
    rows, columns, *rest = map(int, numbers)
    if (form == "array" and field == "pattern") or (symmetry != "general" and rows != columns):
        message = (
            f"{name} declares a {symmetry} {form} of {field}s with {rows} rows and {columns} columns: no such matrix."
        )
        raise ShapeError(message)
    return Declared(form, field, symmetry, rows, columns, rest[0] if rest else _count_stored(symmetry, rows, columns))


def _count_stored(symmetry: str, rows: int, columns: int) -> int:
    """Numbers that a dense file lists."""
    if symmetry == "general":
        return rows * columns
    return rows * (rows - 1) // 2 if symmetry == "skew-symmetric" else rows * (rows + 1) // 2


def _check_declared(declared: Declared, path: Path, column_bytes: int) -> None:
    dense = declared.form == "array"
    needed = 8 * declared.rows * declared.columns if dense else 8 * (declared.rows + 1) + 24 * declared.entries
    check_fits(needed + column_bytes * declared.columns, path.name)
    if path.suffix.lower() == ".gz":
        return
    shortest = (2 if dense else SHORTEST_ENTRY) * declared.entries - 1
    if shortest > path.stat().st_size:
        message = f"{path.name} declares {declared.entries} entries and has {path.stat().st_size} bytes: truncated."
        raise InputError(message)


def _read_blocks(
    file: IO[bytes], path: Path, declared: Declared, on_progress: OnProgress | None
) -> Iterator[NDArray[np.float64]]:
    """The lines after the header as rows of numbers, as many as were declared and no more."""
    width = {"array": 1, "coordinate": 2 if declared.field == "pattern" else 3}[declared.form]
    total, found = path.stat().st_size, 0
    for lines in line_blocks(file, path, LONGEST_LINE):
        if lines.strip():
            block = parse_numbers(lines.strip(), comments=None)
            found += len(block)
            if block.shape[1] != width:
                message = f"{path.name} has lines of {block.shape[1]} numbers; an entry is a line of {width}."
                raise InputError(message)
            if found > declared.entries:
                message = f"{path.name} has more than the {declared.entries} entries that it declares."
                raise InputError(message)
            yield block
        if on_progress is not None:
            on_progress(count_bytes_read(file), total)
    if found < declared.entries:
        message = f"{path.name} declares {declared.entries} entries and holds {found}: truncated."
        raise InputError(message)


def _build_sparse(blocks: Iterator[NDArray[np.float64]], declared: Declared, name: str) -> Any:
    import scipy.sparse as sp

    index = np.int32 if max(declared.rows, declared.columns) < 2**31 else np.int64
    parts: tuple[list[NDArray[Any]], ...] = ([np.zeros(0, index)], [np.zeros(0, index)], [np.zeros(0)])
    for block in blocks:
        for column, side in ((0, declared.rows), (1, declared.columns)):
            numbers = block[:, column]
            wrong = numbers[~((numbers >= 1) & (numbers <= side) & (numbers == np.floor(numbers)))]
            if wrong.size:
                message = f"{name} has an entry at {float(wrong[0]):g}; these are whole numbers in 1..{side}."
                raise InputError(message)
            parts[column].append((numbers - 1).astype(index))
        parts[2].append(np.ones(len(block)) if declared.field == "pattern" else block[:, 2].copy())
    rows, columns, values = (np.concatenate(part) for part in parts)
    values = _as_declared(values, declared, name)
    if declared.symmetry != "general":
        off = rows != columns
        mirrored = -values[off] if declared.symmetry == "skew-symmetric" else values[off]
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
        values = np.concatenate([values, mirrored])
    return sp.coo_array((values, (rows, columns)), shape=(declared.rows, declared.columns))


def _build_dense(blocks: Iterator[NDArray[np.float64]], declared: Declared, name: str) -> NDArray[Any]:
    numbers = _as_declared(np.concatenate([np.zeros(0), *(block[:, 0] for block in blocks)]), declared, name)
    if declared.symmetry == "general":
        return numbers.reshape((declared.rows, declared.columns), order="F")
    skew = declared.symmetry == "skew-symmetric"
    values = np.zeros((declared.rows, declared.columns), dtype=numbers.dtype)
    columns, rows = np.triu_indices(declared.rows, int(skew))  # the lower triangle, column after column
    values[rows, columns] = numbers
    values[columns, rows] = -numbers if skew else numbers
    return values


def _as_declared(values: NDArray[np.float64], declared: Declared, name: str) -> NDArray[Any]:
    if "integer" not in declared.field:
        return values
    wrong = values[~(values == np.floor(values))]
    if wrong.size or not np.isfinite(values).all():
        message = f"{name} is declared to hold integers; it holds {float(wrong[0]) if wrong.size else 'infinity'}."
        raise InputError(message)
    if values.size and float(np.abs(values).max()) >= LARGEST_EXACT_INTEGER:
        raise IntegerOverflowError(say_beyond_exact(name, f"{np.abs(values).max():.0f}"))
    return values.astype(np.int64)
