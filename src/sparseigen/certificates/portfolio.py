"""The table of bounds, and the bracket they give together.

A new bound is one function ``(problem) -> float`` in a file of its own and one row in UPPER_BOUNDS. What it returns
must hold in floating point: computed upward, with a margin that covers every rounding error. Infinity says that the
bound does not apply to this matrix or cannot beat the best one so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparseigen.certificates.elimination import reduced_bound
from sparseigen.certificates.penalised_dual import closed_form_bound, converged_penalised_bound, penalised_bound
from sparseigen.certificates.problem import BoundProblem, Proven
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.scaled_rows import row_bound, scaled_row_bound, trace_bound
from sparseigen.certificates.small_proof import small_bound
from sparseigen.certificates.spectral import spectral_bound
from sparseigen.certificates.splitting import splitting_bound
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import Certificate


class BoundSpec(NamedTuple):
    """A bound and the efforts that use it."""

    bound: Callable[[BoundProblem], float]
    efforts: tuple[str, ...]
    elsewhere: bool = False
    """Whether the bound is for data alone that do not come to this memory."""


EFFORTS = ("cheap", "default", "tight")
TIGHT_SECONDS = 10.0
"""What `tight` may take beyond `default`."""

UPPER_BOUNDS: dict[str, BoundSpec] = {
    "rows": BoundSpec(row_bound, ("cheap",)),
    "closed-form dual": BoundSpec(closed_form_bound, ("default", "tight"), elsewhere=True),
    "scaled rows": BoundSpec(scaled_row_bound, ("default", "tight")),
    "trace": BoundSpec(trace_bound, EFFORTS),
    "block search": BoundSpec(small_bound, ("default", "tight")),
    "reduced": BoundSpec(reduced_bound, ("tight",)),
    "penalised dual": BoundSpec(penalised_bound, ("default",)),
    "converged penalised dual": BoundSpec(converged_penalised_bound, ("tight",)),
    "largest eigenvalue": BoundSpec(spectral_bound, EFFORTS),
    "splitting": BoundSpec(splitting_bound, ("tight",)),
}
"""Tried in this order; the smallest wins, and none is tried once the gap is closed."""


def certify(
    operator: Operator,
    cardinality: int,
    vector: SparseVector,
    *,
    effort: str = "default",
    seconds: float = TIGHT_SECONDS,
    proven: Proven | None = None,
) -> Certificate:
    """The bracket for the largest k-sparse eigenvalue: what the vector reaches, and the smallest upper bound.

    ``proven``: an upper bound that the solver itself proved, with its name; no other is then computed.
    """
    lower = achieved_value(operator, vector)
    if proven is not None:
        return Certificate(lower, max(lower, proven.upper_bound), proven.method, scale=proven.scale)
    problem = BoundProblem(operator, cardinality, vector, achieved=lower)
    if effort == "tight":
        problem.deadline = time.perf_counter() + seconds
    upper, method = smallest_bound(problem, effort)
    return Certificate(lower, max(lower, upper), method, scale=problem.scale)


def smallest_bound(problem: BoundProblem, effort: str) -> tuple[float, str]:
    """The smallest of the effort's bounds for the caller's matrix, and its name."""
    method = "none"
    for name, spec in UPPER_BOUNDS.items():
        if effort not in spec.efforts or (spec.elsewhere and not problem.operator.costs.transfers):
            continue
        value = spec.bound(problem)
        if value < problem.best:
            problem.best, method = value, name
        if problem.closed:
            break
    upper = problem.unscale_bound(problem.best) if np.isfinite(problem.best) else np.inf
    return upper, f"{method} ({problem.left_out})" if problem.left_out and not problem.closed else method
