"""Proven bounds: how far an answer can be from the optimum.

A new bound is one function ``(operator, cardinality) -> float`` in a file here and one row in UPPER_BOUNDS. What it
returns must hold in floating point: computed upward, with a margin that covers every rounding error.
"""

from __future__ import annotations

from collections.abc import Callable

from sparseigen.certificates.elementary import row_bound, trace_bound
from sparseigen.operators.contract import Operator
from sparseigen.results import Certificate

UPPER_BOUNDS: dict[str, Callable[[Operator, int], float]] = {
    "trace": trace_bound,
    "rows": row_bound,
}


def certify(operator: Operator, cardinality: int, value: float) -> Certificate:
    """The bracket [value, smallest of the upper bounds] for the largest sparse eigenvalue."""
    bounds = {name: bound(operator, cardinality) for name, bound in UPPER_BOUNDS.items()}
    method = min(bounds, key=lambda name: bounds[name])
    return Certificate(value, max(value, bounds[method]), method)
