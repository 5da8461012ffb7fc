"""The covariance of dense data, never formed."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.arrays import CheckedArray, row_blocks
from sparseigen.checks.memory import check_room
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Matrix, Operator, PowerStep, Vector
from sparseigen.operators.matrix import DenseSymmetric, gram, multiplied, parts, summed
from sparseigen.operators.moments import check_variances, degrees_of_freedom, gram_errors, scales
from sparseigen.operators.screening import SMALLEST_DATA, Run, Screen

CACHED_ENTRIES = 1 << 15
"""Numbers that are copied, averaged and centred while they are in the cache."""
LONGEST_FUSED = 8192
"""Samples up to which a variable stays in the first caches between its two uses in a step."""
FUSED_SHARE = 0.3
"""Share of the variables chosen from which one pass for both products is faster than two; measured."""


class DenseData(Operator):
    """A = D'D / (n - ddof) for dense data D (n samples x p variables), centred and scaled as asked.

    The data are kept with one contiguous row a variable (column-major, seen from the caller), because a product
    reads k variables, then all of them: nk + np numbers. One copy is made when centring, scaling or a change of
    layout needs it; column-major input used as it is (``center=False``) is not copied.
    """

    negative_part = 0.0

    def __init__(self, data: CheckedArray, *, center: bool, scale: bool, ddof: int) -> None:
        values = data.values
        self.n_samples, self.size = values.shape
        self.dtype = values.dtype
        self.names = data.names
        self.divisor = degrees_of_freedom(self.n_samples, ddof)
        self.center, self.scale = center, scale
        check_copy_fits(values)
        self.variables, self.means = _one_row_a_variable(values, center=center)
        variances = check_variances(self._variances(), self.dtype)
        self.deviations = scales(variances, self.means, self.names) if scale else np.ones(self.size)
        if scale:
            if np.shares_memory(self.variables, values):
                self.variables = self.variables.copy()
            for rows in row_blocks(self.size, self.n_samples):
                self.variables[rows] /= self.deviations[rows, None].astype(self.dtype)
        self.screen = Screen(self.variables, np.sqrt(self.diagonal() * self.divisor))
        self._runs: dict[int, Run] = {}

    def _diagonal(self) -> NDArray[np.float64]:
        # Exactly one after scaling: rounding must not decide which of equal variances is the largest.
        return np.ones(self.size) if self.scale else self._variances()

    def _variances(self) -> NDArray[np.float64]:
        squares = np.empty(self.size)
        with np.errstate(over="ignore"):
            for rows in row_blocks(self.size, self.n_samples):
                block = self.variables[rows].astype(np.float64, copy=False)
                squares[rows] = np.einsum("ij,ij->i", block, block)
        return squares / self.divisor

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """Scores of the k variables, then every variable's product with the scores."""
        scores = kernels.combine_rows(self.variables, indices, weights.astype(self.dtype, copy=False))
        scores /= self.dtype.type(self.divisor)
        return kernels.row_dots(self.variables, scores)

    def power_step(
        self, indices: Indices, weights: Vector, cardinality: int, *, nonnegative: bool = False
    ) -> PowerStep:
        """Product and truncation in one; on large data only the variables that can be chosen are read."""
        if not self.screen.worthwhile and not self._fusing(cardinality):
            return self._small_step(indices, weights, cardinality, nonnegative)
        run = self._run(indices)
        scores = run.combined_scores(indices, weights)
        if scores is None:
            scores = kernels.combine_rows(self.variables, indices, weights.astype(self.dtype, copy=False))
        wide = scores.astype(np.float64)
        value = kernels.inner_product(wide, wide) / self.divisor
        vector = scores / self.dtype.type(self.divisor)
        found = None if nonnegative else self.screen.bounds(run, vector, cardinality)
        if found is None:
            product, kept, values, run.combined = self._full_step(run, vector, cardinality, nonnegative)
            if self.screen.worthwhile:
                run.reference = (vector.astype(np.float64), product.astype(np.float64))
            self.screen.record(run, "full", self.size, cardinality)
        else:
            kind, (lower, upper) = found
            guess = run.smallest_kept or 0.0
            kept, values, run.combined, read = kernels.bounded_step(
                self.variables, lower, upper, vector, guess, cardinality
            )
            self.screen.record(run, kind, read, cardinality)
        values = values.astype(np.float64)
        run.values = None if run.combined is None else values
        run.smallest_kept = float(np.abs(values).min())
        run.indices, run.previous = kept, vector.astype(np.float64)
        return PowerStep(kept, np.maximum(values, 0.0) if nonnegative else values, value)

    def _small_step(self, indices: Indices, weights: Vector, cardinality: int, nonnegative: bool) -> PowerStep:
        scores, kept, values = kernels.power_step(
            self.variables, indices, weights, self.divisor, cardinality, nonnegative=nonnegative
        )
        wide, values = scores.astype(np.float64, copy=False), values.astype(np.float64, copy=False)
        value = kernels.inner_product(wide, wide) / self.divisor
        return PowerStep(kept, np.maximum(values, 0.0) if nonnegative else values, value)

    def _fusing(self, cardinality: int) -> bool:
        return cardinality >= FUSED_SHARE * self.size and self.n_samples <= LONGEST_FUSED

    def _full_step(
        self, run: Run, vector: Vector, cardinality: int, nonnegative: bool
    ) -> tuple[Vector, Indices, Vector, Vector | None]:
        """Every variable's product, those kept and their values, and D_F x_F where one pass gives both."""
        if not self._fusing(cardinality) or run.smallest_kept is None or nonnegative:
            product = kernels.row_dots(self.variables, vector)
            kept = kernels.largest_magnitudes(product, cardinality, nonnegative=nonnegative)
            return product, kept, product[kept], None
        return kernels.fused_step(self.variables, vector, run.smallest_kept, cardinality)

    def _run(self, indices: Indices) -> Run:
        """The memory of the run that goes on with these indices; a fresh one where another start begins.

        One run a thread: two solves at once on the same operator do not see each other.
        """
        thread = threading.get_ident()
        run = self._runs.get(thread)
        if run is None or run.indices is not indices:
            run = self._runs[thread] = Run()
        return run

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices] by one matrix product."""
        return multiplied(self.variables, self.variables[indices].T / self.dtype.type(self.divisor))

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """A[:, indices] with float64 products whatever the data are stored in, laid out by columns."""
        chosen = self.variables[indices].astype(np.float64, copy=False) / self.divisor
        rows = np.empty((len(indices), self.size))  # the matrix is symmetric: rows are columns, and contiguous
        work = float(self.n_samples) * len(indices)
        exact = self.dtype == np.float64
        for part in parts(self.size, work) if exact else row_blocks(self.size, self.n_samples):
            rows[:, part] = chosen @ self.variables[part].astype(np.float64, copy=False).T
        return rows.T

    def entry_errors(self) -> NDArray[np.float64]:
        """Rounding of the dot products, of centring and scaling, and of the means."""
        return gram_errors(self.diagonal(), self.means, self.deviations, self.n_samples, self.divisor, self.dtype)

    @property
    def factor_rank(self) -> int:  # type: ignore[override]
        """The samples, when they are fewer than the variables."""
        return self.n_samples if self.n_samples <= self.size else 0

    def factor_rows(self, rows: Indices | slice) -> NDArray[np.float64]:
        """The data themselves."""
        chosen: NDArray[np.float64] = self.variables[rows].astype(np.float64, copy=False)
        return chosen * float(1.0 / np.sqrt(self.divisor))

    def step_cost(self, cardinality: int) -> float:
        """The samples of k variables, then of all."""
        return float(self.n_samples) * (self.size + cardinality)

    def submatrix(self, indices: Indices) -> NDArray[np.float64]:
        """A[indices, indices], accumulated in float64."""
        whole = len(indices) == self.size and bool((np.diff(indices) == 1).all())
        product = gram(self.variables if whole else self.variables[indices])
        product /= self.divisor
        return product

    def block_apply(self, block: Matrix) -> Matrix:
        """A V by two matrix products."""
        scores = summed(self.variables, block.astype(self.dtype, copy=False))
        return multiplied(self.variables, scores / self.dtype.type(self.divisor))

    def prepared_for(self, n_products: int) -> Operator:
        """Form the Gram matrix where it pays: p small enough to hold it, and enough products to come.

        A matrix product runs about ten times faster per operation than the streaming products it replaces.
        """
        if self.size > LARGEST_MATERIALISED // 2 or self.size > 10 * n_products:
            return self
        # The Gram matrix carries the rounding of the data and of its own sums: certificates on it must cover them.
        matrix, errors = CheckedArray(self.to_dense(), "dense", self.names), self.entry_errors()
        return DenseSymmetric(matrix, positive_semidefinite=True, entry_errors=errors)

    def describe(self) -> dict[str, object]:
        """Adds the number of samples and what was done to the columns."""
        facts = super().describe() | {"n_samples": self.n_samples, "center": self.center, "scale": self.scale}
        return facts | {"screening": self.screen.describe()} if self.screen.worthwhile else facts


def check_copy_fits(values: NDArray[np.floating]) -> None:
    """Refuse data whose copy by variables, and the bytes that screening adds, would not fit."""
    screening = values.size if values.nbytes >= SMALLEST_DATA else 0
    remedy = "save X as a .npy file and pass its path: files are read in passes, and memory_limit says what they take"
    check_room(values.nbytes + screening, f"the centred copy of X ({values.shape[0]} x {values.shape[1]})", remedy)


def _one_row_a_variable(
    values: NDArray[np.floating], *, center: bool
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """The transposed data in C order, centred, and the means; the caller's memory where nothing has to change.

    Means are taken of the contiguous float64 copy, so that they do not depend on how the caller's array is laid out:
    NumPy adds up rows in another order than columns.
    """
    n_samples, size = values.shape
    means = np.zeros(size)
    if not center:
        return np.ascontiguousarray(values.T), means
    variables = np.empty((size, n_samples), dtype=values.dtype)
    step = max(1, CACHED_ENTRIES // n_samples)
    for begin in range(0, size, step):
        part = slice(begin, begin + step)
        block = np.array(values[:, part].T, dtype=np.float64, order="C")
        with np.errstate(over="ignore"):
            means[part] = block.mean(axis=1)
            np.subtract(block, means[part, None], out=variables[part], casting="same_kind")
    return variables, means
