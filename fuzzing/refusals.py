"""Inputs that sparseigen says it refuses: anything else that is refused is a violation."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen import errors


def may_refuse(error: Exception, method: str, truth: Any, values: np.ndarray) -> bool:
    """Whether the documentation has this refusal for such numbers."""
    largest = float(np.abs(values.astype(np.float64)).max(initial=0.0))
    if isinstance(error, errors.ZeroMatrixError):
        spread = np.ptp(values.astype(np.longdouble), axis=0).max() if values.shape[0] > 1 else largest
        # What a deflation left may be rounding.
        rest = truth is not None and truth.largest <= 1e-12 * largest * max(1.0, min(largest, 1e150))
        # Below float32's normal numbers a spread has no digits.
        return largest == 0.0 or rest or spread < (1e-37 if values.dtype == np.float32 else 1e-150)
    if isinstance(error, errors.RangeError):
        away = values.astype(np.longdouble).std(axis=0)
        single = values.dtype == np.float32 and not (
            away[away > 0.0].min(initial=np.inf) > 1e-30 and 1e-15 < away.max() < 1e16
        )
        return bool(single or away.min() < 1e-130 or "deflation squares" in str(error))
    if isinstance(error, errors.ConstantColumnError):
        wide = values.astype(np.longdouble)
        away = wide.std(axis=0)
        return bool((away <= 1e-13 * np.abs(wide.mean(axis=0)) + 1e-150).any())
    if isinstance(error, errors.NonFiniteError):
        return largest > 1e150
    if isinstance(error, errors.UnsupportedOperatorError):
        return largest > 1e150 or method == "other_methods"
    if isinstance(error, errors.StartError):  # only where that start was asked for
        return method == "solved" and "zero columns" in str(error)
    if isinstance(error, errors.InputError) and method == "other_methods":  # most are for covariances only
        return "indefinite" in str(error) or "leaves nothing of component 1" in str(error)
    return False
