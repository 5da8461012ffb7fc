"""The score, the same for everybody: the best weights on the support found, in float64."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.speed.cells import Problem


def support_of(loadings: np.ndarray) -> np.ndarray:
    """The variables with a loading that is not zero, in order."""
    return np.flatnonzero(np.asarray(loadings, dtype=float).ravel())


def value_of(problem: Problem, support: np.ndarray) -> float:
    """Largest eigenvalue of the covariance on the support; for a graph twice the number of edges inside, over k."""
    if problem.graph is not None:
        inside = problem.graph.subgraph(support)
        return 2.0 * inside.number_of_edges() / len(support)
    return float(np.linalg.eigvalsh(_covariance(problem, np.asarray(support)))[-1])


def _covariance(problem: Problem, support: np.ndarray) -> np.ndarray:
    if problem.matrix is not None:
        return problem.matrix[np.ix_(support, support)]
    columns = problem.data[:, support]
    columns = columns.toarray() if sp.issparse(columns) else np.asarray(columns, dtype=float)
    columns = columns - columns.mean(axis=0)
    return columns.T @ columns / (len(columns) - 1)
