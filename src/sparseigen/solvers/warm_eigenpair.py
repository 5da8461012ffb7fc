"""The leading eigenpair of a matrix that differs little from one just solved.

Paths and greedy searches solve long rows of k x k problems on supports that differ by a variable or two. Two things
make that cheap: the block of A is updated by the rows that changed instead of being gathered anew, and the last
eigenvector starts a short Lanczos process instead of a full decomposition.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen.operators.contract import Indices, Operator
from sparseigen.solvers.interface import Weights
from sparseigen.solvers.support import leading_eigenpair

SMALLEST_WARM = 24
"""Below this size LAPACK is as fast."""
STEPS, CHECKED = 24, frozenset({5, 7, 9, 12, 15, 18, 21})
"""Products before the process restarts from its best vector, and after which of them the residual is looked at."""
PERTURBATION = 1e-5
"""Length of what is mixed into the start: far above SMALL_RESIDUAL, so that what it holds is noticed."""
RESTARTS = 8
"""Restarts before LAPACK takes over."""
SMALL_RESIDUAL = 1e-7
"""Relative to the value. The value's own error is the residual squared over the gap: rounding level."""


def warm_eigenpair(matrix: NDArray[np.float64], start: Weights) -> tuple[Weights, float]:
    """The leading eigenpair of a small symmetric matrix, from a vector already close to it.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseigen.solvers.warm_eigenpair import warm_eigenpair
    >>> matrix = np.diag(np.arange(50.0))
    >>> round(warm_eigenpair(matrix, np.ones(50))[1], 9)
    49.0
    """
    length = float(np.linalg.norm(start))
    if len(matrix) < SMALLEST_WARM or not length > 0.0:
        return leading_eigenpair(np.ascontiguousarray(matrix))
    # A start inside another eigenspace would never leave it: a little of everything is mixed in.
    vector = start / length + PERTURBATION * len(start) ** -0.5 * np.cos(np.arange(len(start)))
    vector /= np.linalg.norm(vector)
    for _ in range(RESTARTS):
        vector, value, residual = _lanczos(matrix, vector)
        if residual <= SMALL_RESIDUAL * abs(value):
            return vector, value
    return leading_eigenpair(np.ascontiguousarray(matrix))


def _lanczos(matrix: NDArray[np.float64], start: Weights) -> tuple[Weights, float, float]:
    """The best vector of a Krylov space, its value and the length of its residual; ends early when that is small."""
    from scipy.linalg.lapack import dstev  # eigenpairs of a tridiagonal matrix, without a wrapper's checks

    basis = np.empty((STEPS + 1, len(start)))
    diagonal, beside = np.empty(STEPS), np.empty(STEPS)
    basis[0] = start
    for j in range(STEPS):
        image = matrix @ basis[j]
        shares = basis[: j + 1] @ image
        image -= shares @ basis[: j + 1]
        diagonal[j], beside[j] = shares[j], np.sqrt(image @ image)
        exhausted = j == STEPS - 1 or beside[j] <= 1e-14 * abs(diagonal[0])
        if exhausted or j + 1 in CHECKED:
            values, vectors, _ = dstev(diagonal[: j + 1], beside[: max(j, 1)])
            residual = float(beside[j] * abs(vectors[-1, -1]))
            if exhausted or residual <= SMALL_RESIDUAL * abs(values[-1]):
                break
        basis[j + 1] = image / beside[j]
    vector: Weights = vectors[:, -1] @ basis[: j + 1]
    return vector / np.sqrt(vector @ vector), float(values[-1]), residual


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
            if self.operator.transfers_cost:  # only what the block needs: the entering variables' rows within it
                known = np.concatenate([self.order, entering])
                columns = self.operator.cross(known, entering)
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
