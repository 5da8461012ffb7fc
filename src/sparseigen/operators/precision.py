"""Data whose numbers say less than they seem to: said once, when the covariance is asked for.

The answer and its certificate are about the numbers as given, and stay valid. What is said here is that those numbers
have lost most of what varies to rounding, or that sums of them do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen.inputs.arrays import label

COARSE = 2.0**-5
"""A column is coarse when neighbouring floats at its mean are further apart than this share of its deviation."""
LARGEST_SHARE = 1e-4
"""Rounding of sums that is this share of the largest variance costs certificates what users see."""


def precision_advice(operator: Any) -> str | None:
    """What to tell the caller about the covariance of these data, or None."""
    if not (hasattr(operator, "means") and hasattr(operator, "deviations")):
        return None
    return _coarse_columns(operator) or _rounded_sums(operator)


def _coarse_columns(operator: Any) -> str | None:
    """Where the type of the numbers has no digits left for what varies."""
    spread = np.sqrt(operator.diagonal()) * operator.deviations
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


def _rounded_sums(operator: Any) -> str | None:
    """Where sums over the samples lose digits that the numbers have."""
    share = float(operator.entry_errors().max() / operator.diagonal().max())
    if not share > LARGEST_SHARE:
        return None
    spread = np.sqrt(operator.diagonal()) * operator.deviations
    worst = int(np.argmax(np.abs(operator.means) / np.where(spread > 0.0, spread, np.inf)))
    return (
        f"columns are far from zero, {label(worst, operator.names)} most (mean {operator.means[worst]:.3g}, standard "
        f"deviation {spread[worst]:.3g}): the rounding of sums of such numbers can reach {share:.2g} of the largest "
        "variance, and certificates allow for it. For a smaller gap subtract a constant from each column first, or "
        "pass sparse data as a dense array."
    )
