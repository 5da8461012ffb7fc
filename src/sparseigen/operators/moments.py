"""Means, scales and the checks that every covariance operator shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import ConstantColumnError, NonFiniteError, OptionError, ZeroMatrixError
from sparseigen.inputs.arrays import label, row_blocks

ONE_CALL = 1 << 24
"""Entries whose sum is asked for in one call: Ctrl-C waits for it."""


def degrees_of_freedom(n_samples: int, ddof: int) -> int:
    """N - ddof, the divisor of the covariance."""
    if isinstance(ddof, bool) or not isinstance(ddof, (int, np.integer)) or ddof < 0:
        message = f"ddof={ddof!r} must be a whole number >= 0 (1 for the unbiased covariance, 0 for the mean)."
        raise OptionError(message)
    if n_samples - ddof < 1:
        message = f"ddof={ddof} leaves no degrees of freedom with {n_samples} samples; it must be below {n_samples}."
        raise OptionError(message)
    return n_samples - int(ddof)


def column_means(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """The mean of every column, added up in float64."""
    if values.size <= ONE_CALL:
        return np.asarray(values.mean(axis=0, dtype=np.float64))
    if values.flags.f_contiguous:
        columns = row_blocks(*values.shape[::-1])
        return np.concatenate([values[:, part].mean(axis=0, dtype=np.float64) for part in columns])
    sums = np.zeros(values.shape[1])
    for rows in row_blocks(*values.shape):
        sums += values[rows].sum(axis=0, dtype=np.float64)
    return sums / len(values)


def scales(
    variances: NDArray[np.float64], means: NDArray[np.float64], names: Sequence[str] | None
) -> NDArray[np.float64]:
    """Standard deviations, refusing columns that have none.

    A column whose deviation is at rounding level of its mean counts as constant.
    """
    deviations = np.sqrt(variances)
    constant = np.flatnonzero(deviations <= 1e-14 * np.abs(means))
    if constant.size:
        message = (
            f"{constant.size} {'column is' if constant.size == 1 else 'columns are'} constant, the first is "
            f"{label(int(constant[0]), names)}; scale=True divides by the standard deviation. "
            "Drop those columns (for example with sklearn.feature_selection.VarianceThreshold) or use scale=False."
        )
        raise ConstantColumnError(message)
    return deviations


def check_variances(variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variances, if they are finite and not all zero."""
    if not np.isfinite(variances).all():
        msg = "the data hold values so large that their squares overflow; divide X by a constant first."
        raise NonFiniteError(msg)
    if not variances.any():
        msg = "all columns are constant: the covariance is zero, so there is nothing to find."
        raise ZeroMatrixError(msg)
    return variances


def gram_errors(
    diagonal: NDArray[np.float64],
    means: NDArray[np.float64],
    deviations: NDArray[np.float64],
    n_samples: int,
    divisor: int,
    stored: np.dtype[np.floating],
    *,
    uncentred: bool = False,
) -> NDArray[np.float64]:
    """`Operator.entry_errors` of a covariance whose dot products run in float64.

    Three terms: dot products of length n, means and deviations of relative error (2n + 20) roundings; centring and
    scaling rounded to the stored type, twice a factor; and means that are off by n roundings, which adds a rank-one
    matrix of the second order. With ``uncentred`` products of uncentred numbers are subtracted from each other, so
    the first term is relative to the uncentred squares.
    """
    unit, storage = 2.0**-53, float(np.finfo(stored).eps) / 2.0
    per_sample = n_samples / divisor
    squares = diagonal + (4.0 * per_sample * (means / deviations) ** 2 if uncentred else 0.0)
    shift = n_samples * unit * (np.abs(means) / deviations + np.sqrt(diagonal))
    errors: NDArray[np.float64] = 2.0 * (2.0 * n_samples + 20.0) * unit * squares + 8.0 * storage * diagonal
    return errors + 2.0 * per_sample * shift**2 + n_samples * 2.0**-1060  # the last: underflow
