"""Methods of sparse components with the settings of the paper, by the name that pieces use.

A solver is `find(matrix or operator, cardinalities, parameter) -> vectors as rows`; `parameter` is the penalty of
methods that have one, and cardinalities are then the number of variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sparseigen as se
from sparseigen.operators import as_operator

Vectors = NDArray[np.float64]
PAPER_DEFLATION = "projection"
"""The paper's choice in Section 4.1, for every method that finds one component after the other."""


@dataclass(frozen=True)
class Solver:
    """A method under the name that tables print, and what its settings are."""

    label: str
    settings: str
    find: Callable[..., Vectors]


def components(method: str, *, deflation: str = PAPER_DEFLATION, **options: Any) -> Callable[..., Vectors]:
    """A solver that is asked for cardinalities: components one after the other, or together for block methods."""

    def find(matrix: Any, cardinalities: list[int], parameter: Any = None) -> Vectors:
        if parameter is not None:
            raise ValueError(f"{method} is asked for cardinalities and has no parameter, got {parameter!r}.")
        found = se.sparse_components(
            matrix, cardinalities, method=method, deflation=deflation, certify=False, **options
        )
        return np.array([result.vector for result in found])

    return find


def penalised(method: str, parameter_name: str, *, method_options: dict[str, Any] | None = None, **options: Any) -> Any:
    """A solver with a penalty; a component of which the penalty leaves nothing is a vector of zeros."""

    def find(matrix: Any, cardinalities: list[int], parameter: Any) -> Vectors:
        chosen = {**(method_options or {}), parameter_name: parameter}
        try:
            found = se.sparse_components(
                matrix, cardinalities, method=method, certify=False, method_options=chosen, **options
            )
        except se.errors.OptionError:  # the penalty is so large that a component is empty
            return np.zeros((len(cardinalities), cardinalities[0]))
        return np.array([result.vector for result in found])

    return find


def of_total_variance(ridge: float, **options: Any) -> Any:
    """SPCA whose penalty and ridge count relative to the total variance."""

    def find(matrix: Any, cardinalities: list[int], parameter: float) -> Vectors:
        operator = matrix if isinstance(matrix, se.Operator) else as_operator(matrix)
        total = float(operator.diagonal().sum())
        solve = penalised("spca", "penalty", method_options={"ridge": ridge * total}, deflation="block", **options)
        return solve(operator, cardinalities, parameter * total)

    return find


def refined(matrix: Any, cardinalities: list[int], parameter: None = None) -> Vectors:
    """Components of our default solver, changed together until the variance they explain jointly stops growing."""
    return se.components.refine_components(matrix, components("tpower")(matrix, cardinalities))


def _gpower(penalty: str, deflation: str) -> Any:
    return penalised(f"gpower-{penalty}", "gamma", method_options={"relative": True}, deflation=deflation)


PAPER_STOP = {"polish": None, "rtol": 0.0, "atol": 1e-4, "max_iterations": 500}
"""The authors' stop rule: a change of the objective of at most 1e-4, at most 500 iterations."""
SINGLE = "one component after the other, projection deflation; gamma relative to the largest column norm"
BLOCK = "all components together, equal weights; gamma relative to the largest column norm"
CARDINALITY = "asked for the cardinalities"

BY_CARDINALITY = {
    "default-refined": Solver("sparseigen, default, refined", "joint refinement", refined),
    "gpower-l1-k": Solver("GPower l1, single-unit", CARDINALITY, components("gpower-l1")),
    "gpower-l0-k": Solver("GPower l0, single-unit", CARDINALITY, components("gpower-l0")),
    "gpower-l1-block-k": Solver("GPower l1, block", CARDINALITY, components("gpower-l1", deflation="block")),
    "spca-k": Solver("SPCA, block", CARDINALITY, components("spca", deflation="block")),
    "rsvd": Solver("sPCA-rSVD", CARDINALITY, components("rsvd")),
    "backward": Solver("backward elimination", CARDINALITY, components("backward")),
    "threshold": Solver("thresholded PCA", "the k largest loadings of plain PCA", components("threshold")),
    "tpower-schur": Solver("TPower, Schur deflation", CARDINALITY, components("tpower", deflation="schur")),
    "tpower-hotelling": Solver("TPower, Hotelling deflation", CARDINALITY, components("tpower", deflation="hotelling")),
}
"""Methods that the paper's tables do not have, for the table beside Table 3."""

COMPONENTS: dict[str, Solver] = {
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
    "pathspca": Solver(
        "PathSPCA",
        "approximate greedy: add the variable with the largest |a_j'x|, x the leading eigenvector so far",
        components("pathspca"),
    ),
    "pathspca-full": Solver(
        "PathSPCA, full greedy",
        "add the variable that raises the eigenvalue most",
        components("pathspca", method_options={"greedy": "full"}),
    ),
    "gpower-l1": Solver("GPower l1, single-unit", SINGLE, _gpower("l1", PAPER_DEFLATION)),
    "gpower-l0": Solver("GPower l0, single-unit", SINGLE, _gpower("l0", PAPER_DEFLATION)),
    "gpower-l1-block": Solver("GPower l1, block", BLOCK, _gpower("l1", "block")),
    "gpower-l0-block": Solver("GPower l0, block", BLOCK, _gpower("l0", "block")),
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
    "dspca": Solver("DSPCA", "semidefinite relaxation, rounded to the cardinality", components("dspca")),
    "pca": Solver("PCA", "leading eigenvectors, all variables", components("pca")),
    "default": Solver(
        "sparseigen, default", "ten starts, TPower from each, swap search; projection deflation", components("tpower")
    ),
    **BY_CARDINALITY,
}
