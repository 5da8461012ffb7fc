"""A sparse symmetric matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.inputs.arrays import CheckedArray
from sparseigen.operators.contract import Indices, Matrix, Operator, Vector
from sparseigen.operators.dense import averaging_errors


class SparseSymmetric(Operator):
    """A sparse symmetric matrix in compressed rows; a product costs the non-zeros of k rows."""

    def __init__(self, matrix: CheckedArray) -> None:
        self.matrix = matrix.values
        self.size = self.matrix.shape[0]
        self.dtype = self.matrix.dtype
        self.names = matrix.names
        self.symmetrised = matrix.symmetrised
        self._magnitude = matrix.magnitude
        self._entry_errors = averaging_errors(matrix)
        if float(self.diagonal().min()) < 0.0:
            self.positive_semidefinite = False

    def _diagonal(self) -> NDArray[np.float64]:
        return np.asarray(self.matrix.diagonal(), dtype=np.float64)

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """Sum of k sparse rows."""
        matrix = self.matrix
        weights = weights.astype(self.dtype, copy=False)
        return kernels.sparse_combine_rows(matrix.indptr, matrix.indices, matrix.data, indices, weights, self.size)

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices] as a dense block of k columns."""
        return np.asarray(self.matrix[indices].toarray().T)

    def submatrix(self, indices: Indices) -> NDArray[np.float64]:
        """A[indices, indices] in float64."""
        return np.asarray(self.matrix[indices][:, indices].toarray(), dtype=np.float64)

    def block_apply(self, block: Matrix) -> Matrix:
        """A V by one sparse product."""
        return np.asarray(self.matrix @ block.astype(self.dtype, copy=False))

    def entry_errors(self) -> NDArray[np.float64]:
        """Zero, or the rounding of the average of a slightly asymmetric matrix."""
        return self._entry_errors

    def magnitude(self) -> float:
        """The largest |entry|, known from the check at the door."""
        return self._magnitude or super().magnitude()

    def describe(self) -> dict[str, object]:
        """Adds the number of stored entries and whether asymmetry was averaged away."""
        return super().describe() | {"nonzeros": int(self.matrix.nnz), "symmetrised": self.symmetrised}
