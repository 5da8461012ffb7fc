"""When a gap is not a matter of better bounds but of rounding: say so, with the remedy."""

from __future__ import annotations

import warnings

import numpy as np

from sparseigen.certificates.rounding import sum_of_largest
from sparseigen.errors import PrecisionWarning
from sparseigen.operators.contract import Operator
from sparseigen.results import Certificate

WIDE_GAP = 1e-3
"""Relative gaps up to this are not worth a word."""
DOMINATES = 0.5
"""Share of the gap that rounding must have."""


def warn_of_rounding(operator: Operator, cardinality: int, certificate: Certificate) -> None:
    """Warn where most of a visible gap is what the entries' own rounding errors cost at both ends."""
    if certificate.relative_gap <= WIDE_GAP or not np.isfinite(certificate.upper_bound):
        return
    width = certificate.upper_bound - certificate.lower_bound
    margin = 2.0 * sum_of_largest(operator.entry_errors(), cardinality)
    if not margin >= DOMINATES * width > 0.0:
        return
    remedy = (
        "Pass the data as float64 (from before they were rounded, where that is possible)."
        if operator.dtype == np.float32
        else "Subtract a constant from columns that are far from zero, and scale columns of very different size; an "
        "eigenvalue this small against the variances may be beyond float64."
    )
    message = (
        f"the gap of {certificate.relative_gap:.2%} is rounding: certificates must allow for {margin:.3g} at both ends "
        f"together, and the value is {max(abs(certificate.lower_bound), abs(certificate.upper_bound)):.3g}. No bound "
        f"can close it. {remedy}"
    )
    warnings.warn(message, PrecisionWarning, stacklevel=3)
