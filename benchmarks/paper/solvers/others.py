"""Methods by cardinality that the paper's tables do not have, for the table beside Table 3."""

from __future__ import annotations

from typing import Any

import sparseigen as se
from benchmarks.paper.solvers.base import Solver, Vectors, components

CARDINALITY = "asked for the cardinalities"


def refined(matrix: Any, cardinalities: list[int], parameter: None = None) -> Vectors:
    """Our default components, changed together until the variance they explain jointly stops growing."""
    return se.components.refine_components(matrix, components("tpower")(matrix, cardinalities))


SOLVERS = {
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
