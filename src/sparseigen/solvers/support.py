"""The best vector on a given support: the small exact problem inside every sparse one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen.operators.contract import Operator
from sparseigen.solvers.interface import SparseVector, Weights

LARGEST_DIRECT = 128
"""Above this many variables the k x k problem is solved by Lanczos from the start's weights, to a residual of 1e-7."""
LARGEST_DENSE_PROBLEM = 1024
"""Up to this many variables the k x k eigenproblem is solved by LAPACK, above by Lanczos from products."""


def leading_eigenpair(matrix: NDArray[np.float64]) -> tuple[Weights, float]:
    """The leading eigenvector and eigenvalue of a small symmetric matrix."""
    size = len(matrix)
    if size <= 96:
        values, vectors = np.linalg.eigh(matrix)
        return vectors[:, -1], float(values[-1])
    from scipy.linalg import eigh

    values, vectors = eigh(matrix, subset_by_index=[size - 1, size - 1], check_finite=False)
    return vectors[:, 0], float(values[0])


def best_on_support(
    operator: Operator, start: SparseVector, *, nonnegative: bool = False
) -> tuple[SparseVector, float]:
    """x(F) of the paper: the unit vector of largest value with support in F, and its value.

    With ``nonnegative`` the result is a local optimum reached from ``start`` (the exact problem is itself hard),
    unless the leading eigenvector has one sign, in which case it is exact.
    """
    indices = start.indices
    if len(indices) > LARGEST_DENSE_PROBLEM:
        return _lanczos_on_support(operator, start, nonnegative)
    matrix = operator.submatrix(indices)
    if len(indices) > LARGEST_DIRECT and not nonnegative:
        from sparseigen.solvers.warm_eigenpair import warm_eigenpair

        weights, value = warm_eigenpair(matrix, start.weights)
        return SparseVector(indices, weights), value
    weights, value = leading_eigenpair(matrix)
    if nonnegative:
        weights, value = _nonnegative(matrix, weights, start.weights)
    return SparseVector(indices, weights), value


def _lanczos_on_support(operator: Operator, start: SparseVector, nonnegative: bool) -> tuple[SparseVector, float]:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    indices, size = start.indices, len(start.indices)
    if nonnegative:  # projected power iterations keep the start's value or better
        return start, value_on_support(operator, start)
    if operator.transfers_cost:  # only the support's own rows are needed: k numbers come back instead of p
        within = operator.restricted(indices)
        product = LinearOperator((size, size), matvec=lambda v: within.apply(v.ravel()).astype(float), dtype=float)
    else:
        product = LinearOperator(
            (size, size),
            matvec=lambda v: operator.apply_support(indices, v.ravel())[indices].astype(float),
            dtype=float,
        )
    v0 = start.weights if start.weights.any() else np.ones(size)
    try:
        _, vectors = eigsh(product, k=1, which="LA", v0=v0, tol=1e-10, maxiter=300)
    except ArpackNoConvergence as error:
        vectors = error.eigenvectors if error.eigenvectors.size else start.weights[:, None]
    best = SparseVector(indices, vectors[:, 0] / np.linalg.norm(vectors[:, 0]))
    return best, value_on_support(operator, best)


def value_on_support(operator: Operator, vector: SparseVector) -> float:
    """X'Ax in float64."""
    product = operator.apply_support(vector.indices, vector.weights)[vector.indices]
    return float(vector.weights @ product.astype(np.float64))


def recomputed_value(operator: Operator, vector: SparseVector) -> float:
    """X'Ax from the k x k block where it is small, from a product otherwise."""
    if len(vector.indices) <= LARGEST_DENSE_PROBLEM:
        return float(vector.weights @ operator.submatrix(vector.indices) @ vector.weights)
    return value_on_support(operator, vector)


def _nonnegative(matrix: NDArray[np.float64], leading: Weights, start: Weights) -> tuple[Weights, float]:
    """The best of projected power iterations from the start and from the leading eigenvector's positive part."""
    if leading.sum() < 0.0:
        leading = -leading
    shift = max(0.0, -float(np.linalg.eigvalsh(matrix)[0]))
    best, best_value = np.maximum(start, 0.0), -np.inf
    for vector in (np.maximum(start, 0.0), np.maximum(leading, 0.0)):
        norm = np.linalg.norm(vector)
        if norm == 0.0:
            continue
        vector = vector / norm
        value = float(vector @ matrix @ vector)
        for _ in range(500):
            product = np.maximum(matrix @ vector + shift * vector, 0.0)
            norm = np.linalg.norm(product)
            if norm == 0.0:
                break
            candidate = product / norm
            improved = float(candidate @ matrix @ candidate)
            if improved <= value + 1e-14 * abs(value):
                break
            vector, value = candidate, improved
        if value > best_value:
            best, best_value = vector, value
    return best, best_value
