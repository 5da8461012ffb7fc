"""Named methods with the settings of the paper: one file for a method, one row here.

A solver of sparse components is `find(matrix or operator, cardinalities, parameter) -> vectors as rows`; `parameter`
is the penalty of methods that have one, and cardinalities are then the number of variables.
"""

from __future__ import annotations

from benchmarks.paper.solvers import default, dspca, gpower, others, pathspca, pca, spca, tpower
from benchmarks.paper.solvers.base import Solver

__all__ = ["COMPONENTS", "Solver"]

COMPONENTS: dict[str, Solver] = {
    **tpower.SOLVERS,
    **pathspca.SOLVERS,
    **gpower.SOLVERS,
    **spca.SOLVERS,
    **dspca.SOLVERS,
    **pca.SOLVERS,
    **default.SOLVERS,
    **others.SOLVERS,
}
"""Solvers of sparse components by the name that pieces use. Each file has a table of its own; a new file is a row."""
