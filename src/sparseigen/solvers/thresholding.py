"""Thresholded loadings: plain PCA, simple thresholding, and sPCA-rSVD.

J. Cadima, I. T. Jolliffe, "Loadings and correlations in the interpretation of principal components", Journal of
Applied Statistics 22 (1995), 203-214, which shows why largest loadings can mislead.

H. Shen, J. Z. Huang, "Sparse principal component analysis via regularized low rank matrix approximation", Journal of
Multivariate Analysis 99 (2008), 1015-1034: a regularised rank-one approximation of the data. The paper minimises
|D - u v'|^2 + penalty(v) over unit u: v <- h(D'u), u <- Dv / |Dv|, from the leading singular vectors. As
D'u = Av / sqrt(v'Av), the operator is enough (A = D'D).

Examples
--------
>>> import sparseigen as se
>>> matrix = se.datasets.load_pitprops().matrix
>>> [round(se.sparse_eigenvector(matrix, 5, method=name).value, 4) for name in ("pca", "threshold")]
[3.3951, 3.4062]
>>> se.sparse_eigenvector(matrix, 5, method="rsvd", method_options={"thresholding": "hard"}).support.tolist()
[0, 1, 6, 8, 9]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.arguments import check_choice, check_numbers
from sparseigen.errors import OptionError
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import StopReason
from sparseigen.solvers.eigenpairs import best_on_support, leading_eigenvector, recompute_value
from sparseigen.solvers.generalized_power import soft_threshold
from sparseigen.solvers.interface import SolverOptions, SolverOutcome


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
    return SparseVector.from_dense(leading_eigenvector(operator)).truncated(cardinality)


def _outcome(operator: Operator, vector: SparseVector, options: SolverOptions) -> SolverOutcome:
    value = recompute_value(operator, vector)
    options.progress.report(vector, value)
    settings = {"start": "leading eigenvector", "polish": None}
    return SolverOutcome(vector, value, StopReason.COMPLETED, 1, [value], settings)


def _hard(images: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    kept: NDArray[np.float64] = np.where(np.abs(images) > level, images, 0.0)
    return kept


THRESHOLDINGS = {"soft": soft_threshold, "hard": _hard}
"""h of the paper by name."""


def solve_svd_thresholding(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """Alternate between the scores u and the thresholded loadings v until v'Av stalls.

    Without ``penalty`` the threshold of each step is the (k+1)-th largest magnitude: the paper's "degree of
    sparsity". Soft thresholding is the default, as in the paper.
    """
    name = check_choice(options.extra.get("thresholding", "soft"), THRESHOLDINGS, "thresholding")
    penalty = options.extra.get("penalty")
    level = None if penalty is None else float(check_numbers(penalty, "penalty", 1)[0])
    vector = SparseVector.from_dense(leading_eigenvector(operator))
    value, history = -np.inf, []
    reason, iteration = StopReason.ITERATION_LIMIT, 0
    for iteration in range(1, options.max_iterations + 1):
        product = np.asarray(operator.apply_support(vector.indices, vector.weights), dtype=np.float64)
        previous, value = value, float(vector.weights @ product[vector.indices])
        history.append(value)
        if iteration > 1:
            options.progress.report(vector, value)
        if options.has_stalled(value, previous) or value <= 0.0:
            reason = StopReason.VALUE_STALLED
            break
        images = product / np.sqrt(value)
        vector = _threshold(images, cardinality, level, name)
    vector = vector.truncated(cardinality)
    value = float(vector.weights @ operator.submatrix(vector.indices) @ vector.weights)
    settings = {"start": "leading eigenvector", "polish": None, "thresholding": name, "penalty": level}
    return SolverOutcome(vector, value, reason, iteration, history, settings)


def _threshold(images: NDArray[np.float64], cardinality: int, level: float | None, name: str) -> SparseVector:
    kept = kernels.largest_magnitudes(images, cardinality)
    if level is not None:
        loadings = THRESHOLDINGS[name](images, level)
        if not loadings.any():
            message = f"penalty={level:.6g} leaves nothing; it must be below {np.abs(images).max():.6g} on this matrix."
            raise OptionError(message)
        return SparseVector.from_dense(loadings)
    outside = np.delete(np.abs(images), kept)
    next_largest = float(outside.max()) if outside.size else 0.0
    loadings = soft_threshold(images[kept], next_largest) if name == "soft" else images[kept]
    if not loadings.any():  # the k-th and the (k+1)-th magnitudes tie throughout: nothing to shrink by
        loadings = images[kept]
    return SparseVector(kept, loadings / np.linalg.norm(loadings))
