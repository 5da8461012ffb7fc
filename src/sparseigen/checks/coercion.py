"""Objects that stand for arrays: sequences, tensors of other libraries, sparse matrices of every format."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.memory import check_columns_fit, check_fits
from sparseigen.config import require
from sparseigen.errors import (
    DtypeError,
    InputError,
    IntegerOverflowError,
    NonFiniteError,
    OptionError,
    RangeError,
    ShapeError,
)

LARGEST_EXACT_INTEGER = 2**53
LARGEST_LOADING = 1e100
"""Products with larger entries could overflow."""


def plain_array(values: Any, what: str) -> NDArray[Any]:
    """The array of some values; refused where NumPy would drop a mask, or finds rows of different lengths.

    Examples
    --------
    >>> plain_array([[1, 2], [3, 4]], "the matrix").shape
    (2, 2)
    >>> plain_array([[1, 2], [3]], "the matrix")
    Traceback (most recent call last):
    sparseigen.errors.ShapeError: the matrix has rows of different lengths; all must have the same number of entries.
    """
    _check_mask(values, what)
    try:
        return np.asarray(values)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        message = f"{what} has rows of different lengths; all must have the same number of entries."
        raise ShapeError(message) from None


def _check_mask(values: Any, what: str) -> None:
    """Refuse masked entries: behind a mask are numbers that nobody meant."""
    masked = sys.modules.get("numpy.ma")  # nobody can hold a masked array without it
    if masked is None or not isinstance(values, masked.MaskedArray):
        return
    count = int(masked.getmaskarray(values).sum(dtype=np.int64)) if values.dtype.names is None else 0
    if count:
        message = (
            f"{what} has {count} masked {'entry' if count == 1 else 'entries'}; all must be there. Drop those rows, or "
            "fill the gaps first (values.filled(...))."
        )
        raise NonFiniteError(message)


def real_numbers(values: Any, what: str) -> NDArray[np.float64]:
    """Some real numbers as float64."""
    array = plain_array(values, what)
    if array.dtype.kind not in "fiub":
        message = f"{what} has dtype {array.dtype}; it must hold real numbers (float or int)."
        raise DtypeError(message)
    return array.astype(np.float64)


def component_vectors(vectors: Any, size: int) -> NDArray[np.float64]:
    """The caller's components, one a column."""
    rows = np.atleast_2d(real_numbers(vectors, "vectors"))
    if rows.ndim != 2 or rows.shape[1] != size:
        message = f"vectors has shape {rows.shape}; it must be (n_components, {size}), one component a row."
        raise ShapeError(message)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        message = f"vectors has NaN or infinite entries, the first in component {bad[0]}; all must be finite."
        raise NonFiniteError(message)
    if float(np.abs(rows).max(initial=0.0)) > LARGEST_LOADING:
        message = f"vectors holds entries beyond {LARGEST_LOADING:g}; scale the components to unit length first."
        raise RangeError(message)
    return rows.T.copy()


def check_integers(array: NDArray[Any], what: str) -> None:
    """Refuse integers that have no exact float64 value."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or array.size == 0:
        return
    largest = max(abs(int(array.max())), abs(int(array.min())))
    if largest > LARGEST_EXACT_INTEGER:
        raise IntegerOverflowError(say_beyond_exact(what, largest))


def say_beyond_exact(what: str, number: object) -> str:
    """The sentence for an integer beyond 2**53."""
    return (
        f"{what} holds the integer {number}, beyond 2**53: it has no exact float64 value. "
        "Divide by a common factor, or convert to float yourself."
    )


def rounded_to(array: NDArray[Any], wanted: np.dtype[Any], what: str) -> NDArray[Any]:
    """The numbers in another type; refused where extended precision would be lost without a word."""
    if array.dtype == wanted:
        return array
    # Bits that are no number in extended precision are invalid; what comes of them is refused below, or as not finite.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        converted = array.astype(wanted)
        wide = array.dtype.kind == "f" and array.dtype.itemsize > 8
        lost = (converted.astype(array.dtype) != array) & ~np.isnan(array) if wide else np.zeros(0, dtype=bool)
    if bool(lost.any()):
        message = (
            f"{what} holds {array[lost][0]!s} in {array.dtype}, which has no exact float64 value, and certificates "
            "are about the exact numbers. Pass values.astype(numpy.float64) if rounded ones are what you mean."
        )
        raise RangeError(message)
    return converted


def check_meaning(values: Any, what: str) -> None:
    """Refuse what scikit-learn's own check of arrays would turn into other numbers without a word."""
    _check_mask(values, what)
    if type(values).__module__.split(".")[0] in ("pandas", "polars") and hasattr(values, "columns"):
        for name in values.columns:
            kind = getattr(getattr(values[name], "dtype", None), "kind", "O")
            if kind in "mMV":
                message = f"column {name!r} of {what} holds dates or times; drop or encode it first."
                raise DtypeError(message)
            if kind in "iu" and isinstance(values[name].dtype, np.dtype):
                check_integers(values[name].to_numpy(), f"column {name!r} of {what}")
        return
    dtype = getattr(values, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return
    if dtype.kind in "mMVUS":
        message = f"{what} has dtype {dtype}; it must hold real numbers. Convert it first, for example with float()."
        raise DtypeError(message)
    numbers = values if isinstance(values, np.ndarray) else getattr(values, "data", None)
    if isinstance(numbers, np.ndarray) and numbers.dtype.kind in "iu":
        check_integers(numbers, what)
    elif isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f" and numbers.dtype.itemsize > 8:
        rounded_to(numbers, np.dtype(np.float64), what)


TENSOR_MODULES = ("torch", "cupy")


def is_tensor(value: Any) -> bool:
    """Whether this is a torch tensor or a cupy array, asked without importing either."""
    return type(value).__module__.split(".")[0] in TENSOR_MODULES and hasattr(value, "__dlpack__")


def as_tensor(value: Any) -> Any:
    """A strided float32 or float64 torch tensor: the caller's own memory where it already is one."""
    torch = require("torch", purpose="a torch or cupy array")
    tensor = value.detach() if isinstance(value, torch.Tensor) else torch.from_dlpack(value)
    if tensor.layout != torch.strided:
        message = f"X is a torch tensor of layout {tensor.layout}; only dense tensors are supported. Use X.to_dense()."
        raise DtypeError(message)
    if tensor.is_complex():
        message = f"X is complex ({tensor.dtype}); only real numbers are supported. Pass its real part if that is it."
        raise DtypeError(message)
    if tensor.dtype in (torch.float32, torch.float64):
        return tensor
    return tensor.to(torch.float32 if tensor.is_floating_point() else torch.float64)


def check_device(device: Any) -> Any:
    """A torch device that exists here, from "cuda", "cuda:1", "cpu" or a torch.device."""
    torch = require("torch", purpose=f"device={device!r}")
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError) as error:
        message = f"device={device!r} is not a device torch knows; use 'cuda', 'cuda:1' or 'cpu'."
        raise OptionError(message) from error
    if wanted.type not in ("cuda", "cpu"):
        message = f"device={device!r} is not supported; use 'cuda', 'cuda:1' or 'cpu'."
        raise OptionError(message)
    if wanted.type == "cuda" and (wanted.index or 0) >= torch.cuda.device_count():
        message = (
            f"device={device!r} is not there: torch {torch.__version__} sees {torch.cuda.device_count()} CUDA devices. "
            "Install a CUDA build of torch and a driver, or leave device out."
        )
        raise OptionError(message)
    return wanted


def host_array(values: Any, rows: slice) -> Any:
    """Some rows of a host array as a fresh torch tensor (read-only and mapped arrays included)."""
    torch = require("torch", purpose="device=")
    return torch.from_numpy(np.array(values[rows], order="C", copy=True))


SIDES = {"csr": (0, 1), "csc": (1, 0)}
"""Format -> which side of the shape its pointers count, and which its indices."""


def checked_sparse(matrix: Any, what: str) -> Any:
    """The same scipy matrix in compressed rows or columns, without copies where it is compressed already.

    Its arrays may have been changed since scipy checked them, and what it remembers of itself (sorted, no duplicates)
    may no longer hold: everything is looked at again, in a new matrix. ``what`` names it in errors.
    """
    if len(matrix.shape) != 2:
        message = f"{what} has {len(matrix.shape)} dimensions; it must be a table or matrix (2 dimensions)."
        raise ShapeError(message)
    if matrix.format in SIDES:
        return compressed(matrix.format, (matrix.data, matrix.indices, matrix.indptr), matrix.shape, what)
    _check_parts(matrix, what)
    try:
        entries = matrix.tocoo()
        rows, columns = np.asarray(entries.row), np.asarray(entries.col)
    except (ValueError, IndexError, AttributeError) as error:
        message = f"{what} is not a consistent {matrix.format} matrix: {error}. Build it again from its entries."
        raise InputError(message) from error
    for indices, side in ((rows, matrix.shape[0]), (columns, matrix.shape[1])):
        _check_indices(indices, side, what)
    if not len(rows) == len(columns) == len(entries.data):
        message = f"{what} has {len(entries.data)} values, {len(rows)} row and {len(columns)} column numbers."
        raise InputError(message)
    return _wide_enough(entries, what).tocsr()


def _check_parts(matrix: Any, what: str) -> None:
    """The parts of those formats that scipy converts without a look at their lengths."""
    fits = True
    if matrix.format == "dia":
        fits = np.shape(matrix.data)[:1] == np.shape(matrix.offsets)
    elif matrix.format == "lil":
        fits = [len(row) for row in matrix.rows] == [len(row) for row in matrix.data]
    if not fits:
        message = f"{what} is not a consistent {matrix.format} matrix: its values and their places differ in number."
        raise InputError(message + " Build it again from its entries.")


def _wide_enough(entries: Any, what: str) -> Any:
    """Entries whose duplicates can be summed: small integers wrap around without a word."""
    if entries.dtype.kind not in "iu" or entries.data.size == 0:
        return entries
    total = float(np.abs(entries.data, dtype=np.float64).sum())
    if total >= 2.0**62:
        message = f"{what} holds integers that sum to more than 2^62; divide them by a common factor first."
        raise IntegerOverflowError(message)
    return entries if total < float(np.iinfo(entries.dtype).max) else entries.astype(np.int64)


def compressed(form: str, parts: tuple[Any, Any, Any], shape: Any, what: str) -> Any:
    """A csr or csc matrix from (data, indices, indptr); ``what`` names it in errors.

    Examples
    --------
    >>> compressed("csr", (np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), (2, 2), "x").toarray()
    array([[1., 0.],
           [0., 1.]])
    >>> compressed("csr", (np.ones(2), np.array([0, 7]), np.array([0, 1, 2])), (2, 2), "x")
    Traceback (most recent call last):
    sparseigen.errors.InputError: x is damaged: it holds the index 7, outside 0..1.
    """
    import scipy.sparse as sp

    data, indices, pointers = (np.asarray(part) for part in parts)
    shape = check_sides(shape, what)
    if data.ndim != 1 or indices.ndim != 1 or pointers.ndim != 1:
        message = f"{what} is damaged: data, indices and indptr must each have one dimension."
        raise InputError(message)
    _check_real(data, what)
    if indices.dtype.kind not in "iu" or pointers.dtype.kind not in "iu":
        message = f"{what} is damaged: indices and indptr must be whole numbers, they are {indices.dtype}."
        raise InputError(message)
    major, minor = (shape[side] for side in SIDES[form])
    _check_pointers(pointers, major, min(len(data), len(indices)), what)
    stored = int(pointers[-1])
    data, indices = data[:stored], indices[:stored]
    _check_indices(indices, minor, what)
    wide = max(stored, minor) > np.iinfo(np.int32).max
    index = np.int64 if wide or indices.dtype == pointers.dtype == np.int64 else np.int32
    parts = (data, indices.astype(index, copy=False), pointers.astype(index, copy=False))
    return (sp.csr_array if form == "csr" else sp.csc_array)(parts, shape=shape)


def check_sides(shape: Any, what: str) -> tuple[int, int]:
    """Two sides that are whole numbers of at least 0."""
    sides = np.asarray(shape)
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or int(sides.min()) < 0:
        message = f"{what} has the shape {np.array2string(sides, threshold=6)[:80]}; it must be two numbers >= 0."
        raise ShapeError(message)
    return int(sides[0]), int(sides[1])


def _check_real(data: NDArray[Any], what: str) -> None:
    if data.dtype.kind not in "fiub":
        message = f"{what} has values of dtype {data.dtype}; they must be real numbers."
        raise DtypeError(message)


def _check_pointers(pointers: NDArray[Any], major: int, stored: int, what: str) -> None:
    fits = len(pointers) == major + 1 and int(pointers[0]) == 0 and int(pointers[-1]) <= stored
    if not fits or bool((pointers[1:] < pointers[:-1]).any()):
        message = (
            f"{what} is damaged: its pointers (indptr) must be {major + 1} numbers that go up from 0 to at most the "
            f"{stored} entries there are."
        )
        raise InputError(message)


def _check_indices(indices: NDArray[Any], side: int, what: str) -> None:
    if indices.size == 0:
        return
    for index in (int(indices.min()), int(indices.max())):
        if not 0 <= index < side:
            message = f"{what} is damaged: it holds the index {index}, outside 0..{side - 1}."
            raise InputError(message)


def from_saved(arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """A matrix from the arrays that scipy.sparse.save_npz writes, as compressed rows or columns."""
    import scipy.sparse as sp

    form = _form(arrays["format"])
    shape = check_sides(arrays["shape"], name)
    check_columns_fit(shape[1], name)
    needed = NEEDED.get(form)
    if needed is None or any(part not in arrays for part in needed):
        allowed = "; ".join(f"{known} ({', '.join(parts)})" for known, parts in sorted(NEEDED.items()))
        message = f"{name} holds a sparse matrix of format {form!r} with {sorted(arrays)}; it must be {allowed}."
        raise InputError(message)
    parts = [arrays[part] for part in needed]
    if form in SIDES:
        return compressed(form, (parts[0], parts[1], parts[2]), shape, name)
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
    return checked_sparse(matrix, name)


NEEDED = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
    "bsr": ("data", "indices", "indptr"),
}


def _form(array: NDArray[Any]) -> str:
    value = array.item() if array.size == 1 else ""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
