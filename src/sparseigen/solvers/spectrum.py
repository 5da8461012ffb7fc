"""Rough ends of the spectrum, for choosing shifts. Estimates only: nothing here is a proof."""

from __future__ import annotations

import numpy as np

from sparseigen.operators.contract import Operator

LARGEST_DENSE = 512


def lower_end(operator: Operator) -> float:
    """An estimate of the smallest eigenvalue, a little on the low side."""
    if operator.size <= LARGEST_DENSE:
        values = np.linalg.eigvalsh(operator.to_dense())
        return float(values[0]) - 1e-12 * float(np.abs(values).max())
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    size = operator.size
    product = LinearOperator((size, size), matvec=lambda v: operator.apply(v.ravel()).astype(float), dtype=float)
    start = np.sqrt(np.abs(operator.diagonal())) + 1.0 + np.sin(np.arange(size))  # generic and reproducible
    try:
        value = float(eigsh(product, k=1, which="SA", v0=start, tol=1e-4, return_eigenvectors=False)[0])
    except ArpackNoConvergence:  # a longer run is not worth it: the norm of the matrix is a safe shift
        value = -float(np.linalg.norm(operator.apply(start)) / np.linalg.norm(start)) * 2.0
    return value - 1e-3 * abs(value)
