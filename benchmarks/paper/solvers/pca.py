"""Plain PCA: leading eigenvectors."""

from benchmarks.paper.solvers.base import Solver, components

SOLVERS = {"pca": Solver("PCA", "leading eigenvectors, all variables", components("pca"))}
