"""Row sums in float32, never too small: which rows need not be formed exactly, at a fraction of the cost.

For any threshold t >= 0 the sum of the c largest of some numbers is at most c t plus the sum of what each of them
exceeds t by, and meets it where t lies between the c-th largest and the next. So no row is sorted (`row_ceilings`), and
thresholds of the last weights are good guesses for the next.

Rounding, with u = 2^-24. Entries come from a factor, A_ij = f_i'f_j, whose numbers are rounded to float32 and whose
products are n-term sums in float32: off by at most (n + 4) u |f_i| |f_j| to the first order, 1.02 (n + 8) u |f_i| |f_j|
in all; or they are those of a float64 matrix rounded once. The factor itself leaves out twice the entries' errors e:
|A_ij - f_i'f_j| <= 2 sqrt(e_i e_j). Over the c largest products that adds at most |f_i| times the sum of the c largest
|f_j| d_j, and the same with the roots of e. Weights are rounded upward. A product, what it exceeds t by, and sums of
at most 19 of these in float32 are off by 22 u of themselves; the others are float64: 40 u covers all. Numbers too small
for float32 lose 2^-126 each.

Where few weights change, sums are not formed again. With t as before, column j adds (|A_ij| d_j' - t)+ less
(|A_ij| d_j - t)+, off by two roundings each of the number that exceeds t: 8 u times the sums before and after, which
hold what exceeds t, and 16 u t per column are added for them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.certificates.factor import FactorRows
from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import gamma, sum_of_largest
from sparseigen.checks.memory import available_bytes
from sparseigen.operators.contract import Indices
from sparseigen.operators.matrix import multiply

Single = NDArray[np.float32]

UNIT = 2.0**-24
SMALLEST = 512
"""Below this size exact rows cost no more."""
LARGEST_HELD = 8192
"""Matrices up to this size are held in float32, 256 MiB; of larger ones rows are made again in every pass."""
MOST_WORK = 1.4e11
"""Multiplications of one pass over a matrix that is not held: a second or two."""
LONGEST = 1 << 16
"""Samples up to which the error of a product in float32 is small."""
BLOCK_ENTRIES = 1 << 21
"""Entries that are made at a time: what the caches hold."""
LARGEST_WEIGHT = 2.0**60


def can_sum_roughly(problem: BoundProblem) -> bool:
    """Whether a pass over all rows in float32 is at hand: data in this memory, or a matrix that is held."""
    operator, size = problem.operator, problem.size
    if size < SMALLEST or operator.costs.transfers or operator.costs.columns_per_pass is not None:
        return False
    if not 0 < operator.factor_rank <= LONGEST:
        affordable = problem.columns_left >= size and size <= LARGEST_HELD
        return "rough rows" in problem.shared or problem.holds_matrix or affordable
    return size <= LARGEST_HELD or float(size) ** 2 * operator.factor_rank <= MOST_WORK


def find_rough_rows(problem: BoundProblem) -> RoughRows | None:
    """The problem's, made when first asked for and shared by problems of the same matrix; None where it has none."""
    if not can_sum_roughly(problem):
        return None
    shared = problem.shared
    if "rough rows" not in shared:
        shared["rough rows"] = RoughRows(problem)
    found: RoughRows = shared["rough rows"]
    return found


class RoughRows:
    """A scaled matrix in float32: held, or as the factor that makes its rows."""

    def __init__(self, problem: BoundProblem) -> None:
        self.size = size = problem.size
        self.factor: Single | None = None
        self.matrix: Single | None = None
        self.lengths = self.roots = np.zeros(size)
        self.share = UNIT
        self.thresholds = np.zeros(size, dtype=np.float32)
        """Those of the last pass: good guesses for the next."""
        self.ceilings = np.full(size, np.inf)
        """Of the last pass, before what rounding adds; infinite where a row was left out."""
        self.state: tuple[Numbers, int] | None = None
        """The weights and the count that the ceilings belong to."""
        if not 0 < problem.operator.factor_rank <= LONGEST:
            self.matrix = np.empty((size, size), dtype=np.float32)
            for members, block in problem.blocks():
                self.matrix[members] = block
            return
        rows: Numbers = FactorRows(problem)[:]
        rank = rows.shape[1]
        self.share = 1.02 * (rank + 8) * UNIT
        self.lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows)) * (1.0 + 2.0 * gamma(rank + 4))
        self.roots = np.sqrt(problem.entry_errors) * (1.0 + 4.0 * UNIT)
        self.factor = rows.astype(np.float32)
        if size <= LARGEST_HELD and 8 * size**2 < available_bytes():
            self.matrix = multiply(self.factor, self.factor.T)

    @property
    def held(self) -> bool:
        """Whether a pass over all rows costs no products."""
        return self.matrix is not None

    def bound_sums(self, weights: Numbers, rows: Indices, count: int) -> Numbers:
        """Per row i what the sum of the ``count`` largest |A_ij| d_j, j != i, does not exceed."""
        if count == 0 or not float(weights.max()) < LARGEST_WEIGHT:
            return np.zeros(len(rows)) if count == 0 else np.full(len(rows), np.inf)
        raised = _round_up(weights)
        self.ceilings[:], self.state = np.inf, (weights.copy(), count)
        step = max(1, BLOCK_ENTRIES // self.size)
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            found = kernels.row_ceilings(self._form(part), part, raised, count, self.thresholds[part])
            self.ceilings[part], self.thresholds[part] = found
        return self._raise_sums(weights, rows, count)

    def list_changes(self, weights: Numbers, count: int) -> Indices | None:
        """The variables whose weight is not that of the last pass; None where there was none for this count."""
        if self.state is None or self.state[1] != count or not float(weights.max()) < LARGEST_WEIGHT:
            return None
        return np.flatnonzero(weights != self.state[0]).astype(np.int64)

    def change_sums(self, weights: Numbers, changed: Indices, count: int) -> Numbers:
        """The bounds of all rows of the last pass after some weights changed; infinite for rows that it left out."""
        assert self.state is not None
        old, new, added = _round_up(self.state[0]), _round_up(weights), np.zeros(self.size)
        step = max(1, BLOCK_ENTRIES // self.size)
        for begin in range(0, len(changed), step):
            part = changed[begin : begin + step]
            block = np.abs(self._form(part))
            block[np.arange(len(part)), part] = 0.0
            risen = np.maximum(block * new[part, None] - self.thresholds, 0.0)
            risen -= np.maximum(block * old[part, None] - self.thresholds, 0.0)
            added += risen.sum(axis=0, dtype=np.float64)
        slack = 2.0 * self.ceilings + np.abs(added) + 2.0 * len(changed) * self.thresholds.astype(np.float64)
        self.ceilings, self.state = self.ceilings + added + 8.0 * UNIT * slack, (weights.copy(), count)
        return self._raise_sums(weights, np.arange(self.size, dtype=np.int64), count)

    def _raise_sums(self, weights: Numbers, rows: Indices, count: int) -> Numbers:
        """The ceilings past every rounding."""
        apart = self.share * self.lengths[rows] * sum_of_largest(self.lengths * weights, count)
        apart += 2.0 * self.roots[rows] * sum_of_largest(self.roots * weights, count)
        raised: Numbers = self.ceilings[rows] * (1.0 + 40.0 * UNIT) + apart * (1.0 + 4.0 * gamma(count + 8))
        return raised + count * 2.0**-100

    def _form(self, rows: Indices) -> Single:
        """Rows of the matrix; neighbours are not copied."""
        together = len(rows) > 0 and int(rows[-1]) - int(rows[0]) == len(rows) - 1
        if self.matrix is not None:
            return self.matrix[int(rows[0]) : int(rows[-1]) + 1] if together else self.matrix[rows]
        assert self.factor is not None
        made: Single = multiply(self.factor[rows], self.factor.T)
        return made


def _round_up(weights: Numbers) -> Single:
    """The weights in float32, none smaller than it was."""
    raised: Single = np.nextafter(weights.astype(np.float32), np.float32(np.inf))
    return raised
