"""The covariance of dense data, never formed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.arrays import CheckedArray, row_blocks
from sparseigen.checks.memory import check_room
from sparseigen.operators.contract import (
    LARGEST_MATERIALISED,
    AccessCosts,
    Indices,
    Matrix,
    Operator,
    PowerStep,
    SparseVector,
    Vector,
)
from sparseigen.operators.iteration import Iteration
from sparseigen.operators.matrix import DenseSymmetric, cut_parts, gram, multiply, multiply_transposed
from sparseigen.operators.moments import (
    check_variances,
    choose_scales,
    degrees_of_freedom,
    gram_errors,
    scaled_variances,
)
from sparseigen.operators.samples import DenseSamples, Samples
from sparseigen.operators.screening import SMALLEST_DATA, Memory, Screen

CACHED_ENTRIES = 1 << 15
"""Numbers that are copied, averaged and centred while they are in the cache."""
LONGEST_FUSED = 8192
"""Samples up to which a variable stays in the first caches between its two uses in a step."""
FUSED_SHARE = 0.3
"""Share of the variables chosen from which one pass for both products is faster than two; measured."""
SHORT_ROW = 32
"""Samples of a variable that cost what a row of the Gram matrix saves; about the variables of a support."""


class DenseData(Operator):
    """A = D'D / (n - ddof) for dense data D (n samples x p variables), centred and scaled as asked.

    The data are kept with one contiguous row per variable (column-major, seen from the caller), because a product
    reads k variables, then all of them: nk + np numbers. One copy is made when centring, scaling or a change of
    layout needs it; column-major input used as it is (``center=False``) is not copied.
    """

    negative_part = 0.0

    def __init__(self, data: CheckedArray, *, center: bool, scale: bool | str, ddof: int) -> None:
        values = data.values
        self.n_samples, self.size = values.shape
        self.dtype = values.dtype
        self.names = data.names
        self.divisor = degrees_of_freedom(self.n_samples, ddof)
        self.center, self.scale = center, scale
        check_copy_fits(values)
        self.variables, self.means = _store_by_variable(values, center=center)
        variances = check_variances(self._variances(), self.dtype)
        self.deviations = choose_scales(scale, variances, self.means, self.names)
        if scale:
            if np.shares_memory(self.variables, values):
                self.variables = self.variables.copy()
            for rows in row_blocks(self.size, self.n_samples):
                self.variables[rows] /= self.deviations[rows, None].astype(self.dtype)
        self.screen = Screen(self.variables, np.sqrt(self.diagonal() * self.divisor))

    def _diagonal(self) -> NDArray[np.float64]:
        # Exactly one after scaling: rounding must not decide which of equal variances is the largest.
        return scaled_variances(self.deviations) if self.scale is True else self._variances()

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

    def iteration(self, cardinalities: Sequence[int], *, nonnegative: bool = False) -> Iteration:
        """Steps that remember what screening needs."""
        return DataIteration(self, cardinalities, nonnegative=nonnegative)

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices] by one matrix product."""
        return multiply(self.variables, self.variables[indices].T / self.dtype.type(self.divisor))

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """A[:, indices] with float64 products whatever the data are stored in, laid out by columns."""
        chosen = self.variables[indices].astype(np.float64, copy=False) / self.divisor
        rows = np.empty((len(indices), self.size))  # the matrix is symmetric: rows are columns, and contiguous
        work = float(self.n_samples) * len(indices)
        exact = self.dtype == np.float64
        for part in cut_parts(self.size, work) if exact else row_blocks(self.size, self.n_samples):
            rows[:, part] = chosen @ self.variables[part].astype(np.float64, copy=False).T
        return rows.T

    def _accurate_block(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """A[rows, columns] by the same products as `accurate_columns`, of these variables alone."""
        chosen = self.variables[columns].astype(np.float64, copy=False) / self.divisor
        block: NDArray[np.float64] = self.variables[rows].astype(np.float64, copy=False) @ chosen.T
        return block

    def entry_errors(self) -> NDArray[np.float64]:
        """Rounding of the dot products, of centring and scaling, and of the means."""
        moments = (self.diagonal(), self.means, self.deviations, self.n_samples, self.divisor, self.dtype)
        return gram_errors(*moments, scale=self.scale)

    @property
    def factor_rank(self) -> int:  # type: ignore[override]
        """The samples, when they are fewer than the variables."""
        return self.n_samples if self.n_samples <= self.size else 0

    def factor_rows(self, rows: Indices | slice) -> NDArray[np.float64]:
        """The data themselves."""
        chosen: NDArray[np.float64] = self.variables[rows].astype(np.float64, copy=False)
        return chosen * float(1.0 / np.sqrt(self.divisor))

    @property
    def costs(self) -> AccessCosts:
        """The samples of k variables, then of all."""
        return AccessCosts(self.size, product=float(self.n_samples) * self.size, per_variable=float(self.n_samples))

    @property
    def samples(self) -> Samples:
        """The data as they are stored."""
        return DenseSamples(self.variables, self.diagonal() * self.divisor, centred=self.center)

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """A[rows, columns]; principal ones are accumulated in float64."""
        if columns is not None:
            if 2 * len(rows) > self.size:
                return super().submatrix(rows, columns)
            chosen = self.variables[columns].astype(np.float64, copy=False) / self.divisor
            return multiply(self.variables[rows].astype(np.float64, copy=False), chosen.T)
        whole = len(rows) == self.size and bool((np.diff(rows) == 1).all())
        product = gram(self.variables if whole else self.variables[rows])
        product /= self.divisor
        return product

    def block_apply(self, block: Matrix) -> Matrix:
        """A V by two matrix products."""
        scores = multiply_transposed(self.variables, block.astype(self.dtype, copy=False))
        return multiply(self.variables, scores / self.dtype.type(self.divisor))

    def deflated(self, vector: Vector, *, regress: bool = False) -> Operator:
        """The covariance of the data less the component, where a copy of them fits."""
        from sparseigen.operators.deflated_data import project_data, regress_data

        return regress_data(self, vector) if regress else project_data(self, vector)

    def prepared_for(self, n_products: int) -> Operator:
        """Form the Gram matrix where it pays: p small enough to hold it, and enough products to come.

        A matrix product runs about ten times faster per operation than the streaming products it replaces. With few
        samples these are as short as products with the matrix.
        """
        saved = n_products * (1.0 - min(0.9, SHORT_ROW / self.n_samples))
        if self.size > LARGEST_MATERIALISED // 2 or self.size > 10 * saved:
            return self
        # The Gram matrix carries the rounding of the data and of its own sums: certificates on it must cover them.
        matrix, errors = CheckedArray(self.to_dense(), "dense", self.names), self.entry_errors()
        return DenseSymmetric(matrix, positive_semidefinite=True, entry_errors=errors)

    def describe(self) -> dict[str, object]:
        """Adds the number of samples and what was done to the columns."""
        facts = super().describe() | {"n_samples": self.n_samples, "center": self.center, "scale": self.scale}
        return facts | {"screening": self.screen.describe()} if self.screen.worthwhile else facts


class DataIteration(Iteration):
    """Product and truncation in one; on large data only the variables that can be chosen are read."""

    operator: DenseData

    def __init__(self, operator: DenseData, cardinalities: Sequence[int], *, nonnegative: bool) -> None:
        super().__init__(operator, cardinalities, nonnegative=nonnegative)
        self.memories = [Memory() for _ in cardinalities]
        self.small = not operator.screen.worthwhile

    def step(self, vector: SparseVector, cardinality: int, run: int = 0) -> PowerStep:
        """One step; what it remembers makes the next one cheaper where that is a step from what this one chose."""
        if self.small and not self._fuses(cardinality):
            return self._small_step(vector, cardinality)
        data, screen, memory = self.operator, self.operator.screen, self.memories[run]
        scores = memory.combined_scores(vector.indices, vector.weights)
        if scores is None:
            scores = kernels.combine_rows(data.variables, vector.indices, vector.weights.astype(data.dtype, copy=False))
        wide = scores.astype(np.float64)
        value = kernels.inner_product(wide, wide) / data.divisor
        scaled = scores / data.dtype.type(data.divisor)
        bounds = None if self.nonnegative else screen.bounds(memory, scaled, cardinality)
        if bounds is None:
            product, kept, values, memory.combined = self._full_step(memory, scaled, cardinality)
            if screen.worthwhile:
                memory.reference = (scaled.astype(np.float64), product.astype(np.float64))
            screen.record(memory, "full", data.size, cardinality)
        else:
            kind, (lower, upper) = bounds
            guess = memory.smallest_kept or 0.0
            kept, values, memory.combined, read = kernels.bounded_step(
                data.variables, lower, upper, scaled, guess, cardinality
            )
            screen.record(memory, kind, read, cardinality)
        values = values.astype(np.float64)
        memory.values = None if memory.combined is None else values
        memory.smallest_kept = float(np.abs(values).min())
        memory.indices, memory.previous = kept, scaled.astype(np.float64)
        return PowerStep(kept, np.maximum(values, 0.0) if self.nonnegative else values, value)

    def multiply(self, vectors: Sequence[SparseVector]) -> Matrix:
        """Scores of each support, then one matrix product for all."""
        data = self.operator
        weighted = ((vector.indices, vector.weights.astype(data.dtype, copy=False)) for vector in vectors)
        scores = np.stack([kernels.combine_rows(data.variables, *chosen) for chosen in weighted])
        scores /= data.dtype.type(data.divisor)
        products = np.empty((len(vectors), data.size), dtype=data.dtype)
        for part in cut_parts(data.size, float(scores.size)):
            np.matmul(scores, data.variables[part].T, out=products[:, part])
        return products

    def _small_step(self, vector: SparseVector, cardinality: int) -> PowerStep:
        data, nonnegative = self.operator, self.nonnegative
        scores, kept, values = kernels.power_step(
            data.variables, vector.indices, vector.weights, data.divisor, cardinality, nonnegative=nonnegative
        )
        wide, values = scores.astype(np.float64, copy=False), values.astype(np.float64, copy=False)
        value = kernels.inner_product(wide, wide) / data.divisor
        return PowerStep(kept, np.maximum(values, 0.0) if nonnegative else values, value)

    def _fuses(self, cardinality: int) -> bool:
        return cardinality >= FUSED_SHARE * self.operator.size and self.operator.n_samples <= LONGEST_FUSED

    def _full_step(
        self, memory: Memory, scaled: Vector, cardinality: int
    ) -> tuple[Vector, Indices, Vector, Vector | None]:
        """Every variable's product, those kept and their values, and D_F x_F where one pass gives both."""
        variables = self.operator.variables
        if not self._fuses(cardinality) or memory.smallest_kept is None or self.nonnegative:
            product = kernels.row_dots(variables, scaled)
            kept = kernels.largest_magnitudes(product, cardinality, nonnegative=self.nonnegative)
            return product, kept, product[kept], None
        return kernels.fused_step(variables, scaled, memory.smallest_kept, cardinality)


def check_copy_fits(values: NDArray[np.floating]) -> None:
    """Refuse data whose copy by variables, and the bytes that screening adds, would not fit."""
    screening = values.size if values.nbytes >= SMALLEST_DATA else 0
    remedy = "save X as a .npy file and pass its path: files are read in passes, and memory_limit says what they take"
    check_room(values.nbytes + screening, f"the centred copy of X ({values.shape[0]} x {values.shape[1]})", remedy)


def _store_by_variable(
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
