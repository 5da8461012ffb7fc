"""Rough ends of the spectrum, for choosing shifts. Estimates only: nothing here is a proof."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sparseigen.operators.contract import Operator

LARGEST_PLAIN_EXPONENT = 400
LARGEST_DENSE = 512
LARGEST_DECOMPOSED = 200
"""Up to this size leading eigenvectors come from a full decomposition."""


def lower_end(operator: Operator) -> float:
    """An estimate of the smallest eigenvalue, a little on the low side."""
    if operator.size <= LARGEST_DENSE:
        matrix, exponent = _in_middle(operator.to_dense())
        values = np.linalg.eigvalsh(matrix)
        return math.ldexp(float(values[0]) - 1e-12 * float(np.abs(values).max()), exponent)
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    size = operator.size
    product = LinearOperator((size, size), matvec=lambda v: operator.apply(v.ravel()).astype(float), dtype=float)
    start = np.sqrt(np.abs(operator.diagonal())) + 1.0 + np.sin(np.arange(size))  # generic and reproducible
    try:
        value = float(eigsh(product, k=1, which="SA", v0=start, tol=1e-4, return_eigenvectors=False)[0])
    except ArpackNoConvergence:  # a longer run is not worth it: the norm of the matrix is a safe shift
        value = -float(np.linalg.norm(operator.apply(start)) / np.linalg.norm(start)) * 2.0
    return value - 1e-3 * abs(value)


def _in_middle(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """The matrix times 2 ** -exponent, and the exponent: LAPACK does not converge on some matrices beyond 1e146."""
    exponent = math.frexp(float(np.abs(matrix).max()))[1]
    if abs(exponent) < LARGEST_PLAIN_EXPONENT:
        return matrix, 0
    return np.ldexp(matrix, -exponent), exponent


def leading_eigenvector(operator: Operator) -> NDArray[np.float64]:
    """The eigenvector of the largest eigenvalue."""
    vector: NDArray[np.float64] = leading_eigenvectors(operator, 1)[:, 0]
    return vector


def leading_eigenvectors(operator: Operator, count: int) -> NDArray[np.float64]:
    """Eigenvectors of the largest eigenvalues, one a column, largest first.

    LAPACK where the matrix is small, Lanczos from products above.
    """
    size = operator.size
    if size <= LARGEST_DECOMPOSED or count >= size - 1:
        vectors = np.linalg.eigh(_in_middle(operator.to_dense())[0])[1]
        return np.ascontiguousarray(vectors[:, ::-1][:, :count])
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    product = LinearOperator((size, size), matvec=lambda v: operator.apply(v.ravel()).astype(float), dtype=float)
    start = np.sqrt(np.abs(operator.diagonal())) + np.sin(np.arange(size))  # generic and reproducible
    try:
        _, vectors = eigsh(product, k=count, which="LA", v0=start, tol=1e-10)
    except ArpackNoConvergence as error:
        vectors = error.eigenvectors if error.eigenvectors.shape[1] == count else np.eye(size, count)
    return np.ascontiguousarray(np.linalg.qr(vectors[:, ::-1])[0])
