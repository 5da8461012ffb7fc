"""Means, variances and scales of data, their rounding errors, and what to say when digits are lost.

Data whose numbers say less than they seem to: said once, when the covariance is asked for.

The answer and its certificate are about the numbers as given, and stay valid. What is said here is that those numbers
have lost most of what varies to rounding, or that sums of them do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_flag
from sparseigen.checks.arrays import CheckedArray, label
from sparseigen.errors import ConstantColumnError, NonFiniteError, OptionError, RangeError, ZeroMatrixError
from sparseigen.operators.contract import Operator
from sparseigen.operators.matrix import DenseSymmetric

CONSTANTS_NAMED = 5
"""How many constant columns a note names."""
SMALLEST_SCALED = 2.0**-900
"""Variances below this have lost digits to underflow."""
SMALLEST_SINGLE, SMALLEST_LARGEST_SINGLE, LARGEST_SINGLE = 2.0**-100, 2.0**-50, 2.0**55
"""Standard deviations that float32 data may have: each, and the largest of them."""


def degrees_of_freedom(n_samples: int, ddof: int) -> int:
    """n - ddof, the divisor of the covariance."""
    if isinstance(ddof, bool) or not isinstance(ddof, (int, np.integer)) or ddof < 0:
        message = f"ddof={ddof!r} must be a whole number >= 0 (1 for the unbiased covariance, 0 for the mean)."
        raise OptionError(message)
    if n_samples - ddof < 1:
        message = f"ddof={ddof} leaves no degrees of freedom with {n_samples} samples; it must be below {n_samples}."
        raise OptionError(message)
    return n_samples - int(ddof)


def find_scales(
    variances: NDArray[np.float64], means: NDArray[np.float64], names: Sequence[str] | None
) -> NDArray[np.float64]:
    """Standard deviations to divide by, infinite for columns that have none: divided by it, such a column is zero.

    A column whose deviation is at rounding level of its mean counts as constant. `note_constant` tells the user.
    """
    deviations = np.sqrt(variances)
    tiny = np.flatnonzero((variances > 0.0) & (variances < SMALLEST_SCALED))
    if tiny.size:
        message = (
            f"{label(int(tiny[0]), names)} has a standard deviation of {deviations[tiny[0]]:.3g}: its squares "
            "underflow, so scale=True cannot divide by it. Multiply X by a constant first."
        )
        raise RangeError(message)
    constant = deviations <= 1e-14 * np.abs(means)
    if constant.all():
        message = f"all {len(constant)} columns are constant, and scale=True divides by the standard deviation."
        raise ConstantColumnError(message)
    return np.where(constant, np.inf, deviations)


PATTERSON = "patterson"
"""The name of the scale of genotypes."""


def check_scale(value: Any) -> bool | str:
    """True, False or "patterson"."""
    if not isinstance(value, str):
        return check_flag(value, "scale")
    if value != PATTERSON:
        message = f"scale={value!r} must be True, False or {PATTERSON!r}."
        raise OptionError(message, parameter="scale")
    return value


def choose_scales(
    scale: bool | str, variances: NDArray[np.float64], means: NDArray[np.float64], names: Sequence[str] | None
) -> NDArray[np.float64]:
    """What columns are divided by: nothing, their deviations, or for allele counts what their frequencies predict.

    N. Patterson, A. L. Price, D. Reich, "Population structure and eigenanalysis", PLoS Genetics 2 (2006), e190: with f
    half the mean, the deviation of two alleles drawn at random, sqrt(2 f (1 - f)). A variant of which all samples have
    the same allele is constant.
    """
    if scale is False:
        return np.ones(len(variances))
    if scale is True:
        return find_scales(variances, means, names)
    outside = np.flatnonzero((means < 0.0) | (means > 2.0))
    if outside.size:
        message = (
            f"scale='patterson' is for counts of alleles (0, 1, 2); {label(int(outside[0]), names)} has the mean "
            f"{means[outside[0]]:.3g}. Use scale=True for other data."
        )
        raise RangeError(message)
    predicted = np.sqrt(means * (1.0 - means / 2.0))
    constant = (variances == 0.0) | (predicted == 0.0)
    if constant.all():
        message = f"all {len(constant)} columns are constant, and scale='patterson' divides by the deviation."
        raise ConstantColumnError(message)
    return np.where(constant, np.inf, predicted)


def scaled_diagonal(
    scale: bool | str, variances: NDArray[np.float64], deviations: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The variances after division by these scales."""
    if scale is True:
        return scaled_variances(deviations)
    return variances if scale is False else np.asarray(variances / deviations**2)


def scaled_variances(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variances after division: exactly one, or rounding would decide which is the largest; of a constant, zero."""
    return np.isfinite(deviations).astype(np.float64)


def finite_scales(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """What new data are divided by: the deviations, one for columns that are left out (as scikit-learn has it)."""
    return np.where(np.isfinite(deviations), deviations, 1.0)


def note_constant(operator: Any) -> str | None:
    """One sentence about columns that scaling leaves out because they are constant; None where there are none."""
    deviations = getattr(operator, "deviations", None)
    constant = np.flatnonzero(np.isinf(np.zeros(0) if deviations is None else deviations))
    if not constant.size:
        return None
    several = "column is" if len(constant) == 1 else "columns are"
    listed = ", ".join(label(int(j), operator.names) for j in constant[:CONSTANTS_NAMED])
    more = f" and {len(constant) - CONSTANTS_NAMED} more" if len(constant) > CONSTANTS_NAMED else ""
    return f"{len(constant)} of {operator.size} {several} constant and left out, as there is no scale: {listed}{more}."


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
    scale: bool | str = False,
    uncentred: bool = False,
) -> NDArray[np.float64]:
    """`Operator.entry_errors` of a covariance whose dot products run in float64.

    Three terms: dot products of length n, means and deviations of relative error (2n + 20) roundings; centring and
    scaling rounded to the stored type, twice a factor; and means that are off by n roundings, which adds a rank-one
    matrix of the second order. With ``uncentred`` products of uncentred numbers are subtracted from each other, so
    the first term is relative to the uncentred squares.

    The deviation sqrt(m (1 - m/2)) that ``scale="patterson"`` predicts cancels where the mean m is near 2: n roundings
    of m are a = m / (2 - m) times as many of 1 - m/2, half of that of the root. So entry (i, j) is off by
    n u (a_i + a_j) / 2 times the root of both variances, for which n u times the largest a stands in both; twice that,
    as a is computed.
    """
    unit, storage = 2.0**-53, float(np.finfo(stored).eps) / 2.0
    per_sample = n_samples / divisor
    squares = diagonal + (4.0 * per_sample * (means / deviations) ** 2 if uncentred else 0.0)
    shift = n_samples * unit * (np.abs(means) / deviations + np.sqrt(diagonal))
    errors: NDArray[np.float64] = 2.0 * (2.0 * n_samples + 20.0) * unit * squares + 8.0 * storage * diagonal
    if scale == PATTERSON:
        finite = np.isfinite(deviations)
        lost = means[finite] / np.maximum(2.0 - means[finite], np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            errors[finite] += 2.0 * n_samples * unit * float(lost.max(initial=0.0)) * diagonal[finite]
    return errors + 2.0 * per_sample * shift**2 + n_samples * 2.0**-1060  # the last: underflow


COARSE = 2.0**-5
"""A column is coarse when neighbouring floats at its mean are further apart than this share of its deviation."""
LARGEST_SHARE = 1e-4
"""Rounding of sums that is this share of the largest variance costs certificates what users see."""


def advise_on_precision(operator: Any) -> str | None:
    """What to tell the caller about the covariance of these data, or None."""
    if not (hasattr(operator, "means") and hasattr(operator, "deviations")):
        return None
    return _describe_coarse_columns(operator) or _describe_rounding(operator)


def _describe_coarse_columns(operator: Any) -> str | None:
    """Where the type of the numbers has no digits left for what varies."""
    spread = _find_spread(operator)
    step = float(np.finfo(operator.dtype).eps) * np.abs(operator.means)
    coarse = np.flatnonzero((spread > 0.0) & (step > COARSE * spread))
    if not coarse.size:
        return None
    first = int(coarse[0])
    remedy = "pass float64, or subtract" if operator.dtype == np.float32 else "subtract"
    return (
        f"{coarse.size} of {operator.size} columns are so far from zero that {operator.dtype} keeps hardly a digit of "
        f"what varies; the first is {label(first, operator.names)} (mean {operator.means[first]:.3g}, standard "
        f"deviation {spread[first]:.3g}). The answer and its certificate are about the numbers as given. If they were "
        f"rounded on the way here, {remedy} a constant from each such column before it is rounded."
    )


def _find_spread(operator: Any) -> NDArray[np.float64]:
    """The standard deviations of the data as given; zero for columns that are left out."""
    kept = np.isfinite(operator.deviations)
    spread: NDArray[np.float64] = np.sqrt(operator.diagonal()) * np.where(kept, operator.deviations, 0.0)
    return spread


def _describe_rounding(operator: Any) -> str | None:
    """Where sums over the samples lose digits that the numbers have."""
    share = float(operator.entry_errors().max() / operator.diagonal().max())
    if not share > LARGEST_SHARE:
        return None
    spread = _find_spread(operator)
    worst = int(np.argmax(np.abs(operator.means) / np.where(spread > 0.0, spread, np.inf)))
    return (
        f"columns are far from zero, {label(worst, operator.names)} most (mean {operator.means[worst]:.3g}, standard "
        f"deviation {spread[worst]:.3g}): the rounding of sums of such numbers can reach {share:.2g} of the largest "
        "variance, and certificates allow for it. For a smaller gap subtract a constant from each column first, or "
        "pass sparse data as a dense array."
    )


def correlation_of(operator: Operator) -> tuple[Operator, NDArray[np.float64]]:
    """The matrix divided by the deviations on both sides, and the deviations.

    Formed, so for sizes up to LARGEST_MATERIALISED; larger data should come as ``covariance(X, scale=True)``.
    """
    deviations = find_scales(operator.diagonal(), np.zeros(operator.size), operator.names)
    matrix = operator.to_dense() / np.outer(deviations, deviations)
    psd = operator.positive_semidefinite
    return DenseSymmetric(CheckedArray(matrix, "dense", operator.names), positive_semidefinite=psd), deviations
