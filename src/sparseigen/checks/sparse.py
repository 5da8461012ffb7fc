"""Sparse matrices of every format, from scipy, files or arrays: indices are checked before anything follows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.memory import check_columns_fit, check_fits
from sparseigen.errors import DtypeError, InputError, IntegerOverflowError, ShapeError

SIDES = {"csr": (0, 1), "csc": (1, 0)}
"""Format -> which side of the shape its pointers count, and which its indices."""
NEEDED = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
    "bsr": ("data", "indices", "indptr"),
}
"""Format -> arrays that scipy.sparse.save_npz writes for it."""


def check_sparse(matrix: Any, subject: str) -> Any:
    """The same scipy matrix in compressed rows or columns, without copies where it is compressed already.

    Its arrays may have been changed since scipy checked them, and what it remembers of itself (sorted, no duplicates)
    may no longer hold: everything is looked at again, in a new matrix. ``subject`` names it in errors.
    """
    if len(matrix.shape) != 2:
        message = f"{subject} has {len(matrix.shape)} dimensions; it must be a table or matrix (2 dimensions)."
        raise ShapeError(message)
    if matrix.format in SIDES:
        return build_compressed(matrix.format, (matrix.data, matrix.indices, matrix.indptr), matrix.shape, subject)
    _check_parts(matrix, subject)
    try:
        entries = matrix.tocoo()
        rows, columns = np.asarray(entries.row), np.asarray(entries.col)
    except (ValueError, IndexError, AttributeError) as error:
        message = f"{subject} is not a consistent {matrix.format} matrix: {error}. Build it again from its entries."
        raise InputError(message) from error
    for indices, side in ((rows, matrix.shape[0]), (columns, matrix.shape[1])):
        _check_indices(indices, side, subject)
    if not len(rows) == len(columns) == len(entries.data):
        message = f"{subject} has {len(entries.data)} values, {len(rows)} row and {len(columns)} column numbers."
        raise InputError(message)
    return _wide_enough(entries, subject).tocsr()


def _check_parts(matrix: Any, subject: str) -> None:
    """The parts of those formats that scipy converts without a look at their lengths."""
    fits = True
    if matrix.format == "dia":
        fits = np.shape(matrix.data)[:1] == np.shape(matrix.offsets)
    elif matrix.format == "lil":
        fits = [len(row) for row in matrix.rows] == [len(row) for row in matrix.data]
    if not fits:
        message = f"{subject} is not a consistent {matrix.format} matrix: its values and their places differ in number."
        raise InputError(message + " Build it again from its entries.")


def _wide_enough(entries: Any, subject: str) -> Any:
    """Entries whose duplicates can be summed: small integers wrap around without a word."""
    if entries.dtype.kind not in "iu" or entries.data.size == 0:
        return entries
    total = float(np.abs(entries.data, dtype=np.float64).sum())
    if total >= 2.0**62:
        message = f"{subject} holds integers that sum to more than 2^62; divide them by a common factor first."
        raise IntegerOverflowError(message)
    return entries if total < float(np.iinfo(entries.dtype).max) else entries.astype(np.int64)


def build_compressed(form: str, parts: tuple[Any, Any, Any], shape: Any, subject: str) -> Any:
    """A csr or csc matrix from (data, indices, indptr); ``subject`` names it in errors.

    Examples
    --------
    >>> build_compressed("csr", (np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), (2, 2), "x").toarray()
    array([[1., 0.],
           [0., 1.]])
    >>> build_compressed("csr", (np.ones(2), np.array([0, 7]), np.array([0, 1, 2])), (2, 2), "x")
    Traceback (most recent call last):
    sparseigen.errors.InputError: x is damaged: it holds the index 7, outside 0..1.
    """
    import scipy.sparse as sp

    data, indices, pointers = (np.asarray(part) for part in parts)
    shape = check_sides(shape, subject)
    if data.ndim != 1 or indices.ndim != 1 or pointers.ndim != 1:
        message = f"{subject} is damaged: data, indices and indptr must each have one dimension."
        raise InputError(message)
    _check_real(data, subject)
    if indices.dtype.kind not in "iu" or pointers.dtype.kind not in "iu":
        message = f"{subject} is damaged: indices and indptr must be whole numbers, they are {indices.dtype}."
        raise InputError(message)
    major, minor = (shape[side] for side in SIDES[form])
    _check_pointers(pointers, major, min(len(data), len(indices)), subject)
    stored = int(pointers[-1])
    data, indices = data[:stored], indices[:stored]
    _check_indices(indices, minor, subject)
    wide = max(stored, minor) > np.iinfo(np.int32).max
    index = np.int64 if wide or indices.dtype == pointers.dtype == np.int64 else np.int32
    parts = (data, indices.astype(index, copy=False), pointers.astype(index, copy=False))
    return (sp.csr_array if form == "csr" else sp.csc_array)(parts, shape=shape)


def check_sides(shape: Any, subject: str) -> tuple[int, int]:
    """Two sides that are whole numbers of at least 0."""
    sides = np.asarray(shape)
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or int(sides.min()) < 0:
        message = f"{subject} has the shape {np.array2string(sides, threshold=6)[:80]}; it must be two numbers >= 0."
        raise ShapeError(message)
    return int(sides[0]), int(sides[1])


def _check_real(data: NDArray[Any], subject: str) -> None:
    if data.dtype.kind not in "fiub":
        message = f"{subject} has values of dtype {data.dtype}; they must be real numbers."
        raise DtypeError(message)


def _check_pointers(pointers: NDArray[Any], major: int, stored: int, subject: str) -> None:
    fits = len(pointers) == major + 1 and int(pointers[0]) == 0 and int(pointers[-1]) <= stored
    if not fits or bool((pointers[1:] < pointers[:-1]).any()):
        message = (
            f"{subject} is damaged: its pointers (indptr) must be {major + 1} numbers that go up from 0 to at most the "
            f"{stored} entries there are."
        )
        raise InputError(message)


def _check_indices(indices: NDArray[Any], side: int, subject: str) -> None:
    if indices.size == 0:
        return
    for index in (int(indices.min()), int(indices.max())):
        if not 0 <= index < side:
            message = f"{subject} is damaged: it holds the index {index}, outside 0..{side - 1}."
            raise InputError(message)


def build_saved(arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """A matrix from the arrays that scipy.sparse.save_npz writes, as compressed rows or columns."""
    import scipy.sparse as sp

    form = _read_form(arrays["format"])
    shape = check_sides(arrays["shape"], name)
    check_columns_fit(shape[1], name)
    needed = NEEDED.get(form)
    if needed is None or any(part not in arrays for part in needed):
        allowed = "; ".join(f"{known} ({', '.join(parts)})" for known, parts in sorted(NEEDED.items()))
        message = f"{name} holds a sparse matrix of format {form!r} with {sorted(arrays)}; it must be {allowed}."
        raise InputError(message)
    parts = [arrays[part] for part in needed]
    if form in SIDES:
        return build_compressed(form, (parts[0], parts[1], parts[2]), shape, name)
    _check_real(parts[0], name)
    if any(part.dtype.kind not in "iu" for part in parts[1:]):
        message = f"{name} is damaged: the numbers of rows, columns or diagonals must be whole."
        raise InputError(message)
    check_fits(8 * (shape[0] + 1) + 24 * int(parts[0].size), name)
    if form == "coo":
        matrix = sp.coo_array((parts[0], (parts[1], parts[2])), shape=shape)
    elif form == "dia":
        matrix = sp.dia_array((parts[0], parts[1]), shape=shape).tocoo()
    else:
        matrix = sp.bsr_array((parts[0], parts[1], parts[2]), shape=shape).tocoo()
    return check_sparse(matrix, name)


def _read_form(array: NDArray[Any]) -> str:
    value = array.item() if array.size == 1 else ""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
