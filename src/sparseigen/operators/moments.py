"""Means, scales and the checks that every covariance operator shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import ConstantColumnError, NonFiniteError, OptionError, RangeError, ZeroMatrixError
from sparseigen.inputs.arrays import label

SMALLEST_SCALED = 2.0**-900
"""Variances below this have lost digits to underflow."""
SMALLEST_SINGLE, SMALLEST_LARGEST_SINGLE, LARGEST_SINGLE = 2.0**-100, 2.0**-50, 2.0**55
"""Standard deviations that float32 data may have: each, and the largest of them."""


def degrees_of_freedom(n_samples: int, ddof: int) -> int:
    """N - ddof, the divisor of the covariance."""
    if isinstance(ddof, bool) or not isinstance(ddof, (int, np.integer)) or ddof < 0:
        message = f"ddof={ddof!r} must be a whole number >= 0 (1 for the unbiased covariance, 0 for the mean)."
        raise OptionError(message)
    if n_samples - ddof < 1:
        message = f"ddof={ddof} leaves no degrees of freedom with {n_samples} samples; it must be below {n_samples}."
        raise OptionError(message)
    return n_samples - int(ddof)


def scales(
    variances: NDArray[np.float64], means: NDArray[np.float64], names: Sequence[str] | None
) -> NDArray[np.float64]:
    """Standard deviations, refusing columns that have none.

    A column whose deviation is at rounding level of its mean counts as constant.
    """
    deviations = np.sqrt(variances)
    tiny = np.flatnonzero((variances > 0.0) & (variances < SMALLEST_SCALED))
    if tiny.size:
        message = (
            f"{label(int(tiny[0]), names)} has a standard deviation of {deviations[tiny[0]]:.3g}: its squares "
            "underflow, so scale=True cannot divide by it. Multiply X by a constant first."
        )
        raise RangeError(message)
    constant = np.flatnonzero(deviations <= 1e-14 * np.abs(means))
    if constant.size:
        message = (
            f"{constant.size} {'column is' if constant.size == 1 else 'columns are'} constant, the first is "
            f"{label(int(constant[0]), names)}; scale=True divides by the standard deviation. "
            "Drop those columns (for example with sklearn.feature_selection.VarianceThreshold) or use scale=False."
        )
        raise ConstantColumnError(message)
    return deviations


def check_variances(variances: NDArray[np.float64], dtype: np.dtype[np.floating]) -> NDArray[np.float64]:
    """The variances, if they are finite, not all zero, and such that products stay within the range of ``dtype``."""
    if not np.isfinite(variances).all():
        msg = "the data hold values so large that their squares overflow; divide X by a constant first."
        raise NonFiniteError(msg)
    if not variances.any():
        msg = (
            "all columns are constant (or vary so little that squares underflow): the covariance is zero, so there is "
            "nothing to find."
        )
        raise ZeroMatrixError(msg)
    if dtype == np.float32:
        _check_single(variances)
    return variances


def _check_single(variances: NDArray[np.float64]) -> None:
    """Refuse float32 data whose products would overflow, or whose deviations are rounded like denormal numbers."""
    least, most = (float(np.sqrt(end)) for end in (variances[variances > 0.0].min(), variances.max()))
    if least < SMALLEST_SINGLE or not SMALLEST_LARGEST_SINGLE <= most <= LARGEST_SINGLE:
        message = (
            f"X is float32 and its standard deviations go from {least:.3g} to {most:.3g}; products of such numbers "
            "leave the range of float32. Multiply X by a constant, or pass it as float64."
        )
        raise RangeError(message)


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
