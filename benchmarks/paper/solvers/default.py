"""What sparseigen does when nobody asks for anything else, for the column beside the paper's."""

from benchmarks.paper.solvers.base import Solver, components

SOLVERS = {"default": Solver("sparseigen, default", "ten starts, TPower from each, swap search", components("tpower"))}
