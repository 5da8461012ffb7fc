"""Data of the estimators: gaps, distances and correlations, for dense and sparse tables alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.errors import NonFiniteError

COLUMNS_NAMED = 5
"""How many columns with gaps an error names."""


def check_no_gaps(data: Any, names: Sequence[Any] | None) -> None:
    """Refuse NaN and infinite values, naming the columns and showing what to do about them."""
    values = data.data if sp.issparse(data) else data
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(values)
    if not bad.any():  # the sum overflowed although every value is finite: the covariance will say so
        return
    if sp.issparse(data):
        columns, counts = np.unique(data.tocoo().col[~np.isfinite(data.tocoo().data)], return_counts=True)
    else:
        per_column = bad.sum(axis=0)
        columns = np.flatnonzero(per_column)
        counts = per_column[columns]
    listed = ", ".join(_labelled(int(j), names) for j in columns[:COLUMNS_NAMED])
    more = f" and {len(columns) - COLUMNS_NAMED} more" if len(columns) > COLUMNS_NAMED else ""
    message = (
        f"X has {int(counts.sum())} NaN or infinite values in {len(columns)} of {data.shape[1]} columns: "
        f"{listed}{more}. "
        "Fill the gaps first, for example with "
        "make_pipeline(SimpleImputer(strategy='mean'), SparsePCA(...)) from sklearn.pipeline and sklearn.impute."
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


def _labelled(column: int, names: Sequence[Any] | None) -> str:
    return str(column) if names is None else repr(str(names[column]))
