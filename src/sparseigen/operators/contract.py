"""What a solver may ask of a matrix: the operator contract.

A solver never sees an array. It sees an operator that stands for a symmetric matrix A and can multiply it with a
sparse vector, show columns and small blocks, and wrap itself (shifted, deflated, restricted) without a copy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.memory import check_room
from sparseigen.errors import UnsupportedOperatorError

Value = TypeVar("Value")


class computed_once(Generic[Value]):
    """``functools.cached_property`` without a lock.

    Up to Python 3.11 that one holds a lock of the class while it computes: threads with graphs of their own would wait
    for each other, and a process forked meanwhile for ever. Here two threads that ask at the same time may both
    compute; the answers are the same, and one is kept.

    Examples
    --------
    >>> class Squares:
    ...     @computed_once
    ...     def total(self):
    ...         print("computing")
    ...         return sum(i * i for i in range(4))
    >>> squares = Squares()
    >>> squares.total
    computing
    14
    >>> squares.total
    14
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> computed_once[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> computed_once[Value] | Value:
        if instance is None:
            return self
        value: Value = instance.__dict__.setdefault(self.name, self.function(instance))
        return value


Indices = NDArray[np.int64]
Vector = NDArray[Any]
Matrix = NDArray[Any]
Weights = NDArray[np.float64]
Answer = TypeVar("Answer")

LARGEST_MATERIALISED = 4096
"""No operator forms its p x p matrix above this size (128 MiB in float64)."""
BLOCK_ENTRIES, FORM_ENTRIES = 1 << 20, 1 << 22
"""Entries of A formed at a time for row sums and for quadratic forms."""


@dataclass(frozen=True)
class SparseVector:
    """A unit vector by its non-zeros: ``weights`` at ``indices`` (ascending)."""

    indices: Indices
    weights: Weights

    def spread(self, size: int) -> Weights:
        """The vector of full length."""
        full = np.zeros(size)
        full[self.indices] = self.weights
        return full


class PowerStep(NamedTuple):
    """One product with a sparse vector, truncated.

    ``indices`` and ``values`` are the k largest entries of A x, ``quadratic_form`` is x'Ax in float64.
    """

    indices: Indices
    values: NDArray[np.float64]
    quadratic_form: float


class PowerRun(NamedTuple):
    """A whole run of the truncated power method, made by an operator whose data live on a device.

    ``indices`` (ascending) and ``weights`` are the last iterate, ``history`` the objective of the start and of every
    iterate. ``ended`` is "value_stalled", "fixed_point" (the product vanished) or "iteration_limit".
    """

    indices: Indices
    weights: NDArray[np.float64]
    history: list[float]
    ended: str
    n_iterations: int


class SemidefiniteHint:
    """Whether a matrix is positive semidefinite, as far as its operator knows; any assignment takes its place."""

    @overload
    def __get__(self, instance: None, owner: type) -> SemidefiniteHint: ...
    @overload
    def __get__(self, instance: Operator, owner: type) -> bool | None: ...
    def __get__(self, instance: Operator | None, owner: type) -> SemidefiniteHint | bool | None:
        if instance is None:
            return self
        return True if np.isfinite(instance.negative_part) else None


class Operator(ABC):
    """A symmetric matrix A of size p, seen through products.

    Subclasses give ``size``, ``dtype``, ``_diagonal``, ``apply_support``, ``columns`` and ``block_apply``; the
    rest follows. ``dtype`` is the precision of the products; values and objectives are float64 always.

    Examples
    --------
    A matrix that is never formed: the identity plus a rank-one part.

    >>> import numpy as np
    >>> import sparseigen as se
    >>> class Spiked(se.Operator):
    ...     def __init__(self, spike):
    ...         self.size, self.spike = len(spike), spike
    ...
    ...     def _diagonal(self):
    ...         return 1.0 + self.spike**2
    ...
    ...     def apply_support(self, indices, weights):
    ...         product = self.spike * (self.spike[indices] @ weights)
    ...         product[indices] += weights
    ...         return product
    ...
    ...     def columns(self, indices):
    ...         return np.eye(self.size)[:, indices] + np.outer(self.spike, self.spike[indices])
    ...
    ...     def block_apply(self, block):
    ...         return block + np.outer(self.spike, self.spike @ block)
    >>> result = se.sparse_eigenvector(Spiked(np.array([3.0, 0.1, 4.0, 0.2])), cardinality=2)
    >>> result.support.tolist(), round(result.value, 6)
    ([0, 2], 26.0)
    """

    size: int
    dtype: np.dtype[Any] = np.dtype(np.float64)
    names: tuple[str, ...] | None = None
    negative_part: float = np.inf
    """How far below zero an eigenvalue of A can be, proven: 0 for Gram matrices (of data), infinite where nothing is
    known. Bounds rely on this alone."""
    positive_semidefinite: SemidefiniteHint | bool | None = SemidefiniteHint()
    """What solvers take A for: True, False, or None where it is not known. Follows from `negative_part` unless a class
    or an object says otherwise."""
    factor_rank: int = 0
    """Number of columns of the factor that `factor_rows` hands out; 0 where none is at hand."""
    transfers_cost: bool = False
    """Whether what an operator returns crosses a bus or a network: callers then ask for no more than they need."""

    @abstractmethod
    def _diagonal(self) -> NDArray[np.float64]:
        """The diagonal of A, computed once by `diagonal`."""

    @abstractmethod
    def apply_support(self, indices: Indices, weights: Vector) -> Vector:
        """The product A x with the sparse vector x that holds ``weights`` at ``indices``."""

    @abstractmethod
    def columns(self, indices: Indices) -> Matrix:
        """The columns of A at ``indices``, shape (size, len(indices))."""

    @abstractmethod
    def block_apply(self, block: Matrix) -> Matrix:
        """The product A V with a dense block V of shape (size, m), in one pass over the data."""

    @computed_once
    def _diagonal_once(self) -> NDArray[np.float64]:
        diagonal = np.ascontiguousarray(self._diagonal(), dtype=np.float64)
        diagonal.flags.writeable = False
        return diagonal

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal of A in float64, read-only."""
        return self._diagonal_once

    def trace(self) -> float:
        """The sum of the diagonal: the total variance of a covariance."""
        return float(self.diagonal().sum())

    def magnitude(self) -> float:
        """The size of the entries: the largest ``|diagonal entry|`` where A is PSD, which bounds all others there.

        Elsewhere the largest ``|entry|``, as long as A is of a size that is looked at as a whole.
        """
        largest = float(np.abs(self.diagonal()).max())
        if self.positive_semidefinite or self.size > LARGEST_MATERIALISED:
            return largest
        return max(largest, self._largest_entry)

    @computed_once
    def _largest_entry(self) -> float:
        step = self.columns_at_once(1 << 20)
        starts = range(0, self.size, step)
        blocks = (np.arange(begin, min(begin + step, self.size), dtype=np.int64) for begin in starts)
        return max(float(np.abs(self.accurate_columns(block)).max()) for block in blocks)

    def apply(self, vector: Vector) -> Vector:
        """The product A v with a dense vector."""
        product: Vector = self.block_apply(np.asarray(vector)[:, None])[:, 0]
        return product

    def power_step(
        self, indices: Indices, weights: Vector, cardinality: int, *, nonnegative: bool = False
    ) -> PowerStep:
        """Product and truncation in one, with the value of the vector that went in.

        Ties are broken by lowest index. With ``nonnegative`` only positive entries are kept.
        """
        product = self.apply_support(indices, weights)
        value = kernels.inner_product(np.asarray(weights, dtype=np.float64), product[indices].astype(np.float64))
        kept = kernels.largest_magnitudes(product, cardinality, nonnegative=nonnegative)
        values = product[kept].astype(np.float64)
        return PowerStep(kept, np.maximum(values, 0.0) if nonnegative else values, value)

    def truncated_power_run(
        self,
        indices: Indices,
        weights: Vector,
        cardinality: int,
        *,
        rtol: float,
        atol: float,
        max_iterations: int,
        nonnegative: bool = False,
        until_support_repeats: bool = False,
    ) -> PowerRun | None:
        """The whole loop of Algorithm 1 where the data are, or None: then the solver makes the steps itself.

        Optional. Worth offering where a round trip of every iterate through host memory costs more than the step.
        """
        return None

    def truncated_power_block(
        self, cardinalities: list[int], *, rtol: float, atol: float, max_iterations: int
    ) -> list[PowerRun] | None:
        """Algorithm 1 from the largest variance for many cardinalities at once, or None where it does not pay.

        Optional. One pass over the data then serves all cardinalities.
        """
        return None

    def top_row_sums(
        self, rows: Indices, weights: Weights, count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Of each row i the sum of its ``count`` largest ``|A_ij| weights_j``, j != i, made where the data are.

        Three arrays: the sums, the smallest product that each of them used, and by how much a sum can be too small
        beyond `entry_errors` and one rounding per product and per addition. Here that is what underflow can take.
        """
        sums, least = np.empty(len(rows)), np.empty(len(rows))
        step = self.columns_at_once(BLOCK_ENTRIES)
        for begin in range(0, len(rows), step):
            part = slice(begin, begin + step)
            block = np.ascontiguousarray(self.accurate_columns(rows[part]).T)
            sums[part], least[part] = kernels.top_row_sums(block, rows[part], weights, count)
        return sums, least, np.full(len(rows), count * 2.0**-1060)

    def quadratic_form(self, indices: Indices, weights: Vector) -> tuple[float, float]:
        """The form x'Ax of the matrix as it is held, and a bound on the rounding error of that number.

        The two products are sums of k terms each, so the number is off by at most gamma(2k) |x|'|A||x|; four times
        that covers the rounding of |x|'|A||x| too. The constant covers what underflow can take.
        """
        count, entries = len(indices), np.asarray(weights, dtype=np.float64)
        form, magnitude = 0.0, 0.0
        step = self.columns_at_once(FORM_ENTRIES)
        for begin in range(0, count, step):
            part = slice(begin, begin + step)
            block = self.accurate_columns(indices[part])[indices]
            with np.errstate(over="ignore", invalid="ignore"):  # what is infinite then is known to prove nothing
                form += float(entries @ (block @ entries[part]))
                magnitude += float(np.abs(entries) @ (np.abs(block) @ np.abs(entries[part])))
        return form, 4.0 * 1.02 * (2 * count + 4) * 2.0**-53 * magnitude + count * 2.0**-1060

    def factor_rows(self, rows: Indices | slice) -> Any:
        """Rows of a factor F in float64, in the operator's own type of array; `factor_rank` says whether there is one.

        A = FF' up to twice `entry_errors`.
        """
        message = f"{type(self).__name__} has no factor at hand: factor_rank is 0."
        raise UnsupportedOperatorError(message)

    def column_energies(self, columns: Indices, cardinality: int) -> tuple[Vector, Vector] | None:
        """Of each column the sums of its k largest squares, and of its k - 1 largest off the diagonal, or None.

        Optional, for operators whose columns cost more to fetch than to look at.
        """
        return None

    def projected(self, vector: Vector) -> Operator | None:
        """(I - xx') A (I - xx') made where the data are, or None: then `deflated` wraps the products.

        Optional. ``vector`` need not be of unit length.
        """
        return None

    def apply_top(self, indices: Indices, weights: Vector, cardinality: int) -> tuple[Indices, NDArray[np.float64]]:
        """The indices and values of the ``cardinality`` largest entries of A x."""
        step = self.power_step(indices, weights, cardinality)
        return step.indices, step.values

    def step_cost(self, cardinality: int) -> float:
        """Multiplications of one power step, for sharing out work; k columns for a matrix."""
        return float(cardinality) * self.size

    def submatrix(self, indices: Indices) -> NDArray[np.float64]:
        """The principal submatrix of A at ``indices``, float64."""
        return self.columns(indices)[indices].astype(np.float64)

    def cross(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """A[rows, columns] in float64."""
        return self.columns(columns)[rows].astype(np.float64)

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """The columns of A at ``indices`` in float64, each entry within `entry_errors` of the exact one."""
        return self.columns(indices).astype(np.float64, copy=False)

    def entry_errors(self) -> NDArray[np.float64]:
        """A vector w with ``|error of entry (i, j)| <= sqrt(w_i w_j)`` for `accurate_columns` and `diagonal`.

        Then the error of any principal block is at most the sum of its w in the spectral norm, because
        ``|x'Ex| <= (sum_i |x_i| sqrt(w_i))^2 <= sum_i w_i``. Zero for matrices given explicitly. An operator over
        samples that does not know better is taken to accumulate in its own ``dtype``.
        """
        samples = float(getattr(self, "n_samples", 0))
        if samples == 0.0:
            return np.zeros(self.size)
        unit = float(np.finfo(self.dtype).eps)
        return (2.0 * samples + 20.0) * unit * np.abs(self.diagonal())

    def to_dense(self) -> NDArray[np.float64]:
        """The whole matrix in float64, for sizes up to LARGEST_MATERIALISED.

        Raises
        ------
        UnsupportedOperatorError
            If the matrix is larger than that.
        """
        if self.size > LARGEST_MATERIALISED:
            message = (
                f"the {self.size} x {self.size} matrix would need {self.size**2 * 8 / 2**30:.1f} GiB; matrices are "
                f"formed up to size {LARGEST_MATERIALISED} only. Choose a solver or bound that works from products."
            )
            raise UnsupportedOperatorError(message)
        remedy = "choose a solver or bound that works from products"
        check_room(16 * self.size**2, f"the {self.size} x {self.size} matrix", remedy)
        matrix = self.submatrix(np.arange(self.size, dtype=np.int64))
        np.fill_diagonal(matrix, self.diagonal())  # the same bits, so that ties fall the same way
        return matrix

    def prepared_for(self, n_products: int) -> Operator:
        """The same operator, or the one that gives the same answers faster when many products are to come."""
        return self

    def together(self, work: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """The results of several computations with this operator, in their order.

        One after the other here. An operator whose data are read in passes runs them side by side, so that each pass
        answers what all of them ask for. Computations must not depend on each other.
        """
        return [one() for one in work]

    def columns_at_once(self, entries: int) -> int:
        """How many columns to ask for at a time, where a block of about ``entries`` numbers suits the caller."""
        return max(1, entries // self.size)

    def affordable_columns(self) -> float:
        """How many columns of A a default bound may ask for, all in all; where each is dear, not every bound pays."""
        return np.inf

    def shifted(self, shift: float) -> Operator:
        """A + shift I."""
        from sparseigen.operators.wrapped import ShiftedOperator

        return ShiftedOperator(self, shift=shift)

    def negated(self) -> Operator:
        """-A."""
        from sparseigen.operators.wrapped import ShiftedOperator

        return ShiftedOperator(self, sign=-1.0)

    def deflated(self, vector: Vector) -> Operator:
        """(I - xx') A (I - xx') for a unit vector x: projection deflation."""
        from sparseigen.operators.deflated import projection

        return projection(self, vector)

    def restricted(self, indices: Indices) -> Operator:
        """The principal submatrix at ``indices`` as an operator."""
        from sparseigen.operators.wrapped import RestrictedOperator

        return RestrictedOperator(self, indices)

    def describe(self) -> dict[str, Any]:
        """What a result's settings say of the matrix."""
        return {"operator": type(self).__name__, "size": self.size, "dtype": str(self.dtype)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.size} x {self.size} {self.dtype}>"
