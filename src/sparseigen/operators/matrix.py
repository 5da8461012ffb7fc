"""Symmetric matrices given explicitly, dense or sparse, and matrix products that can be interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.arrays import CheckedArray
from sparseigen.kernels.eigen import has_one_blas_thread
from sparseigen.operators.contract import Indices, Matrix, Operator, PowerStep, SparseVector, Vector
from sparseigen.operators.iteration import Iteration, Look

Numbers = NDArray[Any]
Piece = TypeVar("Piece")

LARGEST_CALL = 1 << 31
"""Multiplications of one call, a tenth of a second or so: BLAS looks at no signal before it is done."""

SHARED_CALL = 1 << 27
"""Multiplications above which threads of our own share a product: some milliseconds."""

CONVERTED = 1 << 22
"""Entries converted to float64 at a time."""


PRODUCTS_AT_ONCE, LARGEST_PRODUCT = 4, 1 << 23
"""Parts of a sum of products that are in memory at a time, and the entries of one above which it is alone."""


def cut_parts(count: int, work_each: float) -> list[slice]:
    """``range(count)`` in as few parts as keep a call within `LARGEST_CALL`.

    Examples
    --------
    >>> cut_parts(10, 1.0), cut_parts(10, LARGEST_CALL / 4)
    ([slice(0, 10, None)], [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)])
    """
    step = max(1, min(count, int(LARGEST_CALL / max(work_each, 1.0))))
    return [slice(begin, min(begin + step, count)) for begin in range(0, count, step)]


def map_pieces(function: Callable[[slice], Piece], pieces: Sequence[slice]) -> list[Piece]:
    """The function's values in the order of the pieces, in threads where BLAS itself has only one."""
    workers = min(kernels.thread_count(), len(pieces)) if has_one_blas_thread() else 1
    if workers <= 1:
        return [function(piece) for piece in pieces]
    with ThreadPoolExecutor(workers) as threads:
        return list(threads.map(function, pieces))


def _cut_for_threads(count: int, work_each: float) -> list[slice]:
    """`cut_parts`, into an even number at least where threads of our own share a long product."""
    shared = has_one_blas_thread() and count * work_each > SHARED_CALL
    return cut_parts(count, max(work_each, 2.0 * LARGEST_CALL / (count + 1)) if shared else work_each)


def multiply(left: Numbers, right: Numbers) -> Numbers:
    """``left @ right``, some rows of the left factor at a time."""
    pieces = _cut_for_threads(len(left), float(left.shape[1]) * right.shape[1])
    if len(pieces) <= 1:
        product: Numbers = left @ right
        return product
    out = np.empty((len(left), right.shape[1]), dtype=np.result_type(left, right))

    def fill(piece: slice) -> None:
        np.matmul(left[piece], right, out=out[piece])

    map_pieces(fill, pieces)
    return out


def multiply_transposed(left: Numbers, right: Numbers, onto: Numbers | None = None) -> Numbers:
    """``left.T @ right``, some rows of both at a time; added to ``onto`` where that is given."""
    pieces = _cut_for_threads(len(left), float(left.shape[1]) * right.shape[1])

    def form(piece: slice) -> Numbers:
        product: Numbers = left[piece].T @ right[piece]
        return product

    # A few at a time: all products at once would be many times the result.
    at_once = PRODUCTS_AT_ONCE if left.shape[1] * right.shape[1] <= LARGEST_PRODUCT else 1
    for begin in range(0, max(len(pieces), 1), at_once):
        products = map_pieces(form, pieces[begin : begin + at_once] or [slice(None)])
        while products:
            product = products.pop(0)
            if onto is None:
                onto = product
            else:
                onto += product
            del product  # before the next is made
    assert onto is not None
    return onto


def gram(rows: Numbers) -> NDArray[np.float64]:
    """``rows @ rows.T`` in float64, symmetric to the bit; some columns at a time."""
    count = float(len(rows))
    # Numbers that have to be converted are so in blocks: a copy in float64 of all would be twice the data.
    converted = 0.0 if rows.dtype == np.float64 else LARGEST_CALL * count / CONVERTED
    pieces = cut_parts(rows.shape[1], max(0.5 * count**2, converted))
    out = np.zeros((len(rows), len(rows)))
    for number, piece in enumerate(pieces):
        block = rows[:, piece].astype(np.float64, copy=False)
        if number == 0:
            out = block @ block.T
        else:
            out += block @ block.T
    return out


def averaging_errors(matrix: CheckedArray) -> NDArray[np.float64]:
    """The rounding of (A + A') / 2 where the check had to average: one unit of the largest entry."""
    errors = np.zeros(matrix.values.shape[0])
    if matrix.symmetrised:
        rounding = np.finfo(matrix.values.dtype)
        errors += float(rounding.eps) * matrix.magnitude + float(rounding.smallest_subnormal)
    return errors


class ExplicitMatrix(Operator):
    """A symmetric matrix whose entries are there, kept as the caller gave it: no copy, never written to."""

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

    def entry_errors(self) -> NDArray[np.float64]:
        """Zero for the caller's own matrix; what was passed on for one that was computed from data."""
        return self._entry_errors

    @property
    def magnitude(self) -> float:
        """The largest |entry|, known from the check of the caller's matrix."""
        return self._magnitude or super().magnitude

    def describe(self) -> dict[str, object]:
        """Adds whether rounding-level asymmetry was averaged away."""
        return super().describe() | {"symmetrised": self.symmetrised}


class DenseSymmetric(ExplicitMatrix):
    """A dense symmetric matrix: a product adds up k rows."""

    def iteration(self, cardinalities: Sequence[int], *, nonnegative: bool = False) -> Iteration:
        """Steps in one call each, or several short ones at a time."""
        return SymmetricIteration(self, cardinalities, nonnegative=nonnegative)

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """Sum of k rows: the matrix is symmetric, and rows are contiguous."""
        return kernels.combine_rows(self.matrix, indices, weights.astype(self.dtype, copy=False))

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices], read as rows."""
        selected: Matrix = self.matrix[indices].T
        return selected

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """A[rows, columns] in float64."""
        return np.asarray(self.matrix[np.ix_(rows, rows if columns is None else columns)], dtype=np.float64)

    def block_apply(self, block: Matrix) -> Matrix:
        """A V by one matrix product."""
        return multiply(self.matrix, block.astype(self.dtype, copy=False))


SHORT_WORK, MOST_AT_ONCE = 1 << 16, 8
"""Multiplications of the steps that are made in one call, tens of microseconds, and their number: steps beyond the end
of a run are made in vain, and one look at a step costs about as much as two thousand multiplications."""


class SymmetricIteration(Iteration):
    """The steps of Algorithm 1 with a dense matrix in memory."""

    def __init__(self, operator: DenseSymmetric, cardinalities: Sequence[int], *, nonnegative: bool) -> None:
        super().__init__(operator, cardinalities, nonnegative=nonnegative)
        self.matrix = operator.matrix
        work = max(1, max(cardinalities, default=1) * operator.size)
        self.at_once = max(1, min(MOST_AT_ONCE, SHORT_WORK // work))
        self.on_host = self.at_once == 1  # nobody looks at the iterates of steps that take microseconds
        self.passed: dict[int, tuple[SparseVector, Indices, NDArray[np.float64]]] = {}

    def step(self, vector: SparseVector, cardinality: int, run: int = 0) -> PowerStep:
        """Product, value and truncation in one call."""
        found = kernels.symmetric_step(
            self.matrix, vector.indices, vector.weights, cardinality, nonnegative=self.nonnegative
        )
        return PowerStep(*found)

    def advance(self, runs: Sequence[int], most: int, *, ahead: bool = True) -> Sequence[Iterable[Look]]:
        """Several steps at a time where they are short."""
        if self.at_once == 1 or len(runs) > 1:
            self.passed.clear()
            return super().advance(runs, most, ahead=ahead)
        return [self._make_many(run, min(most, self.at_once)) for run in runs]

    def _make_many(self, run: int, most: int) -> list[Look]:
        vector, following = self.vectors[run], self.following[run]
        indices, values, lengths, forms, repeated = kernels.symmetric_steps(
            self.matrix, following.indices, following.values, most, nonnegative=self.nonnegative
        )
        self.passed[run] = vector, indices, values
        made, form = len(forms), following.quadratic_form
        first = np.array_equal(indices[0], vector.indices)
        looks = list(zip(forms.tolist(), lengths.tolist(), [first, *repeated.tolist()], strict=False))
        if made:
            form = looks[-1][0]
            self.vectors[run] = SparseVector(indices[made - 1], values[made - 1])
            self.following[run] = PowerStep(indices[made], values[made], form)
        if made < most:  # A x = 0: the product leads nowhere else
            looks.append((form, 0.0, False))
        return looks

    def iterate(self, run: int, step: int) -> SparseVector:
        """Any iterate of the last steps."""
        if run not in self.passed:
            return self.vectors[run]
        begun, indices, values = self.passed[run]
        return begun if step == 0 else SparseVector(indices[step - 1], values[step - 1])


class SparseSymmetric(ExplicitMatrix):
    """A sparse symmetric matrix in compressed rows; a product costs the non-zeros of k rows."""

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """Sum of k sparse rows."""
        matrix = self.matrix
        weights = weights.astype(self.dtype, copy=False)
        return kernels.sparse_combine_rows(matrix.indptr, matrix.indices, matrix.data, indices, weights, self.size)

    def columns(self, indices: Indices) -> Matrix:
        """A[:, indices] as a dense block of k columns."""
        return np.asarray(self.matrix[indices].toarray().T)

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """A[rows, columns] in float64."""
        return np.asarray(self.matrix[rows][:, rows if columns is None else columns].toarray(), dtype=np.float64)

    def block_apply(self, block: Matrix) -> Matrix:
        """A V by one sparse product."""
        return np.asarray(self.matrix @ block.astype(self.dtype, copy=False))

    def describe(self) -> dict[str, object]:
        """Adds the number of stored entries."""
        return super().describe() | {"nonzeros": int(self.matrix.nnz)}
