"""The table of bounds, and the bracket they give together.

A new bound is one function ``(problem) -> float`` in a file of its own and one row in UPPER_BOUNDS. What it returns
must hold in floating point: computed upward, with a margin that covers every rounding error. Infinity says that the
bound does not apply to this matrix or cannot beat the best one so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sparseigen.certificates.elimination import reduced_bound
from sparseigen.certificates.penalised_dual import (
    closed_form_bound,
    converged_penalised_bound,
    largest_eigenvalue,
    penalised_bound,
)
from sparseigen.certificates.problem import BoundProblem, Proven
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.scaled_rows import row_bound, scaled_row_bound, trace_bound
from sparseigen.certificates.small_proof import small_bound
from sparseigen.certificates.split_rows import converged_split_row_bound, split_row_bound
from sparseigen.certificates.splitting import splitting_bound
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import Certificate

Say = Callable[[str], None]


class BoundSpec(NamedTuple):
    """A bound and the efforts that use it."""

    bound: Callable[[BoundProblem], float]
    efforts: tuple[str, ...]
    elsewhere: bool = False
    """Whether another bound includes it, except for data that do not come to this memory."""


EFFORTS = ("cheap", "default", "tight")
QUICK = "quick"
"""The bounds that a solve tries first: those that cost no more than the answer, as far as the matrix offers any."""
TIGHT_SECONDS = 10.0
"""What `tight` may take beyond `default`."""

UPPER_BOUNDS: dict[str, BoundSpec] = {
    "rows": BoundSpec(row_bound, ("cheap",)),
    "closed-form dual": BoundSpec(closed_form_bound, (QUICK, "default", "tight"), elsewhere=True),
    "scaled rows": BoundSpec(scaled_row_bound, (QUICK, "default", "tight")),
    "trace": BoundSpec(trace_bound, (QUICK, *EFFORTS)),
    "block search": BoundSpec(small_bound, ("default", "tight")),
    "reduced": BoundSpec(reduced_bound, ("tight",)),
    "penalised dual": BoundSpec(penalised_bound, ("default",)),
    "converged penalised dual": BoundSpec(converged_penalised_bound, ("tight",)),
    "largest eigenvalue": BoundSpec(largest_eigenvalue, EFFORTS),
    "split rows": BoundSpec(split_row_bound, ("default",)),
    "converged split rows": BoundSpec(converged_split_row_bound, ("tight",)),
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
    deadline: float = np.inf,
    target_gap: float | None = None,
    proven: Proven | None = None,
    say: Say | None = None,
) -> Certificate:
    """The bracket for the largest k-sparse eigenvalue: what the vector reaches, and the smallest upper bound.

    ``deadline``: when to stop, by ``time.perf_counter``. ``target_gap``: how narrow the bracket is to be. ``proven``:
    an upper bound that the solver itself proved, with its name; no other is then computed. ``say`` hears which bound
    begins, of how many.
    """
    lower = achieved_value(operator, vector)
    if proven is not None:
        return Certificate(lower, max(lower, proven.upper_bound), proven.method, scale=proven.scale)
    problem = BoundProblem(operator, cardinality, vector, achieved=lower, deadline=deadline)
    if effort == "tight":
        problem.deadline = min(deadline, time.perf_counter() + seconds)
    if target_gap is not None:
        problem.target_gap = max(target_gap, 0.0)
    upper, method = smallest_bound(problem, effort, say)
    return Certificate(lower, max(lower, upper), method, scale=problem.scale)


def smallest_bound(problem: BoundProblem, effort: str, say: Say | None = None) -> tuple[float, str]:
    """The smallest of the effort's bounds for the caller's matrix, and its name."""
    method = try_bounds(problem, list_bounds(problem.operator, effort), say) or "none"
    upper = problem.unscale_bound(problem.best) if np.isfinite(problem.best) else np.inf
    return upper, f"{method} ({problem.left_out})" if problem.left_out and not problem.closed else method


def list_bounds(operator: Operator, effort: str) -> list[str]:
    """The names of the bounds that an effort tries on such a matrix, in their order."""
    names = [name for name, spec in UPPER_BOUNDS.items() if effort in spec.efforts]
    if effort == QUICK and operator.factor_rank > 0:  # rows of a product of data cost more than its dual
        return sorted((name for name in names if name != "scaled rows"), key=lambda name: name != "trace")
    if effort == QUICK:
        return sorted(names, key=lambda name: name == "closed-form dual")
    return [name for name in names if operator.costs.transfers or not UPPER_BOUNDS[name].elsewhere]


def try_bounds(problem: BoundProblem, names: Sequence[str], say: Say | None = None) -> str | None:
    """Lower ``problem.best`` by the bounds of these names until the gap is closed; the name of the best, if one did."""
    method = None
    for place, name in enumerate(names, 1):
        if say is not None:
            say(f"proving: {name}, bound {place} of {len(names)}")
        value = UPPER_BOUNDS[name].bound(problem)
        if value < problem.best:
            problem.best, method = value, name
        if problem.closed:
            break
    return method
