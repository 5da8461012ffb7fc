"""Objects that stand for arrays: sequences, frames with names, tensors of other libraries."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.annotated import choose_table
from sparseigen.config import require
from sparseigen.errors import (
    DtypeError,
    DuplicateNamesError,
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


def is_annotated(value: Any) -> bool:
    """Whether this is an AnnData object; the package is not imported to ask."""
    return type(value).__module__.split(".")[0] == "anndata" and hasattr(value, "var_names")


def plain_array(values: Any, subject: str) -> NDArray[Any]:
    """The array of some values; refused where NumPy would drop a mask, or finds rows of different lengths.

    Examples
    --------
    >>> plain_array([[1, 2], [3, 4]], "the matrix").shape
    (2, 2)
    >>> plain_array([[1, 2], [3]], "the matrix")
    Traceback (most recent call last):
    sparseigen.errors.ShapeError: the matrix has rows of different lengths; all must have the same number of entries.
    """
    _check_mask(values, subject)
    try:
        return np.asarray(values)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        message = f"{subject} has rows of different lengths; all must have the same number of entries."
        raise ShapeError(message) from None


def _check_mask(values: Any, subject: str) -> None:
    """Refuse masked entries: behind a mask are numbers that nobody meant."""
    masked = sys.modules.get("numpy.ma")  # nobody can hold a masked array without it
    if masked is None or not isinstance(values, masked.MaskedArray):
        return
    count = int(masked.getmaskarray(values).sum(dtype=np.int64)) if values.dtype.names is None else 0
    if count:
        message = (
            f"{subject} has {count} masked {'entry' if count == 1 else 'entries'}; all must be there. Drop those rows, "
            "or fill the gaps first (values.filled(...))."
        )
        raise NonFiniteError(message)


def real_numbers(values: Any, subject: str) -> NDArray[np.float64]:
    """Some real numbers as float64."""
    array = plain_array(values, subject)
    if array.dtype.kind not in "fiub":
        message = f"{subject} has dtype {array.dtype}; it must hold real numbers (float or int)."
        raise DtypeError(message)
    return array.astype(np.float64)


def component_vectors(vectors: Any, size: int) -> NDArray[np.float64]:
    """The caller's components, one per column."""
    rows = np.atleast_2d(real_numbers(vectors, "vectors"))
    if rows.ndim != 2 or rows.shape[1] != size:
        message = f"vectors has shape {rows.shape}; it must be (n_components, {size}), one component per row."
        raise ShapeError(message)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        message = f"vectors has NaN or infinite entries, the first in component {bad[0]}; all must be finite."
        raise NonFiniteError(message)
    if float(np.abs(rows).max(initial=0.0)) > LARGEST_LOADING:
        message = f"vectors holds entries beyond {LARGEST_LOADING:g}; scale the components to unit length first."
        raise RangeError(message)
    return rows.T.copy()


def check_integers(array: NDArray[Any], subject: str) -> None:
    """Refuse integers that have no exact float64 value."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or array.size == 0:
        return
    largest = max(abs(int(array.max())), abs(int(array.min())))
    if largest > LARGEST_EXACT_INTEGER:
        raise IntegerOverflowError(say_beyond_exact(subject, largest))


def say_beyond_exact(subject: str, number: object) -> str:
    """The sentence for an integer beyond 2**53."""
    return (
        f"{subject} holds the integer {number}, beyond 2**53: it has no exact float64 value. "
        "Divide by a common factor, or convert to float yourself."
    )


def float_dtype(dtype: np.dtype[Any], subject: str) -> np.dtype[Any]:
    """The precision such numbers are kept in: float32 for float32 and half precision, else float64."""
    if dtype.kind not in "fiub":
        message = f"{subject} holds {dtype}; it must hold real numbers. Convert it first."
        raise DtypeError(message)
    return np.dtype(np.float32) if dtype.kind == "f" and dtype.itemsize <= 4 else np.dtype(np.float64)


def convert_numbers(array: NDArray[Any], wanted: np.dtype[Any], subject: str) -> NDArray[Any]:
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
            f"{subject} holds {array[lost][0]!s} in {array.dtype}, which has no exact float64 value, and certificates "
            "are about the exact numbers. Pass values.astype(numpy.float64) if rounded ones are what you mean."
        )
        raise RangeError(message)
    return converted


def check_meaning(values: Any, subject: str) -> None:
    """Refuse what scikit-learn's own check of arrays would turn into other numbers without a word."""
    _check_mask(values, subject)
    if _package_of(values) in ("pandas", "polars") and hasattr(values, "columns"):
        for name in values.columns:
            kind = getattr(getattr(values[name], "dtype", None), "kind", "O")
            if kind in "mMV":
                message = f"column {name!r} of {subject} holds dates or times; drop or encode it first."
                raise DtypeError(message)
            if kind in "iu" and isinstance(values[name].dtype, np.dtype):
                check_integers(values[name].to_numpy(), f"column {name!r} of {subject}")
        _check_no_text(values, subject)
        return
    dtype = getattr(values, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return
    if dtype.kind in "mMVUS":
        message = f"{subject} has dtype {dtype}; it must hold real numbers. Convert it first, for example with float()."
        raise DtypeError(message)
    numbers = values if isinstance(values, np.ndarray) else getattr(values, "data", None)
    if isinstance(numbers, np.ndarray) and numbers.dtype.kind in "iu":
        check_integers(numbers, subject)
    elif isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f" and numbers.dtype.itemsize > 8:
        convert_numbers(numbers, np.dtype(np.float64), subject)


def _check_no_text(frame: Any, subject: str) -> None:
    """Refuse columns of a frame that hold text, naming the first of them and what is in it."""
    bad = []
    for name in frame.columns:
        column = frame[name]
        if getattr(column.dtype, "kind", "O") in "fiub" or (
            hasattr(column.dtype, "is_numeric") and _is_number(column.dtype)
        ):
            continue
        try:
            np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            bad.append((name, next((cell for cell in column if isinstance(cell, str)), "")))
    if bad:
        name, cell = bad[0]
        shown = str(cell) if len(str(cell)) <= 40 else f"{str(cell)[:37]}..."
        more = f" ({len(bad)} of {frame.shape[1]} columns do)" if len(bad) > 1 else ""
        message = f"column {name!r} of {subject} holds text, such as {shown!r}{more}; drop or encode it first."
        raise DtypeError(message)


def _package_of(value: Any) -> str:
    return type(value).__module__.split(".")[0]


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


def split_frame(value: Any) -> tuple[Any, tuple[str, ...] | None]:
    """The numbers and the column names of a frame or a table from a file; other objects pass without names."""
    if is_annotated(value):
        value = choose_table(value)
    if _package_of(value) == "sparseigen" and hasattr(value, "row_labels"):
        return value.values, value.names
    if _package_of(value) == "pyarrow" and hasattr(value, "to_pandas"):
        value = value.to_pandas()
    module = _package_of(value)
    if type(value).__name__ == "LazyFrame" and module == "polars":
        message = "the data are a polars LazyFrame, which holds no numbers yet; pass frame.collect()."
        raise DtypeError(message)
    if module not in ("pandas", "polars") or not hasattr(value, "columns"):
        return value, None
    names = tuple(str(name) for name in value.columns)
    check_names("the frame", names)
    if module == "pandas":
        kinds: dict[str, Any] = {str(name): dtype for name, dtype in zip(value.columns, value.dtypes, strict=True)}
        bad = [name for name, dtype in kinds.items() if getattr(dtype, "kind", "O") not in "fiub"]
    else:
        kinds = dict(value.schema)
        bad = [str(name) for name, dtype in kinds.items() if not _is_number(dtype)]
    if bad:
        message = f"{len(bad)} columns are not numeric, the first is {bad[0]!r}; drop or encode them first."
        raise DtypeError(message)
    _check_mixed_columns(value, kinds)
    if module == "polars":
        return value.to_numpy(), names
    return _pandas_values(value), names


def check_names(subject: str, names: Sequence[str] | None) -> None:
    """Refuse variables of the same name."""
    if names is None or len(set(names)) == len(names):
        return
    repeated = [name for name, count in Counter(names).items() if count > 1]
    message = f"{subject} has {len(repeated)} repeated column names, the first is {repeated[0]!r}; rename the columns."
    raise DuplicateNamesError(message)


def _check_mixed_columns(frame: Any, kinds: Mapping[str, Any]) -> None:
    """Whole numbers beside others become floating point on their way into one array: refuse those that would change."""
    if len(set(kinds.values())) == 1 and isinstance(next(iter(kinds.values())), np.dtype):
        return  # one type of NumPy's: the array is looked at as a whole
    for place, (name, dtype) in enumerate(kinds.items()):
        if str(dtype).lower() in ("int64", "uint64"):
            column = frame[frame.columns[place]]
            column = column.drop_nulls() if hasattr(column, "drop_nulls") else column.dropna()
            check_integers(np.asarray(column.to_numpy()), f"column {name!r}")


def _is_number(dtype: Any) -> bool:
    """Whether NumPy has numbers for a type of polars; it has none of 128 bits."""
    return str(dtype) == "Boolean" or (dtype.is_numeric() and not str(dtype).endswith("128"))


def _pandas_values(frame: Any) -> Any:
    if all(hasattr(dtype, "fill_value") and hasattr(dtype, "subtype") for dtype in frame.dtypes) and len(frame.dtypes):
        return frame.sparse.to_coo()
    if any(not isinstance(dtype, np.dtype) for dtype in frame.dtypes):  # nullable columns: a gap becomes NaN
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return frame.to_numpy()


TENSOR_MODULES = ("torch", "cupy")


def is_tensor(value: Any) -> bool:
    """Whether this is a torch tensor or a cupy array, asked without importing either."""
    return _package_of(value) in TENSOR_MODULES and hasattr(value, "__dlpack__")


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
