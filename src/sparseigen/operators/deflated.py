"""Deflation: A plus a low-rank change, never formed.

Every deflation of the literature is A + U M U' with a few columns in U:

========================  =========================  ======================
projection                U = [x, Ax]                M = [[x'Ax, -1], [-1, 0]]
Hotelling                 U = [x]                    M = [-x'Ax]
Schur complement          U = [Ax]                   M = [-1 / x'Ax]
orthogonalised Hotelling  U = [q]                    M = [-q'Aq], q = x less its part in the q before
========================  =========================  ======================

L. Mackey, "Deflation Methods for Sparse PCA", NIPS 2008.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparseigen.checks.arrays import row_blocks
from sparseigen.errors import IndefiniteWarning, RangeError, StartError
from sparseigen.operators.contract import Indices, Matrix, Operator, Vector, computed_once, describe_deflation
from sparseigen.operators.wrapped import WrappedOperator

LARGEST_PRODUCT = 2.0**500
SMALLEST_VALUE = 2.0**-1020
"""Variances up to this have no reciprocal."""
INDEFINITE = 1e-5
"""A variance below minus this share of the largest is none: it is more than the rounding of float32 products."""


class LowRankUpdated(WrappedOperator):
    """base + left middle left', with left of shape (size, r) and middle symmetric r x r."""

    def __init__(
        self,
        base: Operator,
        left: NDArray[np.float64],
        middle: ArrayLike,
        *,
        positive_semidefinite: bool | None,
        taken_out: tuple[str, ...] = (),
    ) -> None:
        super().__init__(base)
        self.left, self.middle, self.taken_out = left, np.asarray(middle, dtype=np.float64), taken_out
        self.positive_semidefinite = positive_semidefinite
        self.find_negative_part: Callable[[], float] | None = None
        """For updates that leave a positive semidefinite matrix so, but for the rounding of what is stored."""

    @property
    def negative_part(self) -> float:  # type: ignore[override]
        """From the rounding of the update, where the deflation is one that keeps the matrix semidefinite."""
        return np.inf if self.find_negative_part is None else self.find_negative_part()

    def _change(self, indices: Indices) -> NDArray[np.float64]:
        """The rows of left middle' at indices."""
        rows: NDArray[np.float64] = self.left[indices] @ self.middle
        return rows

    def _diagonal(self) -> NDArray[np.float64]:
        # Rounding can leave a tiny negative number where a positive semidefinite matrix has a zero.
        return np.maximum(self._stored_diagonal(), 0.0) if self.positive_semidefinite else self._stored_diagonal()

    def _stored_diagonal(self) -> NDArray[np.float64]:
        changed: NDArray[np.float64] = self.base.diagonal() + np.einsum("ij,ij->i", self.left @ self.middle, self.left)
        return changed

    @property
    def magnitude(self) -> float:
        """The base's: a deflated matrix lives on the scale of the one it came from."""
        return self.base.magnitude

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """The base's product plus r multiples of dense vectors."""
        product = self.base.apply_support(indices, weights)
        change = self.left @ (np.asarray(weights, dtype=np.float64) @ self._change(indices))
        return (product + change).astype(self.dtype, copy=False)

    def columns(self, indices: Indices) -> Matrix:
        """The base's columns plus a rank-r block."""
        return (self.base.columns(indices) + self.left @ self._change(indices).T).astype(self.dtype, copy=False)

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """The base's columns plus a rank-r block, in float64."""
        return self.base.accurate_columns(indices) + self.left @ self._change(indices).T

    def _accurate_block(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """The base's block plus a rank-r block."""
        return self.base._accurate_block(rows, columns) + self.left[rows] @ self._change(columns).T

    def entry_errors(self) -> NDArray[np.float64]:
        """Those of the base, and the rounding of r-term sums and of the final addition.

        The change's error is at most (2r + 4) roundings of |L_i|'|M||L_j|, and with P the matrix absolute value of
        |M| that is at most sqrt(|L_i|'P|L_i|) sqrt(|L_j|'P|L_j|). The final addition rounds numbers no larger than
        the largest magnitude in their row (the matrix meant is the one stored: base, L and M as they are). Where the
        diagonal was raised to zero, by that much.
        """
        return self._errors_once

    @computed_once
    def _errors_once(self) -> NDArray[np.float64]:
        values, vectors = np.linalg.eigh(np.abs(self.middle))
        absolute = (vectors * np.abs(values)) @ vectors.T
        rows = np.abs(self.left)
        spread = np.einsum("ij,ij->i", rows @ absolute, rows)
        largest = np.abs(self.base.diagonal()) if self.base.negative_part == 0.0 else _row_maxima(self.base)
        operations = 2.0 * self.left.shape[1] + 8.0
        rounding: NDArray[np.float64] = 2.0**-52 * operations * 1.01 * (np.maximum(spread, 0.0) + largest)
        # Products that underflow are off by an absolute amount, which the other factor may enlarge.
        rounding += operations * 2.0**-1060 * (1.0 + float(rows.max(initial=0.0)))
        return self.base.entry_errors() + rounding + (self.diagonal() - self._stored_diagonal())

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """The base's submatrix plus a rank-r block."""
        if columns is not None:
            crossed: NDArray[np.float64] = self.base.submatrix(rows, columns)
            return crossed + self._change(rows) @ self.left[columns].T
        block = self.base.submatrix(rows) + self._change(rows) @ self.left[rows].T
        symmetric: NDArray[np.float64] = 0.5 * (block + block.T)
        return symmetric

    def block_apply(self, block: Matrix) -> Matrix:
        """The base's product plus the rank-r part."""
        change = self.left @ (self.middle @ (self.left.T @ block))
        return (self.base.block_apply(block) + change).astype(self.dtype, copy=False)

    def _wrap(self, base: Operator) -> Operator:
        around = LowRankUpdated(
            base,
            self.left,
            self.middle,
            positive_semidefinite=self.positive_semidefinite,
            taken_out=self.taken_out,
        )
        around.find_negative_part = self.find_negative_part if base is self.base else None
        return around

    def _list_facts(self) -> dict[str, Any]:
        return {"deflation_rank": int(self.left.shape[1])} | describe_deflation(self.taken_out)


def _row_maxima(operator: Operator) -> NDArray[np.float64]:
    """The largest magnitude in each row of A, a block of columns at a time."""
    largest = np.zeros(operator.size)
    everything = np.arange(operator.size, dtype=np.int64)
    for columns in row_blocks(operator.size, operator.size):
        np.maximum(largest, np.abs(operator.accurate_columns(everything[columns])).max(axis=1), out=largest)
    return largest


def _update(
    operator: Operator, left: NDArray[np.float64], middle: ArrayLike, deflation: str, *, keeps_psd: bool
) -> LowRankUpdated:
    """One more low-rank change; a second one joins the first in one wrapper."""
    base, taken_out = operator, (*operator.taken_out, deflation)
    if isinstance(operator, LowRankUpdated):
        first, second = operator.middle, np.asarray(middle, dtype=np.float64)
        middle = np.zeros((len(first) + len(second),) * 2)
        middle[: len(first), : len(first)] = first
        middle[len(first) :, len(first) :] = second
        base, left = operator.base, np.hstack([operator.left, left])
    psd = operator.positive_semidefinite if keeps_psd else None
    return LowRankUpdated(base, left, middle, positive_semidefinite=psd, taken_out=taken_out)


def find_unit_vector(operator: Operator, vector: Vector) -> NDArray[np.float64]:
    """The vector to deflate by in float64 and of length one, if it has a length."""
    x = np.asarray(vector, dtype=np.float64)
    norm = float(np.linalg.norm(x))
    if x.shape != (operator.size,) or not norm > 0.0:
        message = f"deflation needs a non-zero vector of length {operator.size}, got shape {x.shape}, norm {norm}."
        raise StartError(message)
    return x / norm


def _product(operator: Operator, vector: Vector) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """x as a float64 unit vector, A x, and x'Ax."""
    x = find_unit_vector(operator, vector)
    support = np.flatnonzero(x)
    product = np.asarray(operator.apply_support(support, x[support]), dtype=np.float64)
    if not float(np.abs(product).max()) < LARGEST_PRODUCT:
        message = (
            f"deflation squares products of size {np.abs(product).max():.3g}; divide the matrix by a constant first."
        )
        raise RangeError(message)
    return x, product, float(x @ product)


def projection(operator: Operator, vector: Vector) -> Operator:
    """(I - xx') A (I - xx'): the paper's choice. Stays positive semidefinite and orthogonal to x."""
    return operator.deflated(vector)


def project_out(operator: Operator, vector: Vector) -> Operator:
    """The same as a low-rank change, for any operator."""
    x, product, value = _product(operator, vector)
    updated = _update(
        operator, np.column_stack([x, product]), [[value, -1.0], [-1.0, 0.0]], "projection", keeps_psd=True
    )
    updated.find_negative_part = cache(partial(_projection_defect, operator, x, product, value))
    return updated


def _projection_defect(operator: Operator, x: Vector, product: Vector, value: float) -> float:
    """How far the stored (I - xx') A (I - xx') can be from semidefinite.

    With q the stored product and v the stored value, the stored matrix is the exact one less x e' + e x' plus f xx',
    e = q - Ax, f = v - x'Ax; and the exact one reaches no lower than A does, whatever the length of x below sqrt(2).
    """
    before = operator.negative_part
    if np.isinf(before):
        return np.inf
    length, away, apart = _bound_rounding(operator, x, product)
    return (before + 2.0 * length * away + length**2 * apart) * 1.000001


def _bound_rounding(operator: Operator, x: Vector, product: Vector) -> tuple[float, float, float]:
    """The length of x, and bounds on the errors |q - Ax| and |v - x'Ax| of the stored product and value."""
    support = np.flatnonzero(x)
    weights, unit = x[support], 2.0**-52
    errors = operator.entry_errors()
    inherited = np.sqrt(errors) * float(np.abs(weights) @ np.sqrt(errors[support]))
    accurate, sizes = operator._accurate_product(support, weights)
    rounding = 2.0 * (len(support) + 4) * unit * (sizes + np.abs(product))
    away = float(np.linalg.norm(np.abs(accurate - product) + inherited + rounding)) * 1.000001
    length = float(np.linalg.norm(x)) * 1.000001
    apart = 2.0 * (len(x) + 4) * unit * float(np.abs(x) @ np.abs(product)) + length * away
    return length, away, apart


def hotelling(operator: Operator, vector: Vector) -> Operator:
    """A - (x'Ax) xx'. For a vector that is no eigenvector the result can be indefinite."""
    x, _, value = _product(operator, vector)
    return _update(operator, x[:, None], [[-value]], "hotelling", keeps_psd=False)


def schur_complement(operator: Operator, vector: Vector) -> Operator:
    """A - (Ax)(Ax)' / x'Ax: the covariance given the component. Stays positive semidefinite, and x is gone from it.

    Needs x'Ax > 0 and a positive semidefinite A. Where that fails x is projected out instead, with a warning.
    """
    return operator.deflated(vector, regress=True)


def regress_out(operator: Operator, vector: Vector) -> Operator:
    """The same as a low-rank change, for any operator.

    Of a semidefinite matrix (Ax)_i^2 <= A_ii x'Ax: where a variance would become negative, A is not semidefinite, and
    a division by x'Ax could make its entries as large as one likes.
    """
    x, product, value = _product(operator, vector)
    if value <= SMALLEST_VALUE:
        return _project_instead(operator, x, f"the component has x'Ax = {value:.3g}, not a variance above zero")
    updated = _update(operator, product[:, None], [[-1.0 / value]], "schur", keeps_psd=True)
    if operator.negative_part > 0.0:
        least, largest = float(updated._stored_diagonal().min()), float(np.abs(operator.diagonal()).max())
        if least < -INDEFINITE * largest and least < float(operator.diagonal().min()):
            return _project_instead(operator, x, "the matrix is not positive semidefinite")
    updated.find_negative_part = cache(partial(_schur_defect, operator, x, product, value))
    return updated


def _project_instead(operator: Operator, x: Vector, reason: str) -> Operator:
    message = (
        f"{reason}, so there is nothing to regress on: projection deflation takes this component out. "
        "deflation='projection' does so for all of them."
    )
    warnings.warn(message, IndefiniteWarning, stacklevel=7)  # who called sparse_components
    return operator.deflated(x)


def _schur_defect(operator: Operator, x: Vector, product: Vector, value: float) -> float:
    """How far the stored A - qq' / v can be from semidefinite, q and v the stored product and value of x.

    The exact complement is P'AP with P = I - x (Ax)' / x'Ax, which is as long as |x| |Ax| / x'Ax: it reaches that
    squared times as low as A does. With e = q - Ax the stored one differs by (qe' + eq' - ee') / v and by
    (Ax)(Ax)' times the error of 1 / v.
    """
    before = operator.negative_part
    if np.isinf(before):
        return np.inf
    length, away, apart = _bound_rounding(operator, x, product)
    if not 2.0 * apart <= value:
        return np.inf
    norm = float(np.linalg.norm(product)) * 1.000001
    stretch = length * (norm + away) / (value - apart)
    slanted = (2.0 * norm + away) * away / value
    scaled = (norm + away) * ((norm + away) / value) * (apart / (value - apart) + 2.0**-50)
    return (before * stretch**2 + slanted + scaled) * 1.00001


class OrthogonalisedHotelling(LowRankUpdated):
    """A less q'Aq qq' for orthonormal directions q, which are the columns of ``left``."""


def orthogonalised_hotelling(operator: Operator, vector: Vector) -> Operator:
    """Hotelling's deflation with the part of x that is orthogonal to the components before it.

    Variance a former component shares with x is not taken out twice, which is what makes plain Hotelling
    deflation indefinite.
    """
    earlier = operator.left if isinstance(operator, OrthogonalisedHotelling) else np.empty((operator.size, 0))
    x = np.asarray(vector, dtype=np.float64)
    rest = x - earlier @ (earlier.T @ x)
    if float(np.linalg.norm(rest)) <= 1e-10 * float(np.linalg.norm(x)):
        return operator  # the earlier components already span x: nothing of it is left to take out
    updated = hotelling(operator, rest)
    assert isinstance(updated, LowRankUpdated)
    taken_out = (*operator.taken_out, "orthogonal-hotelling")
    return OrthogonalisedHotelling(
        updated.base, updated.left, updated.middle, positive_semidefinite=None, taken_out=taken_out
    )


DEFLATIONS: dict[str, Callable[[Operator, Vector], Operator]] = {
    "projection": projection,
    "hotelling": hotelling,
    "orthogonal-hotelling": orthogonalised_hotelling,
    "schur": schur_complement,
}
"""Deflations by name. A new one is a function here and a row in this table."""
