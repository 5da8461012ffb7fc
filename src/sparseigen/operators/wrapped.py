"""Operators made of another one: shifted, scaled, restricted to some variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.operators.contract import LARGEST_MATERIALISED, Answer, Indices, Matrix, Operator, Vector, Weights

LARGEST_PLAIN_EXPONENT = 200
"""Entries between 2**-200 and 2**200 are searched as they are."""


class ShiftedOperator(Operator):
    """sign * A + shift * I: the paper's remark for indefinite matrices, and the smallest sparse eigenvalue."""

    def __init__(self, base: Operator, *, sign: float = 1.0, shift: float = 0.0) -> None:
        self.base, self.sign, self.shift = base, float(sign), float(shift)
        self.size, self.dtype, self.names = base.size, base.dtype, base.names
        if base.positive_semidefinite and self.sign > 0.0 and self.shift >= 0.0:
            self.positive_semidefinite = True

    def magnitude(self) -> float:
        """The base's, scaled and shifted."""
        return abs(self.sign) * self.base.magnitude() + abs(self.shift)

    def _diagonal(self) -> NDArray[np.float64]:
        return self.sign * self.base.diagonal() + self.shift

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """The base's product, plus the shift on the support."""
        product = self.sign * self.base.apply_support(indices, weights).astype(self.dtype, copy=False)
        product[indices] += (self.shift * weights).astype(self.dtype, copy=False)
        return product.astype(self.dtype, copy=False)

    def columns(self, indices: Indices) -> Matrix:
        """The base's columns with the shift on the diagonal."""
        columns = np.array(self.sign * self.base.columns(indices))
        columns[indices, np.arange(len(indices))] += self.shift
        return columns.astype(self.dtype, copy=False)

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """The base's columns with the shift on the diagonal."""
        columns = self.sign * self.base.accurate_columns(indices)
        columns[indices, np.arange(len(indices))] += self.shift
        return columns

    def entry_errors(self) -> NDArray[np.float64]:
        """Those of the base, and one rounding of the shifted diagonal."""
        errors = abs(self.sign) * self.base.entry_errors()
        return errors + (2.0**-52 * np.abs(self.diagonal()) if self.shift != 0.0 else 0.0)

    def step_cost(self, cardinality: int) -> float:
        """The base's."""
        return self.base.step_cost(cardinality)

    def submatrix(self, indices: Indices) -> NDArray[np.float64]:
        """The base's submatrix with the shift on the diagonal."""
        block: NDArray[np.float64] = self.sign * self.base.submatrix(indices)
        block[np.diag_indices(len(indices))] += self.shift
        return block

    def block_apply(self, block: Matrix) -> Matrix:
        """The base's product plus shift times the block."""
        product: Matrix = self.sign * self.base.block_apply(block) + self.shift * block
        return product.astype(self.dtype, copy=False)

    def top_row_sums(
        self, rows: Indices, weights: Weights, count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The base's, whose magnitudes off the diagonal are the same; from the columns where a factor scales them."""
        if abs(self.sign) != 1.0:
            return super().top_row_sums(rows, weights, count)
        return self.base.top_row_sums(rows, weights, count)

    def quadratic_form(self, indices: Indices, weights: Vector) -> tuple[float, float]:
        """The base's, plus the shift times x'x, a sum of k terms; from the columns where a factor scales them."""
        if abs(self.sign) != 1.0:
            return super().quadratic_form(indices, weights)
        form, error = self.base.quadratic_form(indices, weights)
        added = self.shift * float(np.dot(weights, weights))
        rounding = 2.0**-52 * ((len(indices) + 4) * abs(added) + abs(form))
        return self.sign * form + added, error * (1.0 + 2.0**-50) + rounding

    def shifted(self, shift: float) -> Operator:
        """Another shift on top, in the same wrapper."""
        return ShiftedOperator(self.base, sign=self.sign, shift=self.shift + shift)

    def negated(self) -> Operator:
        """The negative, in the same wrapper."""
        return ShiftedOperator(self.base, sign=-self.sign, shift=-self.shift)

    def together(self, work: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """As the base does it."""
        return self.base.together(work)

    def columns_at_once(self, entries: int) -> int:
        """As many as suit the base."""
        return self.base.columns_at_once(entries)

    def affordable_columns(self) -> float:
        """As many as the base affords."""
        return self.base.affordable_columns()

    def prepared_for(self, n_products: int) -> Operator:
        """Prepare the base."""
        return ShiftedOperator(self.base.prepared_for(n_products), sign=self.sign, shift=self.shift)


def search_unit(operator: Operator, which: str) -> float:
    """What A is multiplied with before the search: -1 for the smallest end, and a power of two for extreme scales.

    Squares of entries near 1e300 or 1e-300 leave the range of floating point; a power of two moves them to the
    middle of it without rounding.
    """
    sign = 1.0 if which == "largest" else -1.0
    magnitude = operator.magnitude()
    exponent = math.frexp(magnitude)[1] if magnitude > 0.0 else 0
    return sign if abs(exponent) <= LARGEST_PLAIN_EXPONENT else math.ldexp(sign, min(-exponent, 1000))


class RestrictedOperator(Operator):
    """A[candidates, candidates]; indices given and returned count within the candidates."""

    def __init__(self, base: Operator, candidates: Indices) -> None:
        self.base, self.candidates = base, candidates
        self.size, self.dtype = len(candidates), base.dtype
        self.names = None if base.names is None else tuple(base.names[i] for i in candidates)
        self.positive_semidefinite = base.positive_semidefinite or None
        self.transfers_cost, self.factor_rank = base.transfers_cost, base.factor_rank

    def _diagonal(self) -> NDArray[np.float64]:
        return self.base.diagonal()[self.candidates]

    def magnitude(self) -> float:
        """Of the candidates alone where that is known or soon found: a huge entry elsewhere is none of theirs."""
        small = self.positive_semidefinite or self.size <= LARGEST_MATERIALISED
        return super().magnitude() if small else self.base.magnitude()

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """The base's product, read at the candidates."""
        product: Vector = self.base.apply_support(self.candidates[indices], weights)[self.candidates]
        return product

    def columns(self, indices: Indices) -> Matrix:
        """The base's columns, read at the candidates."""
        columns: Matrix = self.base.columns(self.candidates[indices])[self.candidates]
        return columns

    def cross(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """The base's entries."""
        return self.base.cross(self.candidates[rows], self.candidates[columns])

    def quadratic_form(self, indices: Indices, weights: Vector) -> tuple[float, float]:
        """The base's."""
        return self.base.quadratic_form(self.candidates[indices], weights)

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """The base's columns, read at the candidates."""
        return self.base.accurate_columns(self.candidates[indices])[self.candidates]

    def entry_errors(self) -> NDArray[np.float64]:
        """Those of the candidates."""
        return self.base.entry_errors()[self.candidates]

    def factor_rows(self, rows: Indices | slice) -> Any:
        """The candidates' rows of the base's factor."""
        return self.base.factor_rows(self.candidates[rows])

    def top_row_sums(
        self, rows: Indices, weights: Weights, count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Where transfers cost, the base's sums with no weight on other variables; else from the columns."""
        if not self.transfers_cost:
            return super().top_row_sums(rows, weights, count)
        spread = np.zeros(self.base.size)
        spread[self.candidates] = weights
        return self.base.top_row_sums(self.candidates[rows], spread, count)

    def step_cost(self, cardinality: int) -> float:
        """The base's."""
        return self.base.step_cost(cardinality)

    def submatrix(self, indices: Indices) -> NDArray[np.float64]:
        """The base's submatrix."""
        return self.base.submatrix(self.candidates[indices])

    def block_apply(self, block: Matrix) -> Matrix:
        """The base's product with the block laid out over the candidates."""
        spread = np.zeros((self.base.size, block.shape[1]), dtype=block.dtype)
        spread[self.candidates] = block
        product: Matrix = self.base.block_apply(spread)[self.candidates]
        return product

    def together(self, work: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """As the base does it."""
        return self.base.together(work)

    def columns_at_once(self, entries: int) -> int:
        """As many as suit the base."""
        return self.base.columns_at_once(entries)

    @property
    def negative_part(self) -> float:  # type: ignore[override]
        """The base's: a principal submatrix reaches no lower."""
        return self.base.negative_part

    def affordable_columns(self) -> float:
        """As many as the base affords."""
        return self.base.affordable_columns()

    def prepared_for(self, n_products: int) -> Operator:
        """Prepare the base."""
        return RestrictedOperator(self.base.prepared_for(n_products), self.candidates)

    def describe(self) -> dict[str, object]:
        """What the base says, and how many candidates there are."""
        return self.base.describe() | {"candidates": self.size}
