"""Sums and differences of operators, c_1 A_1 + c_2 A_2 + ..., and `contrast`, the one that users ask for by name.

Nothing is formed: products, columns and row sums come from the operators that are added up, so that the difference of
two covariances of wide data costs what the two cost. With ``scales`` the matrix meant is D (sum) D for a diagonal D > 0
of powers of two, which multiply without rounding.

Rounding. Let s_ij be the computed entry: each product c_q a_q rounds once, each of the m - 1 additions once, so
|s_ij - exact| <= sum_q |c_q| e_q + m u (1 + m u) sum_q |c_q a_q|, with e_q the error of the entry of A_q itself. Where
|a_q| <= sqrt(g_qi g_qj) (`entry_magnitudes`), sums of such products are again of that form, by Cauchy and Schwarz:
sqrt(v_i v_j) + sqrt(w_i w_j) <= sqrt((v_i + w_i)(v_j + w_j)). So `entry_errors` may add the vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_tolerance
from sparseigen.checks.arrays import CheckedArray
from sparseigen.errors import RangeError, ShapeError
from sparseigen.operators.build import as_operator
from sparseigen.operators.contract import (
    LARGEST_MATERIALISED,
    AccessCosts,
    Indices,
    Matrix,
    Operator,
    Vector,
    computed_once,
)
from sparseigen.operators.matrix import DenseSymmetric

Numbers = NDArray[np.float64]

UNIT = 2.0**-53


def contrast(target: Any, background: Any, gamma: float = 1.0) -> Operator:
    """Stand for target - gamma * background: what varies in one group and not in the other.

    Parameters
    ----------
    target, background : array, scipy sparse matrix, DataFrame, LinearOperator, or operator from `covariance`
        Symmetric matrices of the same variables, most often the covariances of the samples of interest and of others
        that share what is not of interest (controls). They may come from different numbers of samples.
    gamma : float
        How much of the background is taken off; 0 is the target alone.

    Returns
    -------
    Operator
        To be passed to `sparse_eigenvector`, `solve_exact`, `sparse_components` and the like. The difference is
        indefinite: a direction with a negative value varies more in the background.

    References
    ----------
    A. Abid, M. J. Zhang, V. K. Bagaria, J. Zou, "Exploring patterns enriched in a dataset with contrastive principal
    component analysis", Nature Communications 9 (2018), 2134.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseigen as se
    >>> rng = np.random.default_rng(0)
    >>> shared, own = rng.standard_normal((2, 300, 1))
    >>> controls = rng.standard_normal((300, 9)) + 3.0 * shared * (np.arange(9) < 3)
    >>> cases = rng.standard_normal((300, 9)) + 3.0 * shared * (np.arange(9) < 3) + 2.0 * own * (np.arange(9) > 6)
    >>> se.sparse_eigenvector(se.covariance(cases), 2).support.tolist()
    [1, 2]
    >>> se.sparse_eigenvector(se.contrast(se.covariance(cases), se.covariance(controls)), 2).support.tolist()
    [7, 8]
    """
    gamma = check_tolerance(gamma, "gamma")
    first, second = as_operator(target), as_operator(background)
    if first.size != second.size:
        message = (
            f"background has {second.size} variables and target {first.size}; give the same ones in the same order."
        )
        raise ShapeError(message, parameter="background")
    if first.names is not None and second.names is not None and first.names != second.names:
        place = next(i for i, pair in enumerate(zip(first.names, second.names, strict=True)) if pair[0] != pair[1])
        message = (
            f"variable {place} is {first.names[place]!r} in target and {second.names[place]!r} in background; give the "
            "same variables in the same order."
        )
        raise ShapeError(message, parameter="background")
    if not math.isfinite(first.magnitude + gamma * second.magnitude):
        message = f"target - {gamma:g} background leaves the range of float64; scale both to entries of like size."
        raise RangeError(message, parameter="gamma")
    return CombinedOperator([(1.0, first), (-gamma, second)])


def entry_magnitudes(operator: Operator) -> Numbers:
    """A vector g with ``|A_ij| <= sqrt(g_i g_j)`` for the matrix as it is held.

    Where A + cI is known to be positive semidefinite, c the `negative_part`, the diagonal plus c does, raised by the
    entries' own errors; elsewhere the largest magnitude of each row, which takes one look at all columns.

    Examples
    --------
    >>> import numpy as np
    >>> entry_magnitudes(as_operator(np.array([[1.0, -2.0], [-2.0, 0.0]]))).tolist()
    [2.0, 2.0]
    """
    if np.isfinite(operator.negative_part):
        known = np.maximum(operator.diagonal() + operator.negative_part, 0.0)
        magnitudes: Numbers = (known + 3.0 * operator.entry_errors()) * (1.0 + 8.0 * UNIT)
        return magnitudes
    largest = np.empty(operator.size)
    step = operator.costs.columns_at_once(1 << 20)
    for begin in range(0, operator.size, step):
        members = np.arange(begin, min(begin + step, operator.size), dtype=np.int64)
        largest[members] = np.abs(operator.accurate_columns(members)).max(axis=0)
    return largest


class CombinedOperator(Operator):
    """D (sum of c_q A_q) D, D diagonal with powers of two (``scales``; the identity where None)."""

    def __init__(self, terms: Sequence[tuple[float, Operator]], *, scales: Numbers | None = None) -> None:
        self.terms = [(float(coefficient), operator) for coefficient, operator in terms]
        first = self.terms[0][1]
        self.size = first.size
        self.names = next((operator.names for _, operator in self.terms if operator.names is not None), None)
        self.dtype = np.result_type(*(operator.dtype for _, operator in self.terms))
        self.scales = scales
        parts = [operator.negative_part for coefficient, operator in self.terms if coefficient > 0.0]
        if all(coefficient >= 0.0 for coefficient, _ in self.terms) and all(part == 0.0 for part in parts):
            self.negative_part = 0.0  # a sum of Gram matrices, and DAD is one where A is

    @property
    def costs(self) -> AccessCosts:
        """Those of all terms together."""
        every = [operator.costs for _, operator in self.terms]
        passes = [costs.columns_per_pass for costs in every if costs.columns_per_pass is not None]
        return AccessCosts(
            column=max(costs.column for costs in every),
            product=sum(costs.product for costs in every),
            per_variable=sum(costs.per_variable for costs in every),
            columns_per_pass=min(passes) if passes else None,
            affordable_columns=min(costs.affordable_columns for costs in every),
            transfers=any(costs.transfers for costs in every),
        )

    def _scale(self, block: Numbers, rows: Any, columns: Any) -> Numbers:
        if self.scales is None:
            return block
        block *= self.scales[rows, None]
        block *= self.scales[columns]
        return block

    def _diagonal(self) -> Numbers:
        total = np.zeros(self.size)
        for coefficient, operator in self.terms:
            total += coefficient * operator.diagonal()
        return total if self.scales is None else total * self.scales * self.scales

    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """The sum of the products."""
        product: Vector = self._multiply(
            lambda operator, given: operator.apply_support(indices, given), weights, indices
        )
        return product

    def block_apply(self, block: Matrix) -> Matrix:
        """The sum of the products, one pass over the data of each."""
        product: Matrix = self._multiply(lambda operator, given: operator.block_apply(given), block, slice(None))
        return product

    def _multiply(self, product: Any, weights: Any, places: Any) -> Any:
        own = np.asarray(weights, dtype=np.float64)
        scales = None if self.scales is None else (self.scales if own.ndim == 1 else self.scales[:, None])
        given = own if scales is None else own * scales[places]
        total: Any = None
        for coefficient, operator in self.terms:
            part = coefficient * np.asarray(product(operator, given.astype(operator.dtype, copy=False)))
            total = part if total is None else total + part
        return (total if scales is None else total * scales).astype(self.dtype, copy=False)

    def columns(self, indices: Indices) -> Matrix:
        """The sum of the columns."""
        return self.accurate_columns(indices).astype(self.dtype, copy=False)

    def accurate_columns(self, indices: Indices) -> Numbers:
        """The sum of the accurate columns, in float64."""
        total = np.zeros((self.size, len(indices)))
        for coefficient, operator in self.terms:
            total += coefficient * operator.accurate_columns(indices)
        return self._scale(total, slice(None), indices)

    @computed_once
    def _magnitudes(self) -> list[Numbers]:
        return [entry_magnitudes(operator) for _, operator in self.terms]

    def entry_errors(self) -> Numbers:
        """Those of the terms, and the roundings of products and additions."""
        rounding = (len(self.terms) + 1.0) * UNIT
        total = np.full(self.size, 2.0**-1060)
        for (coefficient, operator), magnitudes in zip(self.terms, self._magnitudes, strict=True):
            total += abs(coefficient) * (operator.entry_errors() * (1.0 + 8.0 * UNIT) + rounding * magnitudes)
        return total * (1.0 + 16.0 * UNIT) * (1.0 if self.scales is None else self.scales * self.scales)

    def restricted(self, indices: Indices) -> Operator:
        """The sum of the restrictions."""
        scales = None if self.scales is None else self.scales[indices]
        return CombinedOperator([(c, operator.restricted(indices)) for c, operator in self.terms], scales=scales)

    def prepared_for(self, n_products: int) -> Operator:
        """The matrix itself where it is small enough and many products are to come."""
        if self.size > LARGEST_MATERIALISED or n_products * self.costs.step(8) < self.size * self.costs.step(1):
            return self
        return form(self)

    def describe(self) -> dict[str, Any]:
        """What is added up."""
        added = [f"{coefficient:g} {type(operator).__name__}" for coefficient, operator in self.terms]
        return super().describe() | {"terms": added}


def form(operator: Operator) -> DenseSymmetric:
    """The matrix of an operator as it is held in memory from then on, with the same entries and the same errors.

    Examples
    --------
    >>> import numpy as np
    >>> form(contrast(np.eye(3), np.diag([1.0, 2.0, 0.0]))).matrix.diagonal().tolist()
    [0.0, -1.0, 1.0]
    """
    matrix = operator.to_dense()
    held = CheckedArray(matrix, "dense", names=operator.names, magnitude=float(np.abs(matrix).max()))
    formed = DenseSymmetric(held, entry_errors=operator.entry_errors())
    if np.isfinite(operator.negative_part):
        formed.negative_part = operator.negative_part
        formed.positive_semidefinite = True
    return formed
