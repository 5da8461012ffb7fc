"""Greedy backward elimination: from all variables down to k.

B. Moghaddam, Y. Weiss, S. Avidan, "Spectral bounds for sparse PCA: exact and greedy algorithms", NIPS 2006.

Examples
--------
>>> import sparseigen as se
>>> round(se.sparse_eigenvector(se.datasets.load_pitprops().matrix, 5, method="backward").value, 4)
3.4062
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen.operators.contract import Indices, Operator
from sparseigen.results import StopReason
from sparseigen.solvers.interface import SolverOptions, SolverOutcome, SparseVector
from sparseigen.solvers.support import best_on_support, leading_eigenpair

EXACT_WORK_LIMIT = 2.0e10
"""Up to this many operations every deletion is chosen exactly; above, by the Rayleigh quotient that remains."""


def eliminate(operator: Operator, cardinality: int) -> Indices:
    """The k variables left after deleting, one at a time, the one whose loss hurts the leading eigenvalue least."""
    matrix = operator.to_dense()
    size = len(matrix)
    exact = (size - cardinality) * float(size) ** 3 <= EXACT_WORK_LIMIT
    alive = np.arange(size)
    block = matrix
    while len(alive) > cardinality:
        losses = _exact_values(block) if exact else _remaining_rayleigh(block)
        keep = np.arange(len(alive)) != int(losses.argmax())
        alive, block = alive[keep], block[np.ix_(keep, keep)]
    return alive.astype(np.int64)


def solve_elimination(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """Backward elimination as a method of its own: the k variables left, with the best weights on them."""
    indices = eliminate(operator, cardinality)
    vector, value = best_on_support(operator, SparseVector(indices, np.full(len(indices), len(indices) ** -0.5)))
    options.progress.report(vector, value)
    settings = {"start": "all variables", "polish": None}
    deletions = operator.size - cardinality
    return SolverOutcome(vector, value, StopReason.COMPLETED, deletions, [value], settings)


def _exact_values(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """The leading eigenvalue after deleting each variable, from one eigendecomposition.

    Deleting variable i leaves the largest root below the top of sum_m V_im^2 / (root - lambda_m) = 0, which lies
    between the two largest eigenvalues (interlacing); bisection finds all of them at once.
    """
    values, vectors = np.linalg.eigh(block)
    squares = vectors**2
    low, high = np.full(len(values), values[-2]), np.full(len(values), values[-1])
    for _ in range(60):
        middle = 0.5 * (low + high)
        with np.errstate(divide="ignore", invalid="ignore"):
            total = (squares / (middle[:, None] - values[None, :])).sum(axis=1)
        above = np.nan_to_num(total, nan=0.0) < 0.0  # the top term dominates: the root lies below
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return np.asarray(0.5 * (low + high))


def _remaining_rayleigh(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Rayleigh quotient of the leading eigenvector with each variable set to zero: a lower bound of the above."""
    lead, top = leading_eigenpair(block)
    squares = lead**2
    rest = np.maximum(1.0 - squares, np.finfo(float).tiny)
    quotients: NDArray[np.float64] = (top * (1.0 - 2.0 * squares) + squares * block.diagonal()) / rest
    return quotients
