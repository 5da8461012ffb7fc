"""Margins for rounding errors, the value that a vector certainly reaches, and when rounding is most of a gap.

Margins: how far a computed number can be from the true one.

``UNIT`` is the unit roundoff u of float64. A sum or dot product of n terms, in any order, with or without fused
multiply-add, is off by at most n u / (1 - n u) times the sum of the magnitudes; the factors below are larger.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import PrecisionWarning
from sparseigen.operators.contract import FORM_ENTRIES, Indices, Operator, SparseVector, find_exponent, scale_exponent
from sparseigen.operators.wrapped import scale_operator
from sparseigen.results import Certificate

Numbers = NDArray[np.float64]

UNIT = 2.0**-53
TINY = 2.0**-960
"""Covers underflow in matrices whose largest entry is about one."""

ZERO = 1e-9
"""Values below this count as zero when gaps are measured, in matrices whose largest entry is about one."""


def gamma(operations: int) -> float:
    """A safe relative error of a sum of that many terms."""
    return 1.02 * (operations + 4) * UNIT


def raised_sum(value: float, terms: int) -> float:
    """A computed sum of nonnegative terms, moved up past its rounding error."""
    return value * (1.0 + 2.0 * gamma(terms)) + TINY


def sum_of_largest(values: Numbers, count: int) -> float:
    """Sum of the ``count`` largest entries."""
    if count >= values.size:
        return float(values.sum())
    return float(np.partition(values, values.size - count)[values.size - count :].sum())


def achieved_value(operator: Operator, vector: SparseVector) -> float:
    """A number that x'Ax / x'x certainly reaches: the computed quotient moved down past every rounding error."""
    indices, weights = vector.indices, vector.weights
    form, error = operator.quadratic_form(indices, weights)
    largest = max(abs(form), error, float(operator.entry_errors()[indices].max()))
    if np.isfinite([form, error]).all() and scale_exponent(largest) == 0:
        return _lower(operator, vector, form, error, 0)
    power = -_support_exponent(operator, indices)
    shifted = scale_operator(operator, float(np.ldexp(1.0, power)))
    return _lower(operator, vector, *Operator.quadratic_form(shifted, indices, weights), -power)


def _support_exponent(operator: Operator, indices: Indices) -> int:
    """The exponent of the largest number of a block and of its errors, as far as 2 ** -exponent can be represented."""
    step = operator.costs.columns_at_once(FORM_ENTRIES)
    starts = range(0, len(indices), step)
    largest = max(float(np.abs(operator.accurate_columns(indices[i : i + step])[indices]).max()) for i in starts)
    exponent = find_exponent(max(largest, float(operator.entry_errors()[indices].max())))
    return min(max(exponent, -1000), 1000)


def _lower(operator: Operator, vector: SparseVector, form: float, error: float, exponent: int) -> float:
    """The quotient from the form (times 2 ** -exponent) and its error, less what the entries' own errors can do."""
    indices, weights, count = vector.indices, vector.weights, len(vector.indices)
    entries = np.ldexp(operator.entry_errors()[indices], -exponent)
    inherited = float(np.abs(weights) @ np.sqrt(entries)) ** 2
    low = form - error * (1.0 + 4.0 * UNIT) - inherited * (1.0 + 4.0 * gamma(count)) - TINY
    length = float(weights @ weights)
    slack = 2.0 * gamma(count)
    quotient = low / (length * (1.0 + slack)) if low >= 0.0 else low / (length * (1.0 - slack))
    value = float(np.ldexp(quotient - 4.0 * UNIT * abs(quotient), exponent))
    return float(np.nextafter(value, -np.inf))


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
    warnings.warn(message, PrecisionWarning, stacklevel=4)
