"""SciPy's `LinearOperator` as an operator: everything from products, columns by products with unit vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.coercion import plain_array
from sparseigen.errors import (
    DtypeError,
    InputError,
    NonFiniteError,
    NotSymmetricError,
    ShapeError,
    UnsupportedOperatorError,
    ZeroMatrixError,
)
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Matrix, Operator, Vector

ROUNDINGS = 16.0
"""Entries are taken to be right within this many units of the last place of the largest one."""
ALLOWED = {"float64": 1e-8, "float32": 1e-3}
"""How far, relative to the lengths involved, u'Av may be from v'Au, and a diagonal from the one found by products."""
PROBES = 4
"""Random vectors that the test of symmetry draws, and unit vectors that a diagonal is compared with."""
BLOCK_ENTRIES = 1 << 20


def from_linear_operator(linear: Any, diagonal: Any = None) -> Operator:
    """Stand for the symmetric matrix behind a `scipy.sparse.linalg.LinearOperator`.

    Parameters
    ----------
    linear : LinearOperator of shape (p, p)
        Real and symmetric. Its ``matmat`` is used where several products are needed at once.
    diagonal : array of shape (p,), optional
        The diagonal of the matrix, compared with a few products, and with every column that is read later. Without it
        p products with unit vectors are made, in blocks of about a million numbers; above p = 4096 it must be given.

    Returns
    -------
    Operator
        To be passed to `sparse_eigenvector` and every other function that takes a matrix; they also take ``linear``
        itself, as long as the diagonal need not be given.

    Raises
    ------
    NotSymmetricError
        If u'(Av) and v'(Au) differ for random vectors u and v.
    UnsupportedOperatorError
        If the diagonal is needed and would take too many products.

    Notes
    -----
    Symmetry is tested on random vectors, which finds any matrix that is not nearly symmetric (to 1e-8, in float32 to
    1e-3); entry by entry it is not looked at. Certificates read the entries from products with unit vectors, p of them
    for p up to 4096, and take each to be right within 16 units of the last place of the largest entry (above 4096 of
    the Frobenius norm, as random products show it). A diagonal that is given counts as right within as much, and
    within what the few products it is compared with show.

    That is an assumption, because nothing can be proven of products that are not seen. F'(Fv) with up to 30 rows in F
    meets it always, with more as a rule (n rows: n / 2 units at worst); a product that is less accurate (float32
    inside, an iterative solve, a matrix that is not symmetric to the last digits) does not. Where entries are off by
    more, both ends of the bracket can be off by k times as much. For a proof without it pass the matrix or the data.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> from scipy.sparse.linalg import LinearOperator
    >>> F = np.random.default_rng(0).standard_normal((20, 50))
    >>> gram = LinearOperator((50, 50), matvec=lambda v: F.T @ (F @ v), dtype=float)
    >>> operator = se.operators.from_linear_operator(gram, diagonal=(F**2).sum(axis=0))
    >>> same = se.sparse_eigenvector(F.T @ F, 5)
    >>> bool(np.isclose(se.sparse_eigenvector(operator, 5).value, same.value))
    True
    """
    from scipy.sparse.linalg import LinearOperator

    if not isinstance(linear, LinearOperator):
        message = f"expected a scipy.sparse.linalg.LinearOperator, got {type(linear).__name__}."
        raise UnsupportedOperatorError(message)
    rows, columns = linear.shape
    if rows != columns or rows == 0:
        message = f"the LinearOperator has shape {rows} x {columns}; it must be square and not empty."
        raise ShapeError(message)
    kind = np.dtype(np.float64) if linear.dtype is None else np.dtype(linear.dtype)
    if kind.kind not in "fiub":
        message = f"the LinearOperator has dtype {kind}; it must be real (float or int)."
        raise DtypeError(message)
    operator = ProductOperator(linear, np.dtype(np.float32 if kind == np.float32 else np.float64))
    _check_symmetric(operator)
    operator.take_diagonal(diagonal)
    return operator


class ProductOperator(Operator):
    """A symmetric matrix that is known by its products alone."""

    def __init__(self, linear: Any, dtype: np.dtype[Any]) -> None:
        self.linear, self.dtype = linear, dtype
        self.size = int(linear.shape[0])
        self._given_diagonal: NDArray[np.float64] | None = None
        self._by_vectors = False
        self.length = 0.0
        """About the Frobenius norm of the matrix or more, from products with random vectors."""
        self.apart = 0.0
        """The largest difference seen between a diagonal that was given and products."""

    def take_diagonal(self, diagonal: Any) -> None:
        """Use this diagonal after a look at a few entries; None: find it by products where that is affordable."""
        if diagonal is None:
            if self.size > LARGEST_MATERIALISED:
                message = (
                    f"the diagonal of a LinearOperator of size {self.size} would take {self.size} products; they are "
                    f"made up to size {LARGEST_MATERIALISED}. Pass it: "
                    "sparseigen.operators.from_linear_operator(linear, diagonal=...)."
                )
                raise UnsupportedOperatorError(message)
        else:
            self._given_diagonal = values = _check_diagonal(diagonal, self.size)
            places = np.unique(np.linspace(0, self.size - 1, PROBES).round().astype(np.int64))
            self.columns(np.union1d(places, [int(np.abs(values).argmax())]))
        if (
            not self.diagonal().any()
            and not self.block_apply(np.random.default_rng(0).standard_normal((self.size, 1))).any()
        ):
            msg = "the LinearOperator is zero: every sparse vector has value 0, so there is nothing to find."
            raise ZeroMatrixError(msg)

    def _diagonal(self) -> NDArray[np.float64]:
        if self._given_diagonal is not None:
            return self._given_diagonal
        diagonal = np.empty(self.size)
        step = self.costs.columns_at_once(BLOCK_ENTRIES)
        for begin in range(0, self.size, step):
            block = np.arange(begin, min(begin + step, self.size), dtype=np.int64)
            diagonal[block] = self.columns(block)[block, np.arange(len(block))]
        return diagonal

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """The product with the vector laid out in full."""
        vector = np.zeros(self.size, dtype=self.dtype)
        vector[indices] = weights
        return self._check_finite(np.asarray(self.linear.matvec(vector)).reshape(self.size))

    def columns(self, indices: Indices) -> Matrix:
        """Products with unit vectors."""
        units = np.zeros((self.size, len(indices)), dtype=self.dtype)
        units[indices, np.arange(len(indices))] = 1.0
        columns = self.block_apply(units)
        if self._given_diagonal is not None:
            self._compare_diagonal(self._given_diagonal, indices, columns)
        return columns

    def block_apply(self, block: Matrix) -> Matrix:
        """The LinearOperator's product with a block."""
        return self._check_finite(self._multiply(np.asarray(block, dtype=self.dtype)))

    def _multiply(self, block: Matrix) -> Matrix:
        if not self._by_vectors:
            try:
                return np.asarray(self.linear.matmat(block))
            except ValueError:  # SciPy hands a matvec columns of shape (p, 1); some are written for (p,) alone
                self._by_vectors = True
        products = [np.asarray(self.linear.matvec(vector)) for vector in block.T]
        return np.stack(products, axis=1) if products else np.zeros_like(block)

    def entry_errors(self) -> NDArray[np.float64]:
        """So many units of the largest entry, at every entry; where that is not known, of the norm.

        Numbers below the smallest normal one are spaced evenly: there the unit is the smallest of them. By what was
        seen between a diagonal that was given and the products the others are raised, too.
        """
        largest = self.magnitude if self.size <= LARGEST_MATERIALISED else max(self.magnitude, self.length)
        rounding = np.finfo(self.dtype)
        unit = float(rounding.eps) * largest + float(rounding.smallest_subnormal)
        return np.full(self.size, ROUNDINGS * unit + self.apart)

    def _compare_diagonal(self, diagonal: NDArray[np.float64], places: Indices, columns: Matrix) -> None:
        found = columns[places, np.arange(len(places))].astype(np.float64)
        allowed = ALLOWED[str(self.dtype)] * float(np.abs(columns).max(initial=0.0))
        apart = np.abs(diagonal[places] - found)
        self.apart = max(self.apart, float(apart.max(initial=0.0)))
        wrong = np.flatnonzero(apart > allowed)
        if wrong.size:
            place = int(places[wrong[0]])
            message = (
                f"diagonal[{place}] is {diagonal[place]:.6g}, but the product with unit vector {place} says "
                f"{found[wrong[0]]:.6g}; give the diagonal of the LinearOperator, or leave it out."
            )
            raise InputError(message)

    def _check_finite(self, product: Matrix) -> Matrix:
        if product.dtype.kind not in "fiub":
            message = f"a product of the LinearOperator has dtype {product.dtype}; it must be real (float or int)."
            raise DtypeError(message)
        product = product.astype(self.dtype, copy=False)
        if not np.isfinite(product).all():
            msg = "a product of the LinearOperator has NaN or infinite entries; all must be finite."
            raise NonFiniteError(msg)
        return product


def _check_symmetric(operator: ProductOperator) -> None:
    probes = np.random.default_rng(0).standard_normal((operator.size, PROBES))
    images = operator.block_apply(probes).astype(np.float64)
    operator.length = float(np.abs(images).max()) * operator.size**0.5
    images /= max(float(np.abs(images).max()), np.finfo(float).tiny)  # squares of extreme entries leave the range
    lengths = np.linalg.norm(probes, axis=0)[:, None] * np.linalg.norm(images, axis=0)[None, :]
    forms = probes.T @ images
    gap = np.abs(forms - forms.T) / np.maximum(np.maximum(lengths, lengths.T), np.finfo(float).tiny)
    if gap.max() > ALLOWED[str(operator.dtype)]:
        message = (
            f"the LinearOperator is not symmetric: u'Av and v'Au differ by {gap.max():.3g} of |u||Av| for random "
            "vectors. For data X (samples x variables) use covariance(X)."
        )
        raise NotSymmetricError(message)


def _check_diagonal(diagonal: Any, size: int) -> NDArray[np.float64]:
    values = plain_array(diagonal, "diagonal")
    if values.dtype.kind not in "fiub":
        message = f"diagonal has dtype {values.dtype}; it must be real numbers (float or int)."
        raise DtypeError(message)
    if values.shape != (size,):
        message = f"diagonal has shape {values.shape}; it must be a vector of length {size}."
        raise ShapeError(message)
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        msg = "diagonal has NaN or infinite entries; all must be finite."
        raise NonFiniteError(msg)
    return values
