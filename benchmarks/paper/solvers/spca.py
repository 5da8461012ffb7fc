"""SPCA of Zou, Hastie and Tibshirani: an elastic net for each component, all components together."""

from benchmarks.paper.solvers.base import Solver, penalised

SOLVERS = {
    "spca": Solver(
        "SPCA",
        "elastic net, block, ridge 1e-6",
        penalised("spca", "penalty", method_options={"ridge": 1e-6}, deflation="block"),
    ),
}
