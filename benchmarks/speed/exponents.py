"""Growth exponents: the slope of log seconds against log size, with a confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Exponent:
    """seconds ~ size ** slope; ``low`` and ``high`` hold it with the stated confidence if the errors are normal."""

    slope: float
    low: float
    high: float
    factor: float
    """Seconds at size 1 of the fitted line."""

    def __str__(self) -> str:
        return f"{self.slope:.2f} [{self.low:.2f}, {self.high:.2f}]"


def fit_exponent(sizes: Sequence[float], seconds: Sequence[float], *, confidence: float = 0.95) -> Exponent:
    """Least squares on logarithms, Student's interval; needs three different sizes."""
    if len(sizes) != len(seconds):
        raise ValueError(f"{len(sizes)} sizes and {len(seconds)} times: there must be one time a size.")
    if len(set(sizes)) < 3:
        raise ValueError(f"{len(set(sizes))} different sizes; an exponent with an interval needs at least 3.")
    if min(sizes) <= 0 or min(seconds) <= 0:
        raise ValueError("sizes and times must be positive; logarithms are taken.")
    found = stats.linregress(np.log(sizes), np.log(seconds))
    spread = float(np.nan_to_num(found.stderr))  # all times equal: scipy divides nothing by nothing
    width = float(stats.t.ppf(0.5 + confidence / 2.0, len(sizes) - 2)) * spread
    slope = float(found.slope)
    return Exponent(slope, slope - width, slope + width, float(np.exp(found.intercept)))
