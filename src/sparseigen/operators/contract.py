"""What a solver may ask of a matrix: the operator contract.

A solver never sees an array. It sees an operator that stands for a symmetric matrix A and can multiply it with a
sparse vector, show columns and small blocks, and wrap itself (shifted, deflated, restricted) without a copy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.memory import check_room
from sparseigen.errors import UnsupportedOperatorError

if TYPE_CHECKING:
    from sparseigen.operators.iteration import Iteration
    from sparseigen.operators.samples import Samples

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

LARGEST_PLAIN_EXPONENT = 200
"""Entries between 2**-200 and 2**200 are worked with as they are."""
LARGEST_MATERIALISED = 4096
"""No operator forms its p x p matrix above this size (128 MiB in float64)."""
BLOCK_ENTRIES, FORM_ENTRIES = 1 << 20, 1 << 22
"""Entries of A formed at a time for row sums and for quadratic forms."""

DTYPE_NAMES = {np.dtype(np.float64): "float64", np.dtype(np.float32): "float32"}
"""What ``str`` says, which takes as long as some steps of a small problem."""


@dataclass(frozen=True)
class SparseVector:
    """A unit vector by its non-zeros: ``weights`` at ``indices`` (ascending)."""

    indices: Indices
    weights: Weights

    @classmethod
    def from_dense(cls, vector: NDArray[np.float64]) -> SparseVector:
        """The non-zeros of a vector, brought to length one.

        Examples
        --------
        >>> import numpy as np
        >>> SparseVector.from_dense(np.array([0.0, 3.0, 0.0, -4.0])).truncated(1)
        SparseVector(indices=array([3]), weights=array([-1.]))
        """
        indices = np.flatnonzero(vector).astype(np.int64)
        return cls(indices, vector[indices] / np.linalg.norm(vector[indices]))

    def truncated(self, cardinality: int) -> SparseVector:
        """The unit vector of the k largest weights, ties to the lowest index; itself where it has no more."""
        if len(self.indices) <= cardinality:
            return self
        kept = kernels.largest_magnitudes(self.weights, cardinality)
        return SparseVector(self.indices[kept], self.weights[kept] / np.linalg.norm(self.weights[kept]))

    def spread(self, size: int) -> Weights:
        """The vector of full length."""
        full = np.zeros(size)
        full[self.indices] = self.weights
        return full


@dataclass(frozen=True)
class AccessCosts:
    """What it costs to look at a matrix, for dividing work."""

    column: int
    """Numbers per column as it is fetched."""
    product: float = 0.0
    """Multiplications of a product with a sparse vector, whatever its support."""
    per_variable: float = 0.0
    """Multiplications that each variable of the support adds."""
    columns_per_pass: int | None = None
    """Columns that one pass over the data gives; None where there are no passes to save."""
    affordable_columns: float = np.inf
    """Columns that a default bound may ask for, all in all; where each is dear, not every bound pays."""
    transfers: bool = False
    """Whether what is returned crosses a bus or a network: callers then ask for no more than they need."""
    runs_per_pass: int = 1
    """How many runs of an iteration share a pass over the data; where it is 1, each costs its own."""

    def step(self, cardinality: int) -> float:
        """Multiplications of one power step."""
        return self.product + cardinality * self.per_variable

    def columns_at_once(self, entries: int) -> int:
        """How many columns to ask for at a time, where a block of about ``entries`` numbers suits the caller."""
        return max(1, entries // self.column) if self.columns_per_pass is None else self.columns_per_pass


class PowerStep(NamedTuple):
    """One product with a sparse vector, truncated.

    ``indices`` and ``values`` are the k largest entries of A x, ``quadratic_form`` is x'Ax in float64.
    """

    indices: Indices
    values: NDArray[np.float64]
    quadratic_form: float


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
    taken_out: tuple[str, ...] = ()
    """How each component taken out of the matrix before this one was: names of deflations, in order."""

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

    @property
    def costs(self) -> AccessCosts:
        """What products and columns cost; k columns per product for a matrix."""
        return AccessCosts(self.size, per_variable=float(self.size))

    @property
    def samples(self) -> Samples:
        """The data behind the matrix, for statistics of them; an error where there are none."""
        message = f"{type(self).__name__} is a matrix without samples; this needs the data behind it."
        raise UnsupportedOperatorError(message)

    @computed_once
    def _diagonal_once(self) -> NDArray[np.float64]:
        diagonal = np.ascontiguousarray(self._diagonal(), dtype=np.float64)
        diagonal.flags.writeable = False
        return diagonal

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal of A in float64, read-only."""
        return self._diagonal_once

    @property
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
        step = self.costs.columns_at_once(1 << 20)
        starts = range(0, self.size, step)
        blocks = (np.arange(begin, min(begin + step, self.size), dtype=np.int64) for begin in starts)
        return max(float(np.abs(self.accurate_columns(block)).max()) for block in blocks)

    def iteration(self, cardinalities: Sequence[int], *, nonnegative: bool = False) -> Iteration:
        """The steps of Algorithm 1 with this matrix, for one run per cardinality; `solvers.truncated_power` drives it.

        With ``nonnegative`` a step keeps positive entries only.
        """
        from sparseigen.operators.iteration import Iteration

        return Iteration(self, cardinalities, nonnegative=nonnegative)

    def top_row_sums(
        self, rows: Indices, weights: Weights, count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Of each row i the sum of its ``count`` largest ``|A_ij| weights_j``, j != i, made where the data are.

        Three arrays: the sums, the smallest product that each of them used, and by how much a sum can be too small
        beyond `entry_errors` and one rounding per product and per addition. Here that is what underflow can take.
        """
        sums, least = np.empty(len(rows)), np.empty(len(rows))
        step = self.costs.columns_at_once(BLOCK_ENTRIES)
        for begin in range(0, len(rows), step):
            part = slice(begin, begin + step)
            block = np.ascontiguousarray(self.accurate_columns(rows[part]).T)
            sums[part], least[part] = kernels.top_row_sums(block, rows[part], weights, count)
        return sums, least, np.full(len(rows), count * 2.0**-1060)

    def quadratic_form(self, indices: Indices, weights: Vector) -> tuple[float, float]:
        """The form x'Ax of the matrix as it is held, and a bound on the rounding error of that number.

        The two products are sums of k terms each, so the number is off by at most ``gamma(2k) |x|'|A||x|``; four times
        that covers the rounding of ``|x|'|A||x|`` too. The constant covers what underflow can take.
        """
        count, entries = len(indices), np.asarray(weights, dtype=np.float64)
        form, magnitude = 0.0, 0.0
        step = self.costs.columns_at_once(FORM_ENTRIES)
        for begin in range(0, count, step):
            part = slice(begin, begin + step)
            # What is infinite then is known to prove nothing, and entries outside the block are not used.
            with np.errstate(over="ignore", invalid="ignore"):
                block = self._accurate_block(indices, indices[part])
                form += float(entries @ (block @ entries[part]))
                magnitude += float(np.abs(entries) @ (np.abs(block) @ np.abs(entries[part])))
        return form, 4.0 * 1.02 * (2 * count + 4) * 2.0**-53 * magnitude + count * 2.0**-1060

    def factor_rows(self, rows: Indices | slice) -> Any:
        """Rows of a factor F in float64, in the operator's own type of array; `factor_rank` says whether there is one.

        A = FF' up to twice `entry_errors`.
        """
        message = f"{type(self).__name__} has no factor at hand: factor_rank is 0."
        raise UnsupportedOperatorError(message)

    def apply_top(self, indices: Indices, weights: Vector, cardinality: int) -> tuple[Indices, NDArray[np.float64]]:
        """The indices and values of the ``cardinality`` largest entries of A x."""
        vector = SparseVector(indices, np.asarray(weights, dtype=np.float64))
        step = self.iteration([cardinality]).step(vector, cardinality)
        return step.indices, step.values

    def submatrix(self, rows: Indices, columns: Indices | None = None) -> NDArray[np.float64]:
        """A[rows, columns] in float64; without ``columns`` the principal submatrix at ``rows``."""
        chosen = self.accurate_columns(rows if columns is None else columns)
        return chosen[rows].astype(np.float64)

    def native_columns(self, indices: Indices) -> Any:
        """The columns of A at ``indices`` where the data are, in their own type of array."""
        return self.columns(indices)

    def accurate_columns(self, indices: Indices) -> NDArray[np.float64]:
        """The columns of A at ``indices`` in float64, each entry within `entry_errors` of the exact one."""
        return self.columns(indices).astype(np.float64, copy=False)

    def _accurate_block(self, rows: Indices, columns: Indices) -> NDArray[np.float64]:
        """A[rows, columns] in float64, each entry within `entry_errors` of the exact one."""
        return self.accurate_columns(columns)[rows]

    def _accurate_product(self, indices: Indices, weights: Weights) -> tuple[Weights, Weights]:
        """A x from `accurate_columns`, and the magnitudes |A||x| that its rounding is measured by."""
        columns = self.accurate_columns(indices)
        return columns @ weights, np.abs(columns) @ np.abs(weights)

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

    def run_together(self, work: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """The results of several computations with this operator, in their order.

        One after the other here. An operator whose data are read in passes runs them side by side, so that each pass
        answers what all of them ask for. Computations must not depend on each other.
        """
        return [compute() for compute in work]

    def shifted(self, shift: float) -> Operator:
        """A + shift I."""
        from sparseigen.operators.wrapped import ShiftedOperator

        return ShiftedOperator(self, shift=shift)

    def deflated(self, vector: Vector, *, regress: bool = False) -> Operator:
        """(I - xx') A (I - xx') for a unit vector x: projection deflation.

        With ``regress`` A - (Ax)(Ax)' / x'Ax, the covariance given the component: Schur complement deflation.
        """
        from sparseigen.operators.deflated import project_out, regress_out

        return regress_out(self, vector) if regress else project_out(self, vector)

    def restricted(self, indices: Indices) -> Operator:
        """The principal submatrix at ``indices`` as an operator."""
        from sparseigen.operators.wrapped import RestrictedOperator

        return RestrictedOperator(self, indices)

    def describe(self) -> dict[str, Any]:
        """What a result's settings say of the matrix."""
        dtype = DTYPE_NAMES.get(self.dtype) or str(self.dtype)
        return {"operator": type(self).__name__, "size": self.size, "dtype": dtype} | describe_deflation(self.taken_out)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.size} x {self.size} {self.dtype}>"


def describe_deflation(taken_out: Sequence[str]) -> dict[str, Any]:
    """What a result's settings say of the components taken out before.

    Examples
    --------
    >>> describe_deflation(("schur", "schur"))
    {'components_taken_out': 2, 'deflation': 'schur'}
    """
    return (
        {"components_taken_out": len(taken_out), "deflation": ", ".join(dict.fromkeys(taken_out))} if taken_out else {}
    )


def find_exponent(magnitude: float) -> int:
    """The power of two just above a magnitude: dividing by it is exact and leaves a number below one.

    Examples
    --------
    >>> find_exponent(3.0), find_exponent(0.0)
    (2, 0)
    """
    return math.frexp(magnitude)[1] if magnitude > 0.0 else 0


def scale_exponent(magnitude: float) -> int:
    """The power of two by which entries of that size are divided before squares of them are formed; most often 0.

    Squares of entries near 1e300 or 1e-300 leave the range of floating point; a power of two moves them to the
    middle of it without rounding.

    Examples
    --------
    >>> scale_exponent(3.0), scale_exponent(1e200), scale_exponent(1e-200)
    (0, 665, -664)
    """
    exponent = find_exponent(magnitude)
    return exponent if abs(exponent) > LARGEST_PLAIN_EXPONENT else 0
