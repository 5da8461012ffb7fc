"""Leading eigenpairs of operators: of all variables, on a support, and on supports that change by a few variables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.factor import place_like, to_host
from sparseigen.kernels.eigen import leading_eigenpair, run_arpack, warm_eigenpair
from sparseigen.operators.contract import Indices, Operator, SparseVector, Weights, scale_exponent
from sparseigen.operators.matrix import multiply, multiply_transposed

LARGEST_DENSE = 512
LARGEST_DECOMPOSED = 200
"""Up to this size leading eigenvectors come from a full decomposition."""
NARROW = 512
"""Columns of a factor up to which its Gram matrix costs less than Lanczos' products."""
ROUNDS = 30
"""Power steps in place of Lanczos where that fails."""


def lower_end(operator: Operator) -> float:
    """An estimate of the smallest eigenvalue, a little on the low side."""
    if operator.size <= LARGEST_DENSE:
        matrix, exponent = _scale_to_middle(operator.to_dense())
        values = np.linalg.eigvalsh(matrix)
        return math.ldexp(float(values[0]) - 1e-12 * float(np.abs(values).max()), exponent)
    start = np.sqrt(np.abs(operator.diagonal())) + 1.0 + np.sin(np.arange(operator.size))  # generic and reproducible
    options: dict[str, Any] = {"which": "SA", "tol": 1e-4, "return_eigenvectors": False}
    values, _ = run_arpack(_product_with(operator), 1, start, **options)
    if len(values):
        value = float(values[0])
    else:  # a longer run is not worth it: the norm of the matrix is a safe shift
        value = -float(np.linalg.norm(operator.block_apply(start[:, None])) / np.linalg.norm(start)) * 2.0
    return value - 1e-3 * abs(value)


def _product_with(operator: Operator) -> Callable[[Weights], Weights]:
    return lambda vector: operator.block_apply(vector.reshape(-1, 1)).astype(float)


def _scale_to_middle(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """The matrix times 2 ** -exponent, and the exponent: LAPACK does not converge on some matrices beyond 1e146."""
    exponent = scale_exponent(float(np.abs(matrix).max()))
    return (np.ldexp(matrix, -exponent) if exponent else matrix), exponent


def leading_eigenvector(operator: Operator) -> NDArray[np.float64]:
    """The eigenvector of the largest eigenvalue."""
    vector: NDArray[np.float64] = leading_eigenvectors(operator, 1)[:, 0]
    return vector


def leading_eigenvectors(operator: Operator, count: int) -> NDArray[np.float64]:
    """Eigenvectors of the largest eigenvalues, one per column, largest first.

    LAPACK where the matrix is small, or its factor narrow and in this memory; Lanczos from products above.
    """
    size = operator.size
    if 0 < operator.factor_rank < size and operator.factor_rank <= NARROW and not operator.costs.transfers:
        found = _decompose_factor(operator, count)
        if found is not None:
            return found
    if size <= LARGEST_DECOMPOSED or count >= size - 1:
        vectors = np.linalg.eigh(_scale_to_middle(operator.to_dense())[0])[1]
        return np.ascontiguousarray(vectors[:, ::-1][:, :count])
    start = np.sqrt(np.abs(operator.diagonal())) + np.sin(np.arange(size))  # generic and reproducible
    _, vectors = run_arpack(_product_with(operator), count, start, tol=1e-10)
    if vectors.shape[1] != count:
        return _iterate_block(operator, count)
    return np.ascontiguousarray(np.linalg.qr(vectors[:, ::-1])[0])


def _decompose_factor(operator: Operator, count: int) -> NDArray[np.float64] | None:
    """The same from F'F, A = FF'; None where that many eigenvalues do not stand out from rounding."""
    rows = operator.factor_rows(slice(None))
    with np.errstate(over="ignore", invalid="ignore"):
        small = multiply_transposed(rows, rows)
    if count > len(small) or not np.isfinite(small).all():
        return None
    values, vectors = np.linalg.eigh(_scale_to_middle(small)[0])
    if not values[-count] > NARROW * np.finfo(np.float64).eps * values[-1]:
        return None
    images: NDArray[np.float64] = multiply(rows, np.ascontiguousarray(vectors[:, : -count - 1 : -1]))
    return np.ascontiguousarray(np.linalg.qr(images)[0])


def _iterate_block(operator: Operator, count: int) -> NDArray[np.float64]:
    """The same by plain power steps from the variables of largest diagonal, for numbers that ARPACK fails on.

    It fails where entries differ by a hundred powers of ten; then a few steps are many.
    """
    block = np.zeros((operator.size, count))
    block[np.argsort(-np.abs(operator.diagonal()), kind="stable")[:count], np.arange(count)] = 1.0
    for _ in range(ROUNDS):
        image = np.asarray(operator.block_apply(block.astype(operator.dtype)), dtype=np.float64)
        largest = float(np.abs(image).max())
        if not 0.0 < largest < np.inf:
            break
        block = np.linalg.qr(image / largest)[0]
    return np.ascontiguousarray(block)


class SupportBlock:
    """A on a support that changes by a few variables at a time.

    The block lives in one buffer in the order in which variables came; a variable that leaves is replaced by the
    last one. A move costs one row of A for each variable that enters.
    """

    def __init__(self, operator: Operator, capacity: int) -> None:
        self.operator = operator
        self.diagonal = operator.diagonal()
        self.size = 0
        self._order = np.zeros(capacity, dtype=np.int64)
        self._buffer = np.zeros((capacity, capacity))
        self._place = np.full(operator.size, -1, dtype=np.int64)

    @property
    def order(self) -> Indices:
        """The variables in the order of the block's rows and columns."""
        return self._order[: self.size]

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The block itself."""
        return self._buffer[: self.size, : self.size]

    def move_to(self, indices: Indices) -> None:
        """Make the block that of another support."""
        wanted = np.zeros(self.operator.size, dtype=bool)
        wanted[indices] = True
        for variable in self.order[~wanted[self.order]]:
            self._remove(int(variable))
        entering = indices[self._place[indices] < 0]
        if entering.size:
            if self.operator.costs.transfers:  # only what the block needs: the entering variables' rows within it
                known = np.concatenate([self.order, entering])
                columns = self.operator.submatrix(known, entering)
                places = np.arange(len(known))
            else:
                columns = np.asarray(self.operator.columns(entering), dtype=np.float64)
                places = np.concatenate([self.order, entering])
            for variable, column in zip(entering, columns.T, strict=True):
                self._add(int(variable), column[places[: self.size]])

    def _add(self, variable: int, row: NDArray[np.float64]) -> None:
        size = self.size
        self._buffer[size, :size] = row
        self._buffer[:size, size] = row
        self._buffer[size, size] = self.diagonal[variable]
        self._place[variable], self._order[size] = size, variable
        self.size = size + 1

    def _remove(self, variable: int) -> None:
        place, last = int(self._place[variable]), self.size - 1
        moved = int(self._order[last])
        if place != last:
            self._buffer[place, :last] = self._buffer[last, :last]
            self._buffer[:last, place] = self._buffer[:last, last]
            self._buffer[place, place] = self.diagonal[moved]
            self._order[place], self._place[moved] = moved, place
        self._place[variable] = -1
        self.size = last


LARGEST_DIRECT = 128
"""Above this many variables the k x k problem is solved by Lanczos from the start's weights, to a residual of 1e-7."""
LARGEST_DENSE_PROBLEM = 1024
"""Up to this many variables the k x k eigenproblem is solved by LAPACK, above by Lanczos from products."""


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
    if has_narrow_factor(operator, len(indices)) and not nonnegative:
        return _best_from_factor(operator, start)
    return best_of_block(operator.submatrix(indices), start, nonnegative=nonnegative)


def has_narrow_factor(operator: Operator, cardinality: int) -> bool:
    """Whether A on a support is better seen as FF' with F much narrower than the support is large."""
    return cardinality > LARGEST_DIRECT and 0 < 2 * operator.factor_rank <= cardinality and not operator.costs.transfers


def _best_from_factor(operator: Operator, start: SparseVector) -> tuple[SparseVector, float]:
    """The leading eigenpair of FF' from that of F'F."""
    factor: NDArray[np.float64] = operator.factor_rows(start.indices)
    vector, _ = warm_eigenpair(factor.T @ factor, start.weights @ factor)
    weights = factor @ vector
    length = float(np.linalg.norm(weights))
    if not length > 0.0:
        return best_of_block(operator.submatrix(start.indices), start)
    weights /= length
    scores = weights @ factor
    return SparseVector(start.indices, weights), float(scores @ scores)


def best_of_block(
    matrix: NDArray[np.float64], start: SparseVector, *, nonnegative: bool = False
) -> tuple[SparseVector, float]:
    """The same where A on the support is at hand."""
    large = len(matrix) > LARGEST_DIRECT and not nonnegative
    weights, _ = warm_eigenpair(matrix, start.weights) if large else leading_eigenpair(matrix)
    if nonnegative:
        weights, _ = _nonnegative(matrix, weights, start.weights)
    # Not the eigenvalue: its error is that of the largest entry, be it at a variable of next to no weight.
    return SparseVector(start.indices, weights), float(weights @ matrix @ weights)


def _lanczos_on_support(operator: Operator, start: SparseVector, nonnegative: bool) -> tuple[SparseVector, float]:
    indices = start.indices
    if nonnegative:  # projected power iterations keep the start's value or better
        return start, value_on_support(operator, start)
    if operator.costs.transfers and 0 < operator.factor_rank <= LARGEST_DENSE_PROBLEM:
        return _solve_by_samples(operator, start)

    def multiply(weights: Weights) -> Weights:
        return operator.apply_support(indices, weights.ravel())[indices].astype(float)

    # Where transfers cost, only the support's own rows are asked for: k numbers come back instead of p.
    product = _product_with(operator.restricted(indices)) if operator.costs.transfers else multiply
    v0 = start.weights if start.weights.any() else np.ones(len(indices))
    _, vectors = run_arpack(product, 1, v0, tol=1e-10, maxiter=300)
    vectors = vectors if vectors.size else start.weights[:, None]
    best = SparseVector(indices, vectors[:, 0] / np.linalg.norm(vectors[:, 0]))
    return best, value_on_support(operator, best)


def _solve_by_samples(operator: Operator, start: SparseVector) -> tuple[SparseVector, float]:
    """From the n x n matrix F'F of the support's rows, made where they live: one round trip, not one per product."""
    rows = operator.factor_rows(start.indices)
    scores = to_host(place_like(start.weights, rows) @ rows)
    vector, value = warm_eigenpair(to_host(rows.T @ rows), scores)
    weights = to_host(rows @ place_like(vector, rows))
    length = float(np.linalg.norm(weights))
    if not length > 0.0:
        return start, 0.0
    return SparseVector(start.indices, weights / length), value


def value_on_support(operator: Operator, vector: SparseVector) -> float:
    """x'Ax in float64."""
    product = operator.apply_support(vector.indices, vector.weights)[vector.indices]
    return float(vector.weights @ product.astype(np.float64))


def recompute_value(operator: Operator, vector: SparseVector) -> float:
    """x'Ax from the k x k block where it is small, from a product otherwise."""
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
