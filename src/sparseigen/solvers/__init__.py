"""The table of solvers, and the one place that checks what they need.

A new solver is one file with a function ``(operator, cardinality, options) -> SolverOutcome`` and one row in
SOLVERS; it then takes part in every common test.
"""

from __future__ import annotations

from sparseigen.errors import OptionError, UnsupportedOperatorError, one_of
from sparseigen.operators.contract import Operator
from sparseigen.solvers.interface import SolverOptions, SolverOutcome, SolverSpec, SparseVector
from sparseigen.solvers.truncated_power import solve_truncated_power

SOLVERS: dict[str, SolverSpec] = {
    "tpower": SolverSpec(solve_truncated_power, supports_nonnegative=True),
}


def check_solver(method: object, operator: Operator, *, nonnegative: bool) -> SolverSpec:
    """The solver of that name, if it exists and accepts this operator and these wishes."""
    if not isinstance(method, str) or method not in SOLVERS:
        message = f"method={method!r} is not known. Allowed: {one_of(SOLVERS)}."
        raise OptionError(message)
    spec = SOLVERS[method]
    missing = [name for name in spec.needs if not hasattr(operator, name)]
    if missing:
        accepting = [name for name, other in SOLVERS.items() if all(hasattr(operator, n) for n in other.needs)]
        message = (
            f"solver {method!r} needs {type(operator).__name__}.{missing[0]}, which it does not have. "
            f"Solvers that accept this operator: {', '.join(sorted(accepting)) or 'none'}."
        )
        raise UnsupportedOperatorError(message)
    if nonnegative and not spec.supports_nonnegative:
        able = sorted(name for name, other in SOLVERS.items() if other.supports_nonnegative)
        message = f"method={method!r} cannot keep loadings nonnegative. Methods that can: {', '.join(able)}."
        raise OptionError(message)
    return spec


__all__ = ["SOLVERS", "SolverOptions", "SolverOutcome", "SolverSpec", "SparseVector", "check_solver"]
