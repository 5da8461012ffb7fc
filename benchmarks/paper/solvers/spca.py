"""SPCA of Zou, Hastie and Tibshirani: an elastic net for each component, all components together."""

from __future__ import annotations

from typing import Any

import sparseigen as se
from benchmarks.paper.solvers.base import Solver, Vectors, penalised
from sparseigen.operators import as_operator


def of_total_variance(ridge: float, **options: Any) -> Any:
    """SPCA whose penalty and ridge count relative to the total variance."""

    def find(matrix: Any, cardinalities: list[int], parameter: float) -> Vectors:
        operator = matrix if isinstance(matrix, se.Operator) else as_operator(matrix)
        total = float(operator.diagonal().sum())
        solve = penalised("spca", "penalty", method_options={"ridge": ridge * total}, deflation="block", **options)
        return solve(operator, cardinalities, parameter * total)

    return find


SOLVERS = {
    "spca": Solver(
        "SPCA",
        "elastic net, block, ridge 1e-6",
        penalised("spca", "penalty", method_options={"ridge": 1e-6}, deflation="block"),
    ),
    "spca-unscaled": Solver(
        "SPCA, one round, absolute penalty",
        "one elastic net from the principal components; penalty on the covariance as it is, ridge 1e-6 of the mean "
        "variance",
        penalised("spca", "penalty", deflation="block", max_iterations=1),
    ),
    "spca-one-round": Solver(
        "SPCA, one round",
        "one elastic net from the principal components, without the alternation that follows; penalty and ridge "
        "relative to the total variance, ridge 0.05",
        of_total_variance(0.05, max_iterations=1),
    ),
    "spca-ten-rounds": Solver(
        "SPCA, ten rounds",
        "the same with the alternation, at most ten rounds",
        of_total_variance(0.05, max_iterations=10),
    ),
}
