"""Lengths of vectors, energies of columns, and leading eigenpairs: by LAPACK, from a warm start, or by ARPACK.

Paths and greedy searches solve long rows of k x k problems on supports that differ by a variable or two: the last
eigenvector then starts a short Lanczos process instead of a full decomposition.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]


class _BlasThreads:
    """How many callers want one BLAS thread, and how many threads to go back to when the last has left."""

    def __init__(self) -> None:
        self.lock, self.callers = threading.Lock(), 0
        self.controller: Any = None
        self.sees_scipy = False
        self.limits: list[Any] = []

    def enter(self) -> None:
        """Limit BLAS to one thread, if nobody has yet; once more where SciPy came in the meantime."""
        with self.lock:
            self.callers += 1
            loaded = "scipy.linalg" in sys.modules  # brings a BLAS of its own
            fresh = self.controller is None or loaded != self.sees_scipy
            if self.callers > 1 and not fresh:
                return
            if fresh:
                from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

                self.controller, self.sees_scipy = ThreadpoolController(), loaded
            self.limits.append(self.controller.limit(limits=1, user_api="blas"))

    def leave(self) -> None:
        """Give the threads back, if nobody else wants one."""
        with self.lock:
            self.callers -= 1
            while self.callers == 0 and self.limits:
                self.limits.pop().restore_original_limits()


_blas_threads = _BlasThreads()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run long rows of small LAPACK calls in one BLAS thread.

    Two threads gain nothing on matrices of some hundreds of rows, and on a busy machine they wait for each other: a
    decomposition of 200 rows takes 7 ms in one thread and 380 in two. The setting is that of the whole process.
    """
    _blas_threads.enter()
    try:
        yield
    finally:
        _blas_threads.leave()


def has_one_blas_thread() -> bool:
    """Whether somebody runs BLAS in one thread now, so that threads of our own have cores to themselves."""
    return _blas_threads.callers > 0


def inner_product(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """The inner product of two vectors, without BLAS.

    Between the steps of an iteration nobody may call BLAS on long vectors: above 10,000 entries it wakes threads that
    go on spinning for tens of milliseconds, on the cores that the next product needs.
    """
    return float(np.add.reduce(first * second))


def length(vector: NDArray[np.float64]) -> float:
    """The Euclidean length, by `inner_product`."""
    return math.sqrt(inner_product(vector, vector))


def column_energies(columns: Any, positions: NDArray[np.int64], count: int) -> tuple[Weights, Weights]:
    """Sums of the ``count`` largest squares per column, and of one fewer without the entry at the column's position.

    The columns are an array, or a tensor where its device is.
    """
    if not isinstance(columns, np.ndarray):
        from sparseigen.kernels import torch_kernels

        return torch_kernels.column_energies(columns, positions, count)
    squares = columns.astype(np.float64) ** 2
    whole = _sum_largest(squares, count)
    squares[positions, np.arange(squares.shape[1])] = 0.0
    return whole, _sum_largest(squares, max(1, count - 1))


def _sum_largest(squares: Weights, count: int) -> Weights:
    size = len(squares)
    if count >= size:
        return np.asarray(squares.sum(axis=0))
    return np.asarray(np.partition(squares, size - count, axis=0)[size - count :].sum(axis=0))


def run_arpack(
    product: Any, count: int, start: Weights, *, which: str = "LA", **options: Any
) -> tuple[Weights, Weights]:
    """Eigenvalues at one end, ascending, and their vectors; fewer than asked for where ARPACK fails.

    ``product`` is a matrix, or a function that multiplies a vector of the start's length.
    """
    from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

    if callable(product):
        product = LinearOperator((len(start), len(start)), matvec=product, dtype=float)
    try:
        found = eigsh(product, k=count, which=which, v0=start, **options)
    except ArpackNoConvergence as error:
        return error.eigenvalues, error.eigenvectors
    except ArpackError:  # a product that is zero, or numbers of very different size
        return np.empty(0), np.empty((len(start), 0))
    return found if isinstance(found, tuple) else (found, np.empty((len(start), 0)))


LARGEST_SINGLE = 1024
"""Up to this size a decomposition takes one BLAS thread: see `one_blas_thread`."""


def leading_eigenpair(matrix: NDArray[np.float64]) -> tuple[Weights, float]:
    """The leading eigenvector and eigenvalue of a small symmetric matrix."""
    size = len(matrix)
    if size <= 96:
        values, vectors = np.linalg.eigh(matrix)
        return vectors[:, -1], float(values[-1])
    from scipy.linalg import eigh

    with one_blas_thread() if size <= LARGEST_SINGLE else nullcontext():
        values, vectors = eigh(matrix, subset_by_index=[size - 1, size - 1], check_finite=False)
        if vectors.shape[1] == 0:  # LAPACK's subset driver may return no vector where eigenvalues tie
            values, vectors = eigh(matrix, check_finite=False)
    return vectors[:, -1], float(values[-1])


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

CANCELLED, EXHAUSTED = 1e-2, 1e-13
"""Share of a product beside the vectors before it, below which it is made orthogonal to them once more, and below which
it is rounding: then the space is invariant, as on blocks with few different eigenvalues."""


def warm_eigenpair(matrix: NDArray[np.float64], start: Weights) -> tuple[Weights, float]:
    """The leading eigenpair of a small symmetric matrix, from a vector already close to it.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseigen.kernels.eigen import warm_eigenpair
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
    basis[0], largest = start, 0.0
    for j in range(STEPS):
        image = matrix @ basis[j]
        before = np.sqrt(image @ image)
        coefficients = basis[: j + 1] @ image
        image -= coefficients @ basis[: j + 1]
        diagonal[j], beside[j] = coefficients[j], np.sqrt(image @ image)
        if beside[j] <= CANCELLED * before:  # what is left leans towards the basis: values would belong to no vector
            image -= (basis[: j + 1] @ image) @ basis[: j + 1]
            beside[j] = np.sqrt(image @ image)
        largest = max(largest, before)
        exhausted = j == STEPS - 1 or beside[j] <= EXHAUSTED * largest
        if exhausted or j + 1 in CHECKED:
            values, vectors, _ = dstev(diagonal[: j + 1], beside[: max(j, 1)])
            residual = float(beside[j] * abs(vectors[-1, -1]))
            if exhausted or residual <= SMALL_RESIDUAL * abs(values[-1]):
                break
        basis[j + 1] = image / beside[j]
    vector: Weights = vectors[:, -1] @ basis[: j + 1]
    return vector / np.sqrt(vector @ vector), float(values[-1]), residual
