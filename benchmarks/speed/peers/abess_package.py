"""abess: best-subset selection by splicing, given the covariance.

Two things of version 0.4.11 are worked around, both in its favour: given data with fewer samples than variables it
answers with ones, so it always gets the covariance; it refuses a covariance with an eigenvalue below zero, which
rounding alone gives to every singular one, so a multiple of the identity is added, which changes no best support.
"""

from __future__ import annotations

import numpy as np

from benchmarks.speed.cells import Problem

RIDGE = 1e-10


def fit(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    from abess.decomposition import SparsePCA

    covariance = np.cov(problem.dense_data, rowvar=False) if problem.matrix is None else problem.matrix
    covariance = (covariance + covariance.T) / 2.0 + RIDGE * float(covariance.trace()) * np.eye(problem.size)
    found = SparsePCA(support_size=int(cardinality)).fit(Sigma=covariance)
    return np.asarray(found.coef_, dtype=float).ravel()
