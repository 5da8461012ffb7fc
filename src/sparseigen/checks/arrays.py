"""Checks of data and of symmetric matrices: finite, of one type, symmetric, small enough.

Arrays, frames and memory maps are checked once; from then on only operators see them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.coercion import (
    as_tensor,
    check_device,
    check_integers,
    check_same_order,
    convert_numbers,
    float_dtype,
    is_tensor,
    plain_array,
    split_frame,
)
from sparseigen.checks.memory import check_room
from sparseigen.checks.sparse import check_sparse
from sparseigen.errors import (
    DtypeError,
    NonFiniteError,
    NotSymmetricError,
    OptionError,
    ShapeError,
    TooFewSamplesError,
    ZeroMatrixError,
)

Array = NDArray[Any]

BLOCK_ENTRIES = 1 << 22
"""Checks walk over large arrays in blocks of about this many entries: no temporary of the array's own size."""

ASYMMETRY_ALLOWED = {"float64": 1e-10, "float32": 1e-5}
"""Largest |A_ij - A_ji| / max|A| taken for rounding; such a matrix is replaced by (A + A') / 2."""

SMALLEST_SINGLE, LARGEST_SINGLE = 2.0**-50, 2.0**55
"""Largest entries of matrices that are multiplied in float32."""
LARGEST_DOUBLED = 2.0**1000


@dataclass(frozen=True)
class CheckedArray:
    """What the operators need to know of an input: the numbers, their layout, and the names."""

    values: Any
    layout: str  # "dense", "sparse", "mapped" or "device"
    names: tuple[str, ...] | None
    symmetrised: bool = False
    magnitude: float = 0.0
    """Largest |entry| of a symmetric matrix; not filled in for data."""
    device: Any = None
    """The torch device that the numbers of layout "device" are to live on; they may still be in host memory."""


def check_symmetric(matrix: Any) -> CheckedArray:
    """A symmetric matrix from a dense array, a scipy sparse matrix or a frame."""
    check_same_order(matrix)
    values, names = split_frame(matrix)
    if is_sparse(values):
        return _check_symmetric_sparse(values, names)
    values = _real_array(values, "the matrix")
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        message = _say_not_square(values.shape)
        raise ShapeError(message)
    _check_not_empty(values.shape, "the matrix")
    given = values
    if values.flags.f_contiguous and not values.flags.c_contiguous:
        values = values.T
    elif not values.flags.c_contiguous:
        check_room(values.nbytes, "a copy of the matrix in C order", "pass one in C or Fortran order")
        values = np.ascontiguousarray(values)
    scale, difference, finite = kernels.survey_symmetric(values)
    if not (finite and math.isfinite(scale * values.size)):
        _check_finite(given, "the matrix", names)
    _check_not_zero(scale == 0.0)
    if difference > 0.0:
        if difference > ASYMMETRY_ALLOWED[str(values.dtype)] * scale:
            _refuse_asymmetric(*_largest_asymmetry(given), scale)
        check_room(values.nbytes, "averaging a slightly asymmetric matrix", "pass (A + A.T) / 2 itself")
        values = _widen(values, scale)
        values = _average(values, values.T, scale)
    return CheckedArray(_widen(values, scale), "dense", names, symmetrised=difference > 0.0, magnitude=scale)


def check_data(data: Any, *, device: Any = None, gaps: bool = False) -> CheckedArray:
    """Samples x variables from a dense array, a scipy sparse matrix, a frame, a memory map or a torch/cupy tensor.

    With ``device``, dense data of any kind get layout "device". With ``gaps`` NaN are allowed: they will be filled.
    """
    if is_tensor(data):
        values = as_tensor(data)
        check_data_shape(tuple(values.shape))  # finiteness is checked where the numbers are
        return CheckedArray(values, "device", None, device=values.device if device is None else check_device(device))
    if device is not None:
        return _mark_for_device(check_data(data), check_device(device))
    values, names = split_frame(data)
    if is_sparse(values):
        values = _real_sparse(values, "X")
        check_data_shape(values.shape)
        _check_finite(values.data, "X", None, sparse=values, gaps=gaps)
        return CheckedArray(values, "sparse", names)
    mapped = isinstance(values, np.memmap)
    if mapped and values.dtype in (np.float32, np.float64):
        check_data_shape(values.shape)
        return CheckedArray(values, "mapped", names)  # finiteness is checked in the pass that finds the means
    values = _real_array(values, "X")
    check_data_shape(values.shape)
    _check_finite(values, "X", names, gaps=gaps)
    return CheckedArray(values, "dense", names)


def check_block(values: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Some rows of data as a C-ordered array or compressed rows, and the names of a frame's columns.

    Finiteness is checked in the pass that finds the means.
    """
    values, names = split_frame(values)
    if is_sparse(values):
        return _real_sparse(values, "X").tocsr(), names
    values = _real_array(values, "X")
    check_two_sides(values.shape, "X")
    return np.ascontiguousarray(values), names


def is_sparse(value: Any) -> bool:
    """Whether this is a scipy sparse matrix.

    Nobody can hold one without scipy.sparse being loaded, so it is not loaded to ask: that would double the time of
    a first answer on dense data.
    """
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def _mark_for_device(checked: CheckedArray, device: Any) -> CheckedArray:
    if checked.layout == "sparse":
        message = f"device={str(device)!r} takes dense data; X is scipy sparse. Leave device out, or pass X.toarray()."
        raise OptionError(message)
    return CheckedArray(checked.values, "device", checked.names, device=device)


def label(index: int, names: Sequence[str] | None) -> str:
    """How an error names a column."""
    return f"column {index}" if names is None else f"column {index} ({names[index]!r})"


def say_non_finite(subject: str, count: int, row: int, column: int, names: Sequence[str] | None) -> str:
    """The sentence for NaN and infinities, shared by every operator that checks while it reads."""
    return (
        f"{subject} has {count} NaN or infinite {'value' if count == 1 else 'values'}, the first at row {row}, "
        f"{label(column, names)}; all must be finite. Drop those rows, or fill the gaps: missing='mean' takes the mean "
        "of each column."
    )


def _real_array(values: Any, subject: str) -> Array:
    """A float32 or float64 array; the caller's own array where it already is one."""
    array = plain_array(values, subject)
    kind = array.dtype.kind
    if kind == "c":
        message = (
            f"{subject} is complex ({array.dtype}); only real numbers are supported. Pass its real part if that is it."
        )
        raise DtypeError(message)
    if kind not in "fiub":
        message = (
            f"{subject} has dtype {array.dtype}; it must hold real numbers. "
            "Convert it first, for example with np.asarray(values, dtype=float)."
        )
        raise DtypeError(message)
    if kind in "iu":
        check_integers(array, subject)
    wanted = float_dtype(array.dtype, subject)
    if array.dtype == wanted:
        return array
    converted = f"{subject}, converted from {array.dtype} to {wanted},"
    check_room(wanted.itemsize * array.size, converted, "pass float32 numbers")
    return convert_numbers(array, wanted, subject)


def _real_sparse(values: Any, subject: str) -> Any:
    if values.dtype.kind not in "fiub":
        _real_array(np.empty(0, dtype=values.dtype), subject)
    values = check_sparse(values, subject)  # kernels follow these indices without a second look
    if values.dtype.kind in "iu":
        check_integers(values.data, subject)
    wanted = float_dtype(values.dtype, subject)
    if values.dtype == wanted:
        return values
    check_room(16 * values.nnz, f"{subject}, converted from {values.dtype} to {wanted},", "pass float32 numbers")
    convert_numbers(values.data, wanted, subject)
    return values.astype(wanted)


def _say_not_square(shape: tuple[int, ...]) -> str:
    return f"the matrix has shape {shape}; it must be square. For data (samples x variables) pass covariance(X)."


def _check_not_empty(shape: tuple[int, ...], subject: str) -> None:
    if 0 in shape:
        message = f"{subject} is empty (shape {shape}); it needs at least one row and one column."
        raise ShapeError(message)


def check_data_shape(shape: Sequence[int], subject: str = "X") -> tuple[int, int]:
    """The sides of a table with at least two rows and one column."""
    check_two_sides(shape, subject)
    _check_not_empty(tuple(shape), subject)
    if shape[0] < 2:
        message = (
            f"{subject} has {shape[0]} sample; a covariance needs at least 2. Pass a covariance matrix itself as it is."
        )
        raise TooFewSamplesError(message)
    return int(shape[0]), int(shape[1])


def check_two_sides(shape: Sequence[int], subject: str) -> None:
    """Refuse what is not a table."""
    if len(shape) != 2:
        message = f"{subject} has {len(shape)} dimensions; it must be a table of samples x variables (2 dimensions)."
        raise ShapeError(message)


def row_blocks(n_rows: int, n_columns: int) -> list[slice]:
    """Slices of rows holding about BLOCK_ENTRIES entries each."""
    step = max(1, BLOCK_ENTRIES // max(1, n_columns))
    return [slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step)]


def _check_finite(
    values: Array, subject: str, names: tuple[str, ...] | None, *, sparse: Any = None, gaps: bool = False
) -> None:
    """Refuse infinite values, and NaN unless there may be gaps."""
    table = values if values.ndim == 2 else values.reshape(-1, 1)
    is_bad = np.isinf if gaps else (lambda part: ~np.isfinite(part))
    # A finite sum proves all entries finite in one pass; only when it fails are the entries looked at one by one.
    with np.errstate(all="ignore"):
        total = sum(float(np.abs(table[rows]).sum(dtype=np.float64)) for rows in row_blocks(*table.shape))
    if np.isfinite(total):
        return
    count, first = 0, None
    for rows in row_blocks(*table.shape):
        where = np.argwhere(is_bad(table[rows]))
        count += len(where)
        if first is None and len(where):
            first = (rows.start + int(where[0][0]), int(where[0][1]))
    if first is None and gaps:
        return
    if first is None:
        message = f"{subject} holds values so large that sums overflow; divide it by a constant first."
        raise NonFiniteError(message)
    if sparse is not None:
        entry = sparse.tocoo()
        first = (int(entry.row[is_bad(entry.data)][0]), int(entry.col[is_bad(entry.data)][0]))
    raise NonFiniteError(say_non_finite(subject, count, first[0], first[1], names))


def _largest_asymmetry(values: Array) -> tuple[float, int, int]:
    """The largest |A_ij - A_ji|, and where it is."""
    worst, row, column = 0.0, 0, 0
    with np.errstate(over="ignore"):
        for rows in row_blocks(*values.shape):
            difference = np.abs(values[rows] - values[:, rows].T)
            position = int(difference.argmax())
            if difference.flat[position] > worst:
                worst = float(difference.flat[position])
                row, column = rows.start + position // values.shape[1], position % values.shape[1]
    return worst, row, column


def _widen(values: Any, scale: float) -> Any:
    """The matrix, in float64 where products of float32 numbers of this size would overflow or underflow."""
    if values.dtype == np.float32 and not SMALLEST_SINGLE <= scale <= LARGEST_SINGLE:
        return values.astype(np.float64)
    return values


def _average(values: Any, transposed: Any, scale: float) -> Any:
    """(A + A') / 2 without overflow."""
    half = values.dtype.type(0.5)
    return values * half + transposed * half if scale > LARGEST_DOUBLED else (values + transposed) * half


def _refuse_asymmetric(difference: float, row: int, column: int, scale: float) -> NoReturn:
    message = (
        f"the matrix is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ by {difference:.6g} "
        f"(largest entry {scale:.6g}). Pass (A + A.T) / 2 if that is what you mean."
    )
    raise NotSymmetricError(message)


def _check_not_zero(is_zero: bool) -> None:
    if is_zero:
        msg = "the matrix is zero: every sparse vector has value 0, so there is nothing to find."
        raise ZeroMatrixError(msg)


def _check_symmetric_sparse(matrix: Any, names: tuple[str, ...] | None) -> CheckedArray:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        message = _say_not_square(matrix.shape)
        raise ShapeError(message)
    _check_not_empty(matrix.shape, "the matrix")
    values = _real_sparse(matrix, "the matrix").tocsr()
    if not values.has_canonical_format:
        values = values.copy()  # summing duplicates works in place, and the caller's matrix is not ours to write
        values.sum_duplicates()
    _check_finite(values.data, "the matrix", names, sparse=values)
    scale = float(np.abs(values.data).max()) if values.nnz else 0.0
    _check_not_zero(scale == 0.0)
    difference = (values - values.T).tocoo()
    worst = int(np.abs(difference.data).argmax()) if difference.nnz else 0
    size = float(abs(difference.data[worst])) if difference.nnz else 0.0
    if size > 0.0:
        place = (int(difference.row[worst]), int(difference.col[worst]))
        if size > ASYMMETRY_ALLOWED[str(values.dtype)] * scale:
            _refuse_asymmetric(size, *place, scale)
        values = _average(_widen(values, scale), _widen(values, scale).T, scale).tocsr()
    values = _widen(values, scale)
    return CheckedArray(values, "sparse", names, symmetrised=size > 0.0, magnitude=scale)
