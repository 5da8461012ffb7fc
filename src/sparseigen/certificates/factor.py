"""A = FF' with few columns: in memory, or made where the data live, and a proven bound on what F leaves out.

Rows of F are NumPy arrays or torch tensors. `namespace` and its neighbours are what lets one text work on both.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseigen.certificates.problem import BoundProblem, Numbers
from sparseigen.certificates.rounding import TINY, UNIT, gamma, sum_of_largest
from sparseigen.checks.memory import check_room
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices

Array = Any
"""A NumPy array or a torch tensor."""

LARGEST_WORK = 1.5e9
"""Multiplications the factorisation and its check may cost."""
SMALL = 48
"""Up to this size the factorisation runs without LAPACK."""
LARGEST_PRODUCT = 2.0e11
"""Operations of F'F above which data in memory are not used as a factor: bounds from it make that several times."""
RANK_TOLERANCE = 1e-13
"""Pivots below this share of the largest diagonal entry count as zero; what they carry goes into ``rest``."""


def namespace(array: Array) -> Any:
    """The module whose functions work on this array: numpy or torch."""
    return np if isinstance(array, np.ndarray) else importlib.import_module("torch")


def to_host(array: Array) -> Numbers:
    """The same numbers as a NumPy array."""
    moved: Numbers = array if isinstance(array, np.ndarray) else array.cpu().numpy()
    return moved


def working_memory(array: Array) -> AbstractContextManager[None]:
    """Where the array lives on a device, running out of its memory raises an error that says what to do."""
    if isinstance(array, np.ndarray):
        return nullcontext()
    from sparseigen.operators.torch_data import guard_device_memory

    return guard_device_memory("dual points", 1 << 30, array.device)


def row_dots(left: Array, right: Array) -> Array:
    """The inner products of rows with rows; on a device not by einsum, which makes one tiny product per row."""
    return np.einsum("ij,ij->i", left, right) if isinstance(left, np.ndarray) else (left * right).sum(axis=1)


def place_like(values: Numbers, array: Array) -> Array:
    """The values in the type of the array, where it lives."""
    return values if isinstance(array, np.ndarray) else array.new_tensor(values)


class FactorRows:
    """The rows of the operator's factor, scaled like the entries, made when they are asked for, where the data live."""

    def __init__(self, problem: BoundProblem) -> None:
        self.operator, self.shape = problem.operator, (problem.size, problem.operator.factor_rank)
        half, odd = divmod(problem.exponent, 2)
        self.scale = float(np.ldexp(2.0**-0.5 if odd else 1.0, -half))

    def __getitem__(self, rows: Indices | slice) -> Any:
        return self.operator.factor_rows(rows) * self.scale


@dataclass(frozen=True)
class Factor:
    """The scaled matrix is FF' up to a matrix whose k x k blocks have eigenvalues below ``rest``.

    ``rows`` are the rows of F: an array, or `FactorRows`.
    """

    rows: Array
    rest: float


def find_factor(problem: BoundProblem, *, in_blocks: bool = False, largest: float = LARGEST_PRODUCT) -> Factor | None:
    """The data where the operator has them, else a pivoted Cholesky factor; None when neither is affordable.

    ``in_blocks``: the rows of data are not held, but made when they are asked for. ``largest``: operations that F'F may
    cost.
    """
    rank = problem.operator.factor_rank
    if rank > 0 and comes_to_host(problem):
        if 2.0 * problem.size * float(rank) ** 2 > largest and not problem.operator.costs.transfers:
            problem.left_out = f"duals left out: products of {rank} samples"
            return None
        rest = float(bound_left_out(problem)[problem.cardinality - 1])
        if in_blocks and not problem.operator.costs.transfers:
            return Factor(FactorRows(problem), rest)
        # The factor, the dual points made from it, and what computing them takes: eight times the data in float64.
        check_room(64 * rank * problem.size, f"a certificate from {rank} samples", "use certify=False")
        return Factor(np.ascontiguousarray(to_host(FactorRows(problem)[:])), rest)
    if problem.dense is None or problem.operator.positive_semidefinite is False:
        return None
    return _factorise(problem.dense, problem.cardinality, problem.margin)


def comes_to_host(problem: BoundProblem) -> bool:
    """Whether the data are in this memory, or small enough to be fetched."""
    rank = problem.operator.factor_rank
    return not problem.operator.costs.transfers or rank <= problem.size <= LARGEST_MATERIALISED


def bound_left_out(problem: BoundProblem) -> Numbers:
    """For every cardinality what the operator's own factor leaves out: twice the entries' errors, and the scaling.

    Scaling rounds each number at most twice more: at most 8 roundings of the diagonal.
    """
    scaling = 8.0 * UNIT * np.cumsum(np.sort(np.abs(problem.diagonal))[::-1])
    return 2.0 * problem.margins + 2.0 * scaling + TINY


def _factorise(matrix: Numbers, cardinality: int, margin: float) -> Factor | None:
    size = len(matrix)
    if size**3 / 3.0 > LARGEST_WORK:
        return None
    largest = max(float(matrix.diagonal().max()), TINY)
    rows = (_factorise_small if size <= SMALL else _factorise_by_lapack)(matrix, RANK_TOLERANCE * size * largest)
    rank = rows.shape[1]
    if rank == 0 or float(size) ** 2 * rank > LARGEST_WORK:
        return None
    rest = matrix - rows @ rows.T
    # |computed - exact| of the difference: r-term sums of products at most |f_i| |f_j|, and one subtraction.
    lengths = np.einsum("ij,ij->i", rows, rows)
    rounding = 2.0 * gamma(rank + 4) * (sum_of_largest(lengths, cardinality) + cardinality * largest)
    return Factor(rows, _row_norm(rest, cardinality) + rounding + margin + TINY)


def _factorise_by_lapack(matrix: Numbers, tolerance: float) -> Numbers:
    from scipy.linalg.lapack import dpstrf

    packed, pivots, rank, _ = dpstrf(matrix, tol=tolerance, lower=1)
    rows = np.empty((len(matrix), rank))
    rows[pivots - 1] = np.tril(packed)[:, :rank]
    return rows


def _factorise_small(matrix: Numbers, tolerance: float) -> Numbers:
    """The same without scipy.linalg, whose import would cost more than the whole solve of a small matrix."""
    rows = np.zeros_like(matrix)
    left = matrix.diagonal().copy()
    for rank in range(len(matrix)):
        pivot = int(left.argmax())
        if not left[pivot] > tolerance:
            return np.ascontiguousarray(rows[:, :rank])
        column = matrix[:, pivot] - rows[:, :rank] @ rows[pivot, :rank]
        column *= left > 0.0  # rows that are done have nothing left; rounding must not give it back
        rows[:, rank] = column / np.sqrt(left[pivot])
        rows[pivot, rank] = np.sqrt(left[pivot])
        left -= rows[:, rank] ** 2
        left[pivot] = 0.0
        np.maximum(left, 0.0, out=left)
    return rows


def _row_norm(matrix: Numbers, cardinality: int) -> float:
    """The largest sum of k magnitudes in a row: bounds the eigenvalues of every k x k block."""
    width = matrix.shape[1]
    magnitudes = np.abs(matrix)
    if cardinality < width:
        magnitudes = np.partition(magnitudes, width - cardinality, axis=1)[:, width - cardinality :]
    return float(magnitudes.sum(axis=1).max()) * (1.0 + 2.0 * gamma(cardinality))
