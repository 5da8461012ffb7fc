"""What a bound sees: the matrix scaled to entries of size about one, the answer found, and the margins.

Scaling by a power of two is exact and keeps every later product away from overflow and underflow.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.certificates.rounding import TINY, ZERO, gamma, raised_sum, sum_of_largest
from sparseigen.checks.memory import check_room
from sparseigen.operators.contract import (
    LARGEST_MATERIALISED,
    LARGEST_PLAIN_EXPONENT,
    Indices,
    Operator,
    SparseVector,
    computed_once,
    find_exponent,
)
from sparseigen.operators.wrapped import scale_operator

Numbers = NDArray[np.float64]

BLOCK_ENTRIES = 1 << 20
TARGET_GAP = 5e-7
"""Relative gap below which no further bound is tried."""
FEW_ROWS = 2
"""One row in so many, or fewer, of data in memory are made without forming the matrix."""
LARGEST_FETCHED = 2048
"""Matrices up to this size are formed even where the entries have to be fetched from a device."""


@dataclass(frozen=True)
class Proven:
    """An upper bound on the optimum that a solver proved on its way, rounding included, and how.

    ``scale`` is the size of the matrix's entries.
    """

    upper_bound: float
    method: str
    scale: float


@dataclass
class BoundProblem:
    """An operator and a cardinality, with the answer found and the smallest upper bound so far.

    All numbers that bounds compute with (`diagonal`, `blocks`, `dense`, `achieved`, `best`) are those of the matrix
    times 2 ** -exponent; `unscale_bound` turns a bound back.
    """

    operator: Operator
    cardinality: int
    vector: SparseVector | None = None
    achieved: float = -np.inf
    best: float = np.inf
    deadline: float = np.inf
    target_gap: float = TARGET_GAP
    exponent: int = field(init=False)
    columns_left: float = field(init=False)
    """Columns of A that may still be asked for."""
    settled: tuple[SparseVector | None, float, Numbers, Numbers] | None = field(init=False, default=None)
    """The row bound from an answer, its weights and its rows."""
    closing_only: bool = field(init=False, default=False)
    """Whether closed forms that leave a gap need not be proven: another bound follows."""
    shared: dict[str, Any] = field(init=False, default_factory=dict)
    """What bounds of the same matrix, at any cardinality, made once for all."""
    left_out: str = field(init=False, default="")
    """What was not computed because it would take too many columns, for the certificate's method."""

    def __post_init__(self) -> None:
        self.columns_left = self.operator.costs.affordable_columns
        self._entry_errors = self.operator.entry_errors()
        # Where a deflation left nothing but rounding, its errors are larger than the entries.
        largest = max(float(np.abs(self.operator.diagonal()).max()), float(self._entry_errors.max()))
        # The entries of a Gram matrix are no larger than its diagonal; of other matrices nothing is known yet.
        self._unscaled: Numbers | None = None
        if self.operator.negative_part > 0.0:
            if self.holds_matrix:
                self._unscaled = self._form_matrix()
                largest = max(largest, float(self._unscaled.max()), -float(self._unscaled.min()))
            elif self.columns_left < self.size:
                largest = max(largest, self.operator.magnitude)
            else:
                largest = max(largest, *(float(np.abs(rows).max()) for _, rows in self._form_blocks(self.operator)))
        self.exponent = find_exponent(largest)
        self.achieved = self.scale_value(self.achieved)

    @property
    def holds_matrix(self) -> bool:
        """Whether the matrix is small enough to be held, so that there is a `dense`; it need not be formed yet."""
        largest = LARGEST_FETCHED if self.operator.costs.transfers else LARGEST_MATERIALISED
        return self.size <= largest and self.operator.costs.affordable_columns >= self.size

    @computed_once
    def dense(self) -> Numbers | None:
        """The scaled matrix, formed when a bound first asks for it; None where it is too large to be held."""
        if not self.holds_matrix:
            return None
        matrix, self._unscaled = self._form_matrix() if self._unscaled is None else self._unscaled, None
        half = -self.exponent // 2  # in two factors: one alone may leave the range
        matrix *= float(np.ldexp(1.0, half))
        matrix *= float(np.ldexp(1.0, -self.exponent - half))
        return matrix

    def _takes_from_dense(self, count: int) -> bool:
        """Whether so many rows come from the matrix: it is there already, or data do not give them at less cost."""
        few = self.operator.factor_rank > 0 and FEW_ROWS * count <= self.size
        return self.holds_matrix and ("dense" in self.__dict__ or not few)

    def at(self, cardinality: int, vector: SparseVector, achieved: float, best: float) -> BoundProblem:
        """The same matrix at another cardinality, with the answer found there and the best bound so far (scaled)."""
        if self._unscaled is not None:
            _ = self.dense  # scaled once, for all copies
        question = copy.copy(self)
        question.__dict__.pop("margin", None)
        question.settled = None
        question.cardinality, question.vector, question.best = cardinality, vector, best
        question.achieved, question.columns_left = self.scale_value(achieved), self.operator.costs.affordable_columns
        return question

    @property
    def size(self) -> int:
        """Number of variables."""
        return self.operator.size

    @computed_once
    def diagonal(self) -> Numbers:
        """The scaled diagonal."""
        return np.ldexp(self.operator.diagonal(), -self.exponent)

    @computed_once
    def entry_errors(self) -> Numbers:
        """Those of the operator, scaled."""
        return np.ldexp(self._entry_errors, -self.exponent)

    @computed_once
    def negative_part(self) -> float:
        """That of the operator, scaled."""
        return self.scale_value(self.operator.negative_part)

    @computed_once
    def margin(self) -> float:
        """What the entries' own rounding errors can add to the eigenvalue of any k x k block."""
        return raised_sum(sum_of_largest(self.entry_errors, self.cardinality), self.cardinality)

    @computed_once
    def margins(self) -> Numbers:
        """The same for blocks of every size 1..p."""
        totals = np.cumsum(np.sort(self.entry_errors)[::-1])
        raised: Numbers = totals * (1.0 + 2.0 * gamma(len(totals))) + TINY  # `raised_sum` of each
        return raised

    def _form_matrix(self) -> Numbers:
        """The matrix before scaling."""
        # The matrix, a shifted copy to be factorised, and work space for sorting rows.
        check_room(24 * self.size**2, f"a certificate for {self.size} variables", "use certify=False")
        matrix = np.empty((self.size, self.size))
        for members, rows in self._form_blocks(self.operator):
            matrix[members[0] : members[-1] + 1] = rows
        return matrix

    def blocks(self, wanted: Indices | None = None) -> Iterator[tuple[Indices, Numbers]]:
        """Rows of the scaled matrix, a block at a time, with the variables they belong to."""
        if self._takes_from_dense(self.size if wanted is None else len(wanted)) and self.dense is not None:
            chosen = np.arange(self.size, dtype=np.int64) if wanted is None else wanted
            yield chosen, self.dense if wanted is None else self.dense[wanted]
            return
        operator, power = self._searchable
        scale = float(np.ldexp(1.0, -self.exponent - power))
        for members, rows in self._form_blocks(operator, wanted):
            yield members, np.ascontiguousarray(rows * scale)

    def block(self, members: Indices) -> Numbers:
        """The scaled matrix at some variables."""
        if self._takes_from_dense(len(members)) and self.dense is not None:
            return np.ascontiguousarray(self.dense[np.ix_(members, members)])
        check_room(16 * len(members) ** 2, f"a search over {len(members)} variables", "use sparse_eigenvector instead")
        formed = np.empty((len(members), len(members)))
        for part, rows in self.blocks(members):
            formed[np.searchsorted(members, part)] = rows[:, members]
        return formed

    def _form_blocks(self, operator: Operator, wanted: Indices | None = None) -> Iterator[tuple[Indices, Numbers]]:
        chosen = np.arange(self.size, dtype=np.int64) if wanted is None else wanted
        step = self.operator.costs.columns_at_once(BLOCK_ENTRIES)
        for begin in range(0, len(chosen), step):
            members = chosen[begin : begin + step]
            yield members, operator.accurate_columns(members).T

    def row_sums(self, weights: Numbers, wanted: Indices | None = None) -> tuple[Numbers, Numbers, Numbers]:
        """Of the rows wanted (None: of all) the sum of the k - 1 largest |A_ij| d_j, j != i, of the scaled matrix.

        Then the smallest product used, and by how much the sum can be too small beyond `entry_errors` and the rounding
        of float64 sums.
        """
        rows = np.arange(self.size, dtype=np.int64) if wanted is None else wanted
        if self._takes_from_dense(len(rows)) and self.dense is not None:
            most = 2 * len(rows) > self.size  # then all rows cost less than a copy of those wanted
            block, places = (self.dense, np.arange(self.size)) if most else (self.dense[rows], rows)
            sums, least = kernels.top_row_sums(block, places, weights, self.cardinality - 1)
            return (sums[rows], least[rows], np.zeros(len(rows))) if most else (sums, least, np.zeros(len(rows)))
        operator, power = self._searchable
        found = operator.top_row_sums(rows, weights, self.cardinality - 1)
        with np.errstate(over="ignore"):
            sums, least, shortfall = (np.ldexp(numbers, -self.exponent - power) for numbers in found)
        return sums, least, shortfall

    def row_sum_ceilings(self, weights: Numbers, wanted: Indices) -> Numbers:
        """Numbers that these sums of the rows wanted cannot exceed, at little cost; infinite where there are none.

        Only data on a device have them (`TorchData.row_sum_ceilings`).
        """
        find = getattr(self.operator, "row_sum_ceilings", None)
        if find is None or self._searchable[1] != 0:
            return np.full(len(wanted), np.inf)
        with np.errstate(over="ignore"):
            ceilings: Numbers = np.ldexp(find(wanted, weights, self.cardinality - 1), -self.exponent)
        return ceilings

    def affords(self, count: int, subject: str) -> bool:
        """Whether so many columns may be asked for; if so, they count as asked for."""
        if self.holds_matrix:
            return True
        if count > self.columns_left:
            self.left_out = f"{subject} left out: {count} columns of A"
            return False
        self.columns_left -= count
        return True

    @computed_once
    def _searchable(self) -> tuple[Operator, int]:
        """The operator times a power of two, and the power: zero unless squares of entries would leave the range."""
        if abs(self.exponent) <= LARGEST_PLAIN_EXPONENT:
            return self.operator, 0
        power = min(-self.exponent, 1000)  # the reciprocal of a denormal number is none
        return scale_operator(self.operator, float(np.ldexp(1.0, power))), power

    def searchable(self) -> Operator:
        """The operator, or a scaled one where its entries are so large or small that squares leave the range."""
        return self._searchable[0]

    def scale_value(self, value: float) -> float:
        """A number of the caller's matrix, scaled like the entries (for comparisons only)."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, -self.exponent))

    def unscale_bound(self, bound: float) -> float:
        """An upper bound for the scaled matrix as one for the caller's matrix."""
        with np.errstate(over="ignore"):
            value = float(np.ldexp(bound, self.exponent))
        return value if np.isinf(value) else float(np.nextafter(value, np.inf))

    @property
    def scale(self) -> float:
        """The size of the matrix's largest entry."""
        return float(np.ldexp(1.0, self.exponent))

    @property
    def closed(self) -> bool:
        """Whether the best bound meets the answer found, so that no other bound is worth its time."""
        return bool(np.isfinite(self.best)) and self.best - self.achieved <= self.target_gap * max(abs(self.best), ZERO)

    @property
    def out_of_time(self) -> bool:
        """Whether the time allowed is over."""
        return time.perf_counter() > self.deadline
