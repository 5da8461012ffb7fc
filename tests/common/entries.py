"""What operators say of their own rounding, against exact entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen.operators import Operator


def everything(size: int) -> Any:
    """All indices."""
    return np.arange(size, dtype=np.int64)


def within(operator: Operator, exact: Any) -> bool:
    """Whether every computed entry is as close to the exact one as the operator says."""
    errors = operator.entry_errors()
    computed = operator.accurate_columns(everything(operator.size))
    return bool((np.abs(computed - exact) <= np.sqrt(np.outer(errors, errors))).all())
