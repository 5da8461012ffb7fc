"""TPower, Algorithm 1 of the paper."""

from benchmarks.paper.solvers.base import Solver, components

PAPER_STOP = {"polish": None, "rtol": 0.0, "atol": 1e-4, "max_iterations": 500}
"""The authors' stop rule: a change of the objective of at most 1e-4, at most 500 iterations."""

SOLVERS = {
    "tpower": Solver(
        "TPower (Algorithm 1)",
        "start at the variable of largest variance, projection deflation",
        components("tpower", start="max-variance", polish=None),
    ),
    "tpower-paper-stop": Solver(
        "TPower (Algorithm 1), stop at 1e-4",
        "start at the variable of largest variance, stop when the objective moves by at most 1e-4 or after 500 steps",
        components("tpower", start="max-variance", **PAPER_STOP),
    ),
    "tpower-top-k-start": Solver(
        "TPower (Algorithm 1), stop at 1e-4, start at the k largest variances",
        "start at the indicator of the k largest variances, the paper's second choice",
        components("tpower", start="top-k-variance", **PAPER_STOP),
    ),
}
