"""Tables with names: frames given to estimators, labels of samples and vertices, fingerprints of data."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.checks.arrays import is_sparse, row_blocks
from sparseigen.checks.coercion import split_frame
from sparseigen.errors import DtypeError, NonFiniteError, OptionError, ShapeError

COLUMNS_NAMED = 5
"""How many columns with gaps an error names."""


def check_no_gaps(data: Any, names: Sequence[Any] | None, *, gaps: bool = False) -> None:
    """Refuse NaN and infinite values, naming the columns and showing what to do; with ``gaps`` NaN are allowed."""
    values = data.data if sp.issparse(data) else data
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    is_bad = np.isinf if gaps else (lambda part: ~np.isfinite(part))
    bad = is_bad(values)
    if not bad.any():  # the sum overflowed although every value is finite: the covariance will say so
        return
    if sp.issparse(data):
        columns, counts = np.unique(data.tocoo().col[is_bad(data.tocoo().data)], return_counts=True)
    else:
        per_column = bad.sum(axis=0)
        columns = np.flatnonzero(per_column)
        counts = per_column[columns]
    listed = ", ".join(_name_column(int(j), names) for j in columns[:COLUMNS_NAMED])
    more = f" and {len(columns) - COLUMNS_NAMED} more" if len(columns) > COLUMNS_NAMED else ""
    message = (
        f"X has {int(counts.sum())} NaN or infinite values in {len(columns)} of {data.shape[1]} columns: "
        f"{listed}{more}. "
        "Fill the gaps: SparsePCA(missing='mean') takes the mean of each column, and sklearn.impute has other ways."
    )
    raise NonFiniteError(message)


def squared_distances(data: Any, means: NDArray[np.float64], scales: NDArray[np.float64]) -> float:
    """The sum over all samples and variables of ((x - mean) / scale)^2, without densifying sparse data."""
    if not sp.issparse(data):
        centred = (np.asarray(data, dtype=np.float64) - means) / scales
        return float(np.vdot(centred, centred))
    by_column = data.tocsc()
    filled = np.diff(by_column.indptr)
    column = np.repeat(np.arange(data.shape[1]), filled)
    deviations = (by_column.data.astype(np.float64) - means[column]) / scales[column]
    zeros = (data.shape[0] - filled) * (means / scales) ** 2
    return float(deviations @ deviations + zeros.sum())


def _name_column(column: int, names: Sequence[Any] | None) -> str:
    return str(column) if names is None else repr(str(names[column]))


MOST_CATEGORIES = 20
"""Whole numbers with more different values than this are a scale, not names."""


def as_scores(scores: Any) -> NDArray[np.float64]:
    """A finite table, one row per sample; one column may be given as a plain sequence.

    Examples
    --------
    >>> as_scores([1.0, 2.0]).shape
    (2, 1)
    """
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"scores cannot be read as numbers ({error}); give an array of shape (n_samples, n_components)."
        raise DtypeError(message) from error
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or 0 in values.shape:
        message = f"scores has shape {values.shape}; it must be (n_samples, n_components), neither of them 0."
        raise ShapeError(message)
    if not np.isfinite(values).all():
        msg = "scores has NaN or infinite values; all must be finite."
        raise NonFiniteError(msg)
    return values


def find_sample_names(table: Any) -> tuple[str, ...] | None:
    """The names of a pandas table's rows; None where they are only counted.

    Examples
    --------
    >>> import pandas
    >>> find_sample_names(pandas.DataFrame({"a": [1, 2]}, index=["s1", "s2"]))
    ('s1', 's2')
    >>> find_sample_names([1.0, 2.0]) is None
    True
    """
    index = getattr(table, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return tuple(str(name) for name in index)


def as_labels(labels: Any, count: int) -> dict[str, Any]:
    """Names with codes, or numbers on a scale.

    Examples
    --------
    >>> as_labels(["tumor", "normal", "tumor"], 3)
    {'names': ['normal', 'tumor'], 'codes': [1, 0, 1]}
    >>> as_labels([0.5, 1.5], 2)
    {'numbers': [0.5, 1.5]}
    """
    values = list(labels)
    if len(values) != count:
        message = f"labels has {len(values)} entries for {count} samples; give one per sample."
        raise ShapeError(message)
    if _is_scale(values):
        return {"numbers": [float(v) if math.isfinite(v) else None for v in values]}
    words = ["missing" if v is None or v != v else str(v) for v in values]
    names = sorted(set(words), key=lambda word: (not word.isdecimal(), int(word) if word.isdecimal() else 0, word))
    codes = {name: code for code, name in enumerate(names)}
    return {"names": names, "codes": [codes[word] for word in words]}


def _is_scale(values: list[Any]) -> bool:
    if not all(isinstance(v, (int, float, np.integer, np.floating)) and not isinstance(v, bool) for v in values):
        return False
    whole = all(not math.isfinite(v) or float(v).is_integer() for v in values)
    return not whole or len(set(values)) > MOST_CATEGORIES


def as_positions(positions: Any) -> dict[Any, tuple[float, float]]:
    """Node to (latitude, longitude) in degrees, checked.

    Examples
    --------
    >>> as_positions({"Oslo": (59.9, 10.8)})
    {'Oslo': (59.9, 10.8)}
    """
    if not isinstance(positions, Mapping):
        message = f"positions is a {type(positions).__name__}; give a mapping from node to (latitude, longitude)."
        raise OptionError(message)
    checked = {}
    for node, position in positions.items():
        try:
            latitude, longitude = (float(part) for part in position)
        except (TypeError, ValueError) as error:
            message = f"positions[{node!r}] is {position!r}; it must be two numbers, latitude and longitude in degrees."
            raise OptionError(message) from error
        if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
            message = (
                f"positions[{node!r}] is {position!r}; latitude must be within -90..90 and longitude within -180..360 "
                "degrees. Were they swapped?"
            )
            raise OptionError(message)
        checked[node] = (latitude, longitude)
    return checked


def fingerprint(data: Any) -> dict[str, str]:
    """Shape, type and SHA-256 of a dense array, scipy sparse matrix or frame; large arrays are read in blocks of rows.

    The hash depends on the numbers and their type only, not on the memory layout.

    Examples
    --------
    >>> import numpy as np
    >>> fingerprint(np.eye(2))["sha256"] == fingerprint(np.asfortranarray(np.eye(2)))["sha256"]
    True
    """
    values, _ = split_frame(data)
    digest = hashlib.sha256()
    if is_sparse(values):
        matrix = values.tocsr(copy=True)
        matrix.sum_duplicates()
        shape, dtype = matrix.shape, matrix.dtype
        for part in (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data):
            digest.update(np.ascontiguousarray(part).data)
    else:
        array = np.asanyarray(values)
        if array.dtype.kind not in "fiub" or array.ndim != 2:
            message = f"data has dtype {array.dtype} and {array.ndim} dimensions; give a table or matrix of numbers."
            raise DtypeError(message)
        shape, dtype = array.shape, array.dtype
        for rows in row_blocks(*shape):
            digest.update(np.ascontiguousarray(array[rows]).data)
    digest.update(f"{shape} {dtype.str}".encode())
    return {"shape": f"{shape[0]:,} x {shape[1]:,}", "type": str(dtype), "sha256": digest.hexdigest()}
