"""Plain NumPy, as a careful user would write it: Algorithm 1, and a dense component cut to k loadings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from benchmarks.speed.cells import Problem

TOLERANCE, LIMIT = 1e-7, 1000
"""Our own defaults: the change of the objective at which a run stops, and the most iterations."""


def tpower(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    """The product with k columns, a partition, the same stop rule as ours; from the variable of largest variance."""
    variances, product_with = _columns(problem)
    keep = int(cardinality)
    support, weights = np.array([int(variances.argmax())]), np.ones(1)
    previous = -np.inf
    for _ in range(LIMIT):
        product = product_with(support, weights)
        value = float(weights @ product[support])
        if value - previous <= TOLERANCE * abs(value):
            break
        previous = value
        magnitudes = np.abs(product)
        support = np.argpartition(magnitudes, -keep)[-keep:]
        weights = product[support] / np.linalg.norm(product[support])
    loadings = np.zeros(len(variances))
    loadings[support] = weights
    return loadings


def _columns(problem: Problem) -> tuple[np.ndarray, Callable[[np.ndarray, np.ndarray], np.ndarray]]:
    """Variances, and the product of the covariance with a vector given by its support."""
    if problem.matrix is not None:
        matrix = problem.matrix
        return matrix.diagonal(), lambda support, weights: weights @ matrix[support]
    divisor = problem.data.shape[0] - 1
    if sp.issparse(problem.data):
        columns = problem.data.tocsc()
        transposed = columns.T
        means = np.asarray(columns.mean(axis=0)).ravel()
        variances = (np.asarray(columns.multiply(columns).sum(axis=0)).ravel() - columns.shape[0] * means**2) / divisor

        def sparse_product(support: np.ndarray, weights: np.ndarray) -> np.ndarray:
            return transposed @ (columns[:, support] @ weights - means[support] @ weights) / divisor

        return variances, sparse_product
    # One row per variable: choosing variables then copies whole rows.
    variables = np.ascontiguousarray(problem.data.T)
    variables = variables - variables.mean(axis=1, keepdims=True)
    variances = np.einsum("ij,ij->i", variables, variables) / divisor
    return variances, lambda support, weights: variables @ (weights @ variables[support]) / divisor


def dense_component(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    """The leading component of ordinary PCA by scipy's eigsh, cut to its k largest loadings."""
    start = np.random.default_rng(seed).standard_normal(problem.size)
    vector = eigsh(_operator(problem), k=1, which="LA", v0=start)[1][:, 0]
    loadings = np.zeros_like(vector)
    kept = np.argsort(-np.abs(vector), kind="stable")[: int(cardinality)]
    loadings[kept] = vector[kept]
    return loadings


def _operator(problem: Problem) -> LinearOperator | np.ndarray:
    if problem.matrix is not None:
        return problem.matrix
    data, means = problem.data, np.asarray(problem.data.mean(axis=0)).ravel()
    divisor = data.shape[0] - 1

    def apply(vector: np.ndarray) -> np.ndarray:
        flat = vector.ravel()
        scores = data @ flat - means @ flat
        return (data.T @ scores - means * scores.sum()) / divisor

    return LinearOperator((problem.size, problem.size), matvec=apply, dtype=float)
