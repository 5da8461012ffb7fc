"""The baselines: plain PCA and its largest loadings.

J. Cadima, I. T. Jolliffe, "Loadings and correlations in the interpretation of principal components", Journal of
Applied Statistics 22 (1995), 203-214, which shows why largest loadings can mislead.

Examples
--------
>>> import sparseigen as se
>>> matrix = se.datasets.load_pitprops().matrix
>>> [round(se.sparse_eigenvector(matrix, 5, method=name).value, 4) for name in ("pca", "threshold")]
[3.3951, 3.4062]
"""

from __future__ import annotations

import numpy as np

from sparseigen import kernels
from sparseigen.operators.contract import Operator
from sparseigen.results import StopReason
from sparseigen.solvers.interface import SolverOptions, SolverOutcome, SparseVector
from sparseigen.solvers.spectrum import leading_eigenvector
from sparseigen.solvers.support import best_on_support, recomputed_value


def solve_pca(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """The leading eigenvector; for k below p its k largest loadings as they are, the rest set to zero.

    With ``cardinality`` equal to the number of variables this is principal component analysis.
    """
    return _outcome(operator, _largest_loadings(operator, cardinality), options)


def solve_threshold(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """The variables of the k largest loadings of the leading eigenvector, with the best weights on them."""
    refitted, _ = best_on_support(operator, _largest_loadings(operator, cardinality))
    return _outcome(operator, refitted, options)


def _largest_loadings(operator: Operator, cardinality: int) -> SparseVector:
    leading = leading_eigenvector(operator)
    kept = kernels.largest_magnitudes(leading, cardinality)
    return SparseVector(kept, leading[kept] / np.linalg.norm(leading[kept]))


def _outcome(operator: Operator, vector: SparseVector, options: SolverOptions) -> SolverOutcome:
    value = recomputed_value(operator, vector)
    options.progress.report(vector, value)
    settings = {"start": "leading eigenvector", "polish": None}
    return SolverOutcome(vector, value, StopReason.COMPLETED, 1, [value], settings)
