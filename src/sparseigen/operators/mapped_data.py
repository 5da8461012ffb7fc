"""The covariance of data in a memory-mapped file, read block by block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import NonFiniteError
from sparseigen.inputs.arrays import CheckedArray, non_finite_message, row_blocks
from sparseigen.operators.contract import Indices, Matrix, Operator, Vector
from sparseigen.operators.moments import check_variances, degrees_of_freedom, gram_errors, scales


class MappedData(Operator):
    """A = D'D / (n - ddof) for an ``np.memmap`` of n samples x p variables that stays on disk.

    Every product reads the file once, a block of samples at a time, and centres each block in memory: the file is
    never copied whole and never written to.
    """

    positive_semidefinite = True
    psd_by_construction = True

    def __init__(self, data: CheckedArray, *, center: bool, scale: bool, ddof: int) -> None:
        self.file = data.values
        self.n_samples, self.size = self.file.shape
        self.dtype = self.file.dtype
        self.names = data.names
        self.divisor = degrees_of_freedom(self.n_samples, ddof)
        self.center, self.scale = center, scale
        sums = self._checked_sums()
        self.means = sums / self.n_samples if center else np.zeros(self.size)
        self.deviations = np.ones(self.size)
        variances = check_variances(self._variances())
        if scale:
            self.deviations = scales(variances, self.means, self.names)

    def _checked_sums(self) -> NDArray[np.float64]:
        sums = np.zeros(self.size)
        for rows in row_blocks(self.n_samples, self.size):
            block = np.asarray(self.file[rows])
            bad = ~np.isfinite(block)
            if bad.any():
                row, column = np.argwhere(bad)[0]
                what = f"X (rows {rows.start} to {rows.stop - 1})"
                message = non_finite_message(what, int(bad.sum()), rows.start + int(row), int(column), self.names)
                raise NonFiniteError(message)
            sums += block.sum(axis=0, dtype=np.float64)
        return sums

    def _blocks(self) -> Iterator[NDArray[np.floating]]:
        """Blocks of samples, centred and scaled."""
        for rows in row_blocks(self.n_samples, self.size):
            block = np.asarray(self.file[rows])
            yield ((block - self.means) / self.deviations).astype(self.dtype, copy=False)

    def _diagonal(self) -> NDArray[np.float64]:
        # Exactly one after scaling: rounding must not decide which of equal variances is the largest.
        return np.ones(self.size) if self.scale else self._variances()

    def _variances(self) -> NDArray[np.float64]:
        squares = np.zeros(self.size)
        with np.errstate(over="ignore"):
            for block in self._blocks():
                squares += np.einsum("ij,ij->j", block, block, dtype=np.float64)
        return squares / self.divisor

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """One pass: the scores of a block of samples are used while the block is in memory."""
        weights = weights.astype(self.dtype, copy=False)
        product = np.zeros(self.size)
        for block in self._blocks():
            product += block.T @ (block[:, indices] @ weights)
        return (product / self.divisor).astype(self.dtype, copy=False)

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices] in one pass."""
        out = np.zeros((self.size, len(indices)))
        for block in self._blocks():
            out += block.T @ block[:, indices]
        return (out / self.divisor).astype(self.dtype, copy=False)

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """A[:, indices] in one pass, every product in float64."""
        out = np.zeros((self.size, len(indices)))
        for block in self._blocks():
            accurate = block.astype(np.float64, copy=False)
            out += accurate.T @ accurate[:, indices]
        return out / self.divisor

    def entry_errors(self) -> NDArray[np.float64]:
        """Rounding of the dot products, of centring and scaling, and of the means."""
        return gram_errors(self.diagonal(), self.means, self.deviations, self.n_samples, self.divisor, self.dtype)

    def step_cost(self, cardinality: int) -> float:
        """The samples of k variables, then of all."""
        return float(self.n_samples) * (self.size + cardinality)

    def submatrix(self, indices: Indices) -> NDArray[np.float64]:
        """A[indices, indices], accumulated in float64."""
        out = np.zeros((len(indices), len(indices)))
        for block in self._blocks():
            chosen = block[:, indices].astype(np.float64)
            out += chosen.T @ chosen
        return out / self.divisor

    def block_apply(self, block: Matrix) -> Matrix:
        """A V in one pass."""
        vectors = block.astype(self.dtype, copy=False)
        out = np.zeros((self.size, vectors.shape[1]))
        for rows in self._blocks():
            out += rows.T @ (rows @ vectors)
        return (out / self.divisor).astype(self.dtype, copy=False)

    def describe(self) -> dict[str, object]:
        """Adds the number of samples and what is done to the columns."""
        return super().describe() | {"n_samples": self.n_samples, "center": self.center, "scale": self.scale}
