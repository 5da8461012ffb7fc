"""Operators made of another one: scaled and shifted, restricted to some variables; and the scale of a matrix."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.operators.contract import (
    LARGEST_MATERIALISED,
    AccessCosts,
    Answer,
    Indices,
    Matrix,
    Operator,
    Vector,
    Weights,
)


class WrappedOperator(Operator):
    """A matrix made of another one. What does not depend on how it is made is the base's."""

    def __init__(self, base: Operator) -> None:
        self.base = base
        self.size, self.dtype, self.names = base.size, base.dtype, base.names

    @abstractmethod
    def _wrap(self, base: Operator) -> Operator:
        """The same made of another operator for the base's matrix."""

    def _list_facts(self) -> dict[str, Any]:
        """What `describe` adds to what the base says."""
        return {}

    @property
    def costs(self) -> AccessCosts:
        """The base's; but a device shares passes within its own iteration, which a wrapper does not use."""
        costs = self.base.costs
        return replace(costs, runs_per_pass=1) if costs.transfers else costs

    def run_together(self, work: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """As the base does it."""
        return self.base.run_together(work)

    def prepared_for(self, n_products: int) -> Operator:
        """Prepare the base."""
        return self._wrap(self.base.prepared_for(n_products))

    def describe(self) -> dict[str, Any]:
        """What the base says, and what was made of it."""
        return self.base.describe() | self._list_facts()


class ShiftedOperator(WrappedOperator):
    """multiplier * A + shift * I: the paper's remark for indefinite matrices, and the smallest sparse eigenvalue."""

    def __init__(self, base: Operator, *, multiplier: float = 1.0, shift: float = 0.0) -> None:
        super().__init__(base)
        self.multiplier, self.shift = float(multiplier), float(shift)
        if base.positive_semidefinite and self.multiplier > 0.0 and self.shift >= 0.0:
            self.positive_semidefinite = True
        self._root = math.sqrt(self.multiplier) if self.multiplier > 0.0 and self.shift == 0.0 else 0.0
        if self._root > 0.0 and math.frexp(self._root)[0] == 0.5:  # a power of two, which rounds nothing
            self.factor_rank = base.factor_rank

    def _wrap(self, base: Operator) -> Operator:
        return ShiftedOperator(base, multiplier=self.multiplier, shift=self.shift)

    def _list_facts(self) -> dict[str, Any]:
        return {"multiplier": self.multiplier, "shifted_by": self.shift}

    @property
    def magnitude(self) -> float:
        """The base's, scaled and shifted."""
        return abs(self.multiplier) * self.base.magnitude + abs(self.shift)

    def _diagonal(self) -> NDArray[np.float64]:
        return self.multiplier * self.base.diagonal() + self.shift

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """The base's product, plus the shift on the support."""
        product = self.multiplier * self.base.apply_support(indices, weights).astype(self.dtype, copy=False)
        product[indices] += (self.shift * weights).astype(self.dtype, copy=False)
        return product.astype(self.dtype, copy=False)

    def _shift_columns(self, columns: Any, indices: Indices) -> Any:
        """Columns of the base, of any type of array, as columns of this matrix."""
        columns = self.multiplier * columns
        columns[indices, np.arange(len(indices))] += self.shift
        return columns

    def columns(self, indices: Indices) -> Matrix:
        """The base's columns with the shift on the diagonal."""
        columns: Matrix = self._shift_columns(self.base.columns(indices), indices)
        return columns.astype(self.dtype, copy=False)

    def native_columns(self, indices: Indices) -> Any:
        """The same where the base's data are."""
        return self._shift_columns(self.base.native_columns(indices), indices)

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """The base's columns with the shift on the diagonal."""
        columns: NDArray[np.float64] = self._shift_columns(self.base.accurate_columns(indices), indices)
        return columns

    def entry_errors(self) -> NDArray[np.float64]:
        """Those of the base, and one rounding of the shifted diagonal."""
        errors = abs(self.multiplier) * self.base.entry_errors()
        return errors + (2.0**-52 * np.abs(self.diagonal()) if self.shift != 0.0 else 0.0)

    def factor_rows(self, rows: Indices | slice) -> Any:
        """The base's, times the root of the multiplier."""
        return self._root * self.base.factor_rows(rows) if self.factor_rank else super().factor_rows(rows)

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """The base's entries, with the shift where row and column are the same variable."""
        block: NDArray[np.float64] = self.multiplier * self.base.submatrix(rows, columns)
        if columns is None:
            block[np.diag_indices(len(rows))] += self.shift
        else:
            block[rows[:, None] == columns] += self.shift
        return block

    def block_apply(self, block: Matrix) -> Matrix:
        """The base's product plus shift times the block."""
        product: Matrix = self.multiplier * self.base.block_apply(block) + self.shift * block
        return product.astype(self.dtype, copy=False)

    def top_row_sums(
        self, rows: Indices, weights: Weights, count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The base's, whose magnitudes off the diagonal are the same; from the columns where a factor scales them."""
        if abs(self.multiplier) != 1.0:
            return super().top_row_sums(rows, weights, count)
        return self.base.top_row_sums(rows, weights, count)

    def quadratic_form(self, indices: Indices, weights: Vector) -> tuple[float, float]:
        """The base's, plus the shift times x'x, a sum of k terms; from the columns where a factor scales them."""
        if abs(self.multiplier) != 1.0:
            return super().quadratic_form(indices, weights)
        form, error = self.base.quadratic_form(indices, weights)
        entries = np.asarray(weights, dtype=np.float64)
        added = self.shift * float(entries @ entries)
        rounding = 2.0**-52 * ((len(indices) + 4) * abs(added) + abs(form))
        return self.multiplier * form + added, error * (1.0 + 2.0**-50) + rounding

    def shifted(self, shift: float) -> Operator:
        """Another shift on top, in the same wrapper."""
        return ShiftedOperator(self.base, multiplier=self.multiplier, shift=self.shift + shift)

    def restricted(self, indices: Indices) -> Operator:
        """The base's restriction in such a wrapper: it may be made where the data are."""
        return self._wrap(self.base.restricted(indices))


def scale_operator(operator: Operator, factor: float) -> Operator:
    """The matrix factor * A; the operator itself for factor 1.

    The factor is a power of two or its negative: only these multiply without rounding, and `entry_errors` allows for
    no other.

    A factor on top of another one joins it in one wrapper, unless their product leaves the range of float64: entries
    near 1e-320 of a matrix that was already multiplied by 2**300 take 2**740 more, and 2**1040 is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseigen.operators import as_operator
    >>> from sparseigen.operators.wrapped import scale_operator
    >>> scale_operator(as_operator(np.diag([1.0, 2.0])), -1.0).diagonal().tolist()
    [-1.0, -2.0]
    """
    if factor == 1.0:
        return operator
    if isinstance(operator, ShiftedOperator):
        multiplier, shift = factor * operator.multiplier, factor * operator.shift
        if 0.0 < abs(multiplier) < np.inf and abs(shift) < np.inf and (shift != 0.0 or operator.shift == 0.0):
            return ShiftedOperator(operator.base, multiplier=multiplier, shift=shift)
    return ShiftedOperator(operator, multiplier=factor)


class RestrictedOperator(WrappedOperator):
    """A[candidates, candidates]; indices given and returned count within the candidates."""

    def __init__(self, base: Operator, candidates: Indices) -> None:
        super().__init__(base)
        self.candidates, self.size = candidates, len(candidates)
        self.names = None if base.names is None else tuple(base.names[i] for i in candidates)
        self.positive_semidefinite = base.positive_semidefinite or None
        self.factor_rank = base.factor_rank

    def _wrap(self, base: Operator) -> Operator:
        return RestrictedOperator(base, self.candidates)

    def _list_facts(self) -> dict[str, Any]:
        return {"candidates": self.size}

    def _diagonal(self) -> NDArray[np.float64]:
        return self.base.diagonal()[self.candidates]

    @property
    def magnitude(self) -> float:
        """Of the candidates alone where that is known or soon found: a huge entry elsewhere is none of theirs."""
        small = self.positive_semidefinite or self.size <= LARGEST_MATERIALISED
        return super().magnitude if small else self.base.magnitude

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """The base's product, read at the candidates."""
        product: Vector = self.base.apply_support(self.candidates[indices], weights)[self.candidates]
        return product

    def columns(self, indices: Indices) -> Matrix:
        """The base's columns, read at the candidates."""
        columns: Matrix = self.base.columns(self.candidates[indices])[self.candidates]
        return columns

    def native_columns(self, indices: Indices) -> Any:
        """The same where the base's data are."""
        return self.base.native_columns(self.candidates[indices])[self.candidates]

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
        if not self.costs.transfers:
            return super().top_row_sums(rows, weights, count)
        spread = np.zeros(self.base.size)
        spread[self.candidates] = weights
        return self.base.top_row_sums(self.candidates[rows], spread, count)

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """The base's entries."""
        return self.base.submatrix(self.candidates[rows], None if columns is None else self.candidates[columns])

    def block_apply(self, block: Matrix) -> Matrix:
        """The base's product with the block laid out over the candidates."""
        spread = np.zeros((self.base.size, block.shape[1]), dtype=block.dtype)
        spread[self.candidates] = block
        product: Matrix = self.base.block_apply(spread)[self.candidates]
        return product

    @property
    def negative_part(self) -> float:  # type: ignore[override]
        """The base's: a principal submatrix reaches no lower."""
        return self.base.negative_part
