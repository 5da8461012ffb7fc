"""Whatever NumPy takes, as an array that means what the caller's object meant."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import DtypeError, IntegerOverflowError, NonFiniteError, RangeError, ShapeError

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
    if array.dtype.itemsize < 8 or array.size == 0:
        return
    largest = max(abs(int(array.max())), abs(int(array.min())))
    if largest > LARGEST_EXACT_INTEGER:
        message = (
            f"{what} holds the integer {largest}, beyond 2**53: it has no exact float64 value. "
            "Divide the data by a common factor or convert them to float yourself."
        )
        raise IntegerOverflowError(message)


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
