"""A dense symmetric matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.inputs.arrays import CheckedArray
from sparseigen.operators.contract import Indices, Matrix, Operator, Vector
from sparseigen.operators.products import multiplied


def averaging_errors(matrix: CheckedArray) -> NDArray[np.float64]:
    """The rounding of (A + A') / 2 where the door had to average: one unit of the largest entry."""
    errors = np.zeros(matrix.values.shape[0])
    if matrix.symmetrised:
        rounding = np.finfo(matrix.values.dtype)
        errors += float(rounding.eps) * matrix.magnitude + float(rounding.smallest_subnormal)
    return errors


class DenseSymmetric(Operator):
    """A dense symmetric matrix, kept as the caller gave it: no copy, never written to."""

    def __init__(
        self,
        matrix: CheckedArray,
        *,
        positive_semidefinite: bool | None = None,
        entry_errors: NDArray[np.float64] | None = None,
    ) -> None:
        self.matrix = matrix.values
        self.size = self.matrix.shape[0]
        self.dtype = self.matrix.dtype
        self.names = matrix.names
        self.symmetrised = matrix.symmetrised
        self._magnitude = matrix.magnitude
        self._entry_errors = averaging_errors(matrix) if entry_errors is None else entry_errors
        self.positive_semidefinite = positive_semidefinite
        if positive_semidefinite is None and float(self.diagonal().min()) < 0.0:
            self.positive_semidefinite = False

    def _diagonal(self) -> NDArray[np.float64]:
        return np.array(self.matrix.diagonal(), dtype=np.float64)

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """Sum of k rows: the matrix is symmetric, and rows are contiguous."""
        return kernels.combine_rows(self.matrix, indices, weights.astype(self.dtype, copy=False))

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices], read as rows."""
        selected: Matrix = self.matrix[indices].T
        return selected

    def submatrix(self, indices: Indices) -> NDArray[np.float64]:
        """A[indices, indices] in float64."""
        return np.asarray(self.matrix[np.ix_(indices, indices)], dtype=np.float64)

    def block_apply(self, block: Matrix) -> Matrix:
        """A V by one matrix product."""
        return multiplied(self.matrix, block.astype(self.dtype, copy=False))

    def entry_errors(self) -> NDArray[np.float64]:
        """Zero for the caller's own matrix; what was passed on for one that was computed from data."""
        return self._entry_errors

    def magnitude(self) -> float:
        """The largest |entry|, known from the check at the door."""
        return self._magnitude or super().magnitude()

    def describe(self) -> dict[str, object]:
        """Adds whether rounding-level asymmetry was averaged away."""
        return super().describe() | {"symmetrised": self.symmetrised}
