"""The table of solvers.

A new solver is one file with a function ``(operator, cardinality, options) -> SolverOutcome`` and one row in
SOLVERS; it then takes part in every common test.
"""

from __future__ import annotations

from sparseigen.operators.contract import SparseVector
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
from sparseigen.solvers.rifle import solve_rifle
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
    "rifle": SolverSpec(
        solve_rifle,
        needs=("apply_support", "block_apply", "submatrix"),
        takes_metric=True,
        parameters=("step",),
    ),
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

__all__ = ["SOLVERS", "SolverOptions", "SolverOutcome", "SolverSpec", "SparseVector"]
