"""The table of solvers, and the one place that checks what they need.

A new solver is one file with a function ``(operator, cardinality, options) -> SolverOutcome`` and one row in
SOLVERS; it then takes part in every common test.
"""

from __future__ import annotations

from sparseigen.errors import OptionError, UnsupportedOperatorError, one_of
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.solvers.branch_and_bound import EXACT_SOLVER
from sparseigen.solvers.elastic_net import solve_elastic_net, solve_elastic_net_block
from sparseigen.solvers.generalized_power import (
    solve_gpower_l0,
    solve_gpower_l0_block,
    solve_gpower_l1,
    solve_gpower_l1_block,
)
from sparseigen.solvers.greedy import solve_elimination, solve_path_greedy
from sparseigen.solvers.interface import SolverOptions, SolverOutcome, SolverSpec
from sparseigen.solvers.semidefinite import solve_semidefinite
from sparseigen.solvers.thresholding import solve_pca, solve_svd_thresholding, solve_threshold
from sparseigen.solvers.truncated_power import solve_truncated_power

SOLVERS: dict[str, SolverSpec] = {
    "backward": SolverSpec(solve_elimination, needs=("to_dense",)),
    "dspca": SolverSpec(solve_semidefinite, needs=("to_dense",), parameters=("step",)),
    "exact": EXACT_SOLVER,
    "gpower-l0": SolverSpec(
        solve_gpower_l0,
        needs=("apply_support", "block_apply", "submatrix"),
        needs_psd=True,
        parameters=("gamma", "relative", "weights"),
        solve_block=solve_gpower_l0_block,
    ),
    "gpower-l1": SolverSpec(
        solve_gpower_l1,
        needs=("apply_support", "block_apply", "submatrix"),
        needs_psd=True,
        parameters=("gamma", "relative", "weights"),
        solve_block=solve_gpower_l1_block,
    ),
    "pathspca": SolverSpec(solve_path_greedy, needs=("columns",), parameters=("greedy",)),
    "pca": SolverSpec(solve_pca, needs=("block_apply", "submatrix")),
    "rsvd": SolverSpec(
        solve_svd_thresholding,
        needs=("apply_support", "block_apply"),
        needs_psd=True,
        parameters=("penalty", "thresholding"),
    ),
    "spca": SolverSpec(
        solve_elastic_net,
        needs=("apply_support", "columns"),
        needs_psd=True,
        parameters=("penalty", "ridge"),
        solve_block=solve_elastic_net_block,
    ),
    "threshold": SolverSpec(solve_threshold, needs=("block_apply", "submatrix")),
    "tpower": SolverSpec(solve_truncated_power, supports_nonnegative=True),
}


def check_solver(method: object, operator: Operator, *, nonnegative: bool) -> SolverSpec:
    """The solver of that name, if it exists and accepts this operator and these wishes."""
    if not isinstance(method, str) or method not in SOLVERS:
        message = f"method={method!r} is not known. Allowed: {one_of(SOLVERS)}."
        raise OptionError(message, parameter="method")
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
        raise OptionError(message, parameter="method")
    return spec


def check_definite(method: str, operator: Operator) -> None:
    """Refuse a matrix seen to be indefinite where the method is defined for covariances only."""
    if not SOLVERS[method].needs_psd or operator.positive_semidefinite:
        return
    diagonal = operator.diagonal()
    if operator.positive_semidefinite is False or float(diagonal.min()) < -1e-10 * float(abs(diagonal).max()):
        able = sorted(name for name, other in SOLVERS.items() if not other.needs_psd)
        message = (
            f"method={method!r} is defined for covariance (positive semidefinite) matrices only, and this matrix is "
            f"indefinite. Methods for every symmetric matrix: {', '.join(able)}."
        )
        raise UnsupportedOperatorError(message)


__all__ = [
    "SOLVERS",
    "SolverOptions",
    "SolverOutcome",
    "SolverSpec",
    "SparseVector",
    "check_definite",
    "check_solver",
]
