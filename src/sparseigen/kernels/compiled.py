"""The compiled kernels behind the same names and signatures as `numpy_reference`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels import _compiled
from sparseigen.kernels.block_search import MOST_HELD, NARROW, BlockReport
from sparseigen.kernels.numpy_reference import (
    Indices,
    Numbers,
    Positions,
    Shadow,
    Single,
    Steps,
    Vector,
    check_thread_count,
)

NAME = "compiled"


def combine_rows(matrix: NDArray[Any], rows: Indices, weights: Vector) -> Vector:
    """``sum_f weights[f] * matrix[rows[f]]``, without gathering the rows."""
    out = np.empty(matrix.shape[1], dtype=matrix.dtype)
    _compiled.combine_rows(matrix, rows, _as(weights, matrix.dtype), out)
    return out


def row_dots(matrix: NDArray[Any], vector: Vector) -> Vector:
    """``matrix @ vector``, one row stream at a time."""
    out = np.empty(matrix.shape[0], dtype=matrix.dtype)
    _compiled.row_dots(matrix, _as(vector, matrix.dtype), out)
    return out


def row_moments(matrix: NDArray[Any], s: Vector, v: Vector, w: Vector) -> NDArray[Any]:
    """Of every row x the three sums ``x @ s``, ``x @ v`` and ``(x * x) @ w``, in one read."""
    out = np.empty(3 * matrix.shape[0], dtype=matrix.dtype)
    _compiled.row_moments(matrix, _as(s, matrix.dtype), _as(v, matrix.dtype), _as(w, matrix.dtype), out)
    return out.reshape(-1, 3)


def power_step(
    matrix: NDArray[Any], support: Indices, weights: Vector, divisor: float, count: int, *, nonnegative: bool = False
) -> tuple[Vector, Indices, Vector]:
    """The scores of the support, and the ``count`` largest products of a row with them, in one call."""
    scores = np.empty(matrix.shape[1], dtype=matrix.dtype)
    indices, values = np.empty(count, dtype=np.int64), np.empty(count, dtype=matrix.dtype)
    weights = _as(weights, matrix.dtype)
    _compiled.power_step(matrix, support, weights, float(divisor), nonnegative, scores, indices, values)
    return scores, indices, values


def survey_symmetric(matrix: NDArray[Any]) -> tuple[float, float, bool]:
    """max |A_ij|, max |A_ij - A_ji| and whether all entries are finite, in one read of a square matrix."""
    return _compiled.survey_symmetric(matrix)


def symmetric_step(
    matrix: NDArray[Any], support: Indices, weights: Numbers, count: int, *, nonnegative: bool = False
) -> tuple[Indices, Numbers, float]:
    """The ``count`` largest entries of A x for the sparse vector x, and x'Ax."""
    indices, values = np.empty(count, dtype=np.int64), np.empty(count)
    form = _compiled.symmetric_step(matrix, support, np.ascontiguousarray(weights), nonnegative, indices, values)
    return indices, values, form


def symmetric_steps(
    matrix: NDArray[Any], indices: Indices, values: Numbers, most: int, *, nonnegative: bool = False
) -> Steps:
    """Up to ``most`` steps of Algorithm 1 from a truncated product."""
    table, entries = np.empty((most + 1, len(indices)), dtype=np.int64), np.empty((most + 1, len(indices)))
    table[0], entries[0] = indices, values
    lengths, forms, repeated = np.empty(most), np.empty(most), np.empty(most, dtype=bool)
    made = _compiled.symmetric_steps(matrix, nonnegative, table, entries, lengths, forms, repeated)
    return table[: made + 1], entries[: made + 1], lengths[:made], forms[:made], repeated[:made]


def sparse_combine_rows(
    row_starts: NDArray[Any],
    columns: NDArray[Any],
    values: Vector,
    rows: Indices,
    weights: Vector,
    width: int,
) -> Vector:
    """`combine_rows` for a matrix in compressed sparse rows."""
    out = np.empty(width, dtype=values.dtype)
    _compiled.sparse_combine_rows(row_starts, columns, values, rows, _as(weights, values.dtype), out)
    return out


def sparse_row_dots(row_starts: NDArray[Any], columns: NDArray[Any], values: Vector, vector: Vector) -> Vector:
    """`row_dots` for a matrix in compressed sparse rows."""
    out = np.empty(len(row_starts) - 1, dtype=values.dtype)
    _compiled.sparse_row_dots(row_starts, columns, values, _as(vector, values.dtype), out)
    return out


def sparse_transpose(
    row_starts: NDArray[Any], columns: NDArray[Any], values: Vector, width: int
) -> tuple[NDArray[Any], NDArray[Any], Vector]:
    """A matrix in compressed rows by columns: starts, row numbers and values."""
    kept = int(row_starts[-1] - row_starts[0])
    starts, rows = np.empty(width + 1, dtype=row_starts.dtype), np.empty(kept, dtype=row_starts.dtype)
    out = np.empty(kept, dtype=values.dtype)
    _compiled.sparse_transpose(row_starts, columns, values, starts, rows, out)
    return starts, rows, out


def largest_magnitudes(values: Vector, count: int, *, nonnegative: bool = False) -> Indices:
    """Indices of the ``count`` largest magnitudes, ascending; ties go to the lowest index."""
    out = np.empty(min(count, values.size), dtype=np.int64)
    _compiled.largest_magnitudes(np.ascontiguousarray(values), nonnegative, out)
    return out


def shadow_codes(rows: NDArray[Any]) -> Shadow:
    """An int8 copy of each row: codes, the scale of one unit, |row - scale codes| (rounded up), |codes|."""
    codes = np.empty(rows.shape, dtype=np.int8)
    scales, errors, norms = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))
    _compiled.shadow_codes(rows, codes, scales, errors, norms)
    return codes, scales, errors, norms


def shadow_bounds(
    codes: NDArray[np.int8],
    scales: NDArray[np.float64],
    errors: NDArray[np.float64],
    norms: NDArray[np.float64],
    vector: NDArray[np.float64],
    slack: float,
    out: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``lower <= |row . vector| <= upper`` for every row, from the codes alone; ``out`` is memory to use again."""
    lower, upper = out or (np.empty(len(codes)), np.empty(len(codes)))
    _compiled.shadow_bounds(codes, scales, errors, norms, vector, slack, lower, upper)
    return lower, upper


def bounded_step(
    rows: NDArray[Any],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    vector: Vector,
    guess: float,
    count: int,
) -> tuple[Indices, Vector, Vector, int]:
    """The exact ``count`` largest |row . vector|, given bounds on them, and the sum of value * row over them."""
    indices = np.empty(count, dtype=np.int64)
    values, combined = np.empty(count, dtype=rows.dtype), np.empty(rows.shape[1], dtype=rows.dtype)
    read = _compiled.bounded_step(rows, lower, upper, _as(vector, rows.dtype), guess, indices, values, combined)
    return indices, values, combined, int(read)


def fused_step(rows: NDArray[Any], vector: Vector, guess: float, count: int) -> tuple[Vector, Indices, Vector, Vector]:
    """``rows @ vector``, its ``count`` largest magnitudes, and the sum of value * row over them, in one pass."""
    product, combined = np.empty(len(rows), dtype=rows.dtype), np.empty(rows.shape[1], dtype=rows.dtype)
    indices, values = np.empty(count, dtype=np.int64), np.empty(count, dtype=rows.dtype)
    _compiled.fused_step(rows, _as(vector, rows.dtype), guess, product, indices, values, combined)
    return product, indices, values, combined


def running_bounds(
    products: NDArray[np.float64],
    norms: NDArray[np.float64],
    unit: float,
    length: float,
    cosine: float,
    sine: float,
    slack: float,
    out: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``lower <= |row . u| <= upper`` for a vector u of this length, from products with one of length 1 / unit."""
    lower, upper = out or (np.empty(len(norms)), np.empty(len(norms)))
    _compiled.running_bounds(products, norms, unit, length, cosine, sine, slack, lower, upper)
    return lower, upper


def stream_sum(values: NDArray[np.float64]) -> float:
    """The sum of all entries of a contiguous array: a pure read, for benchmarks."""
    return float(_compiled.stream_sum(values.reshape(-1)))


def thread_count() -> int:
    """How many threads the kernels may use."""
    return int(_compiled.thread_count())


def set_thread_count(count: int) -> None:
    """Set the number of threads for this process; 0 restores the default."""
    _compiled.set_thread_count(check_thread_count(count))


def _as(values: Vector, dtype: np.dtype[Any]) -> Vector:
    return np.ascontiguousarray(values, dtype=dtype)


def top_row_sums(block: Numbers, variables: Positions, weights: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Per row f the ``count`` largest ``|block[f, j]| * weights[j]``, j != variables[f]: their sum and the smallest."""
    sums, least = np.empty(len(block)), np.empty(len(block))
    _compiled.top_row_sums(block, variables, weights, count, sums, least)
    return sums, least


def row_ceilings(
    block: Single, variables: Positions, weights: Single, count: int, thresholds: Single
) -> tuple[Numbers, Single]:
    """Per row f a number that the sum of ``top_row_sums`` exceeds by rounding alone, and the threshold used."""
    ceilings, used = np.empty(len(block)), thresholds.copy()
    _compiled.row_ceilings(block, variables, weights, count, ceilings, used)
    return ceilings, used


def split_ceilings(
    matrix: Vector, rest: Vector, ratios: Vector, others: Vector, count: int, thresholds: Vector
) -> tuple[Numbers, Vector]:
    """Per row of a split what its sum of products exceeds by rounding alone, and the threshold that is made of."""
    ceilings, used = np.empty(len(matrix)), thresholds.copy()
    _compiled.split_ceilings(matrix, rest, ratios, others, count, ceilings, used)
    return ceilings, used


def split_slopes(
    matrix: Vector,
    rest: Vector,
    ratios: Vector,
    thresholds: Vector,
    density: Vector,
    floor: float,
    momentum: float,
    slope: Vector,
    turn: Vector,
) -> Numbers:
    """Slopes in M and in log e of a split, mixed in place into ``slope`` and ``turn``; two sums and two largest."""
    norms, weight = np.empty(4), density.diagonal().copy()
    _compiled.split_slopes(matrix, rest, ratios, thresholds, weight, density, floor, momentum, slope, turn, norms)
    return norms


def split_update(
    matrix: Vector,
    rest: Vector,
    ratios: Vector,
    slope: Vector,
    turn: Vector,
    floor: float,
    step: float,
    most: float,
) -> None:
    """Move M and the ratios against their slopes, in place."""
    _compiled.split_update(matrix, rest, ratios, slope, turn, floor, step, most)


def node_row_sums(
    matrix: Numbers, members: Positions, n_inside: int, picks: int, weights: Numbers
) -> tuple[Numbers, Numbers]:
    """Row sums of the scaled bound at a node of the search, and the smallest free product each row used."""
    sums, least = np.empty(len(members)), np.empty(len(members))
    _compiled.node_row_sums(matrix, members, n_inside, picks, weights, sums, least)
    return sums, least


def search_blocks(
    matrix: Numbers,
    picks: int,
    most_work: float,
    weights: Numbers,
    *,
    most_held: int = MOST_HELD,
    others: int = 0,
    boundary: int | None = None,
    narrow: int = NARROW,
) -> BlockReport:
    """Whether all principal blocks of ``picks`` variables are positive semidefinite, up to rounding.

    With ``others`` of ``picks`` below ``boundary`` and so many beyond. The matrix is overwritten.
    """
    support = np.zeros(picks + others, dtype=np.int64)
    first = len(matrix) if boundary is None else boundary
    starts = np.ascontiguousarray(weights)
    limits = (first, narrow, most_work, most_held)
    verdict, nodes, work = _compiled.search_blocks(matrix, picks, others, *limits, starts, support)
    return BlockReport(verdict, np.sort(support), nodes, work)
