"""The kernels in NumPy: what the compiled and GPU twins are tested against, and what runs without a compiler.

Data are stored with one row per variable (the transpose of samples x variables, C order), so that a variable's
samples are contiguous. A product with a sparse vector is then `combine_rows` over the chosen variables, and the
correlation of every variable with a score vector is `row_dots`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import OptionError
from sparseigen.kernels.block_search import search_blocks as search_blocks
from sparseigen.kernels.eigen import inner_product, length

Vector = NDArray[Any]
Indices = NDArray[np.int64]
Positions = NDArray[np.int64]
Numbers = NDArray[np.float64]
Single = NDArray[np.float32]
Shadow = tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

Steps = tuple[Indices, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]

NAME = "numpy"
SURVEYED = 1 << 22
"""Entries of a matrix that are looked at in one piece: no temporary of the matrix's own size."""
MOST_THREADS = 2**31 - 1
"""What a caller may ask for; the compiled kernels use 256 at most."""


def combine_rows(matrix: NDArray[Any], rows: Indices, weights: Vector) -> Vector:
    """``sum_f weights[f] * matrix[rows[f]]``."""
    product: Vector = weights @ matrix[rows]
    return product


def row_dots(matrix: NDArray[Any], vector: Vector) -> Vector:
    """``matrix @ vector``."""
    product: Vector = matrix @ vector
    return product


def row_moments(matrix: NDArray[Any], s: Vector, v: Vector, w: Vector) -> NDArray[Any]:
    """Of every row x the three sums ``x @ s``, ``x @ v`` and ``(x * x) @ w``; squares of some rows at a time."""
    out = np.empty((matrix.shape[0], 3), dtype=matrix.dtype)
    both = np.column_stack([s, v]).astype(matrix.dtype)
    step = max(1, SURVEYED // max(1, matrix.shape[1]))
    for begin in range(0, len(matrix), step):
        rows = matrix[begin : begin + step]
        out[begin : begin + step, :2] = rows @ both
        out[begin : begin + step, 2] = (rows * rows) @ w.astype(matrix.dtype)
    return out


def power_step(
    matrix: NDArray[Any], support: Indices, weights: Vector, divisor: float, count: int, *, nonnegative: bool = False
) -> tuple[Vector, Indices, Vector]:
    """The scores of the support, and the ``count`` largest products of a row with them.

    Returns the scores (the weighted sum of the support's rows), and indices and values of the largest magnitudes of
    ``matrix @ scores / divisor``.
    """
    scores = combine_rows(matrix, support, weights.astype(matrix.dtype, copy=False))
    product = row_dots(matrix, scores / matrix.dtype.type(divisor))
    kept = largest_magnitudes(product, count, nonnegative=nonnegative)
    return scores, kept, product[kept]


def survey_symmetric(matrix: NDArray[Any]) -> tuple[float, float, bool]:
    """max |A_ij|, max |A_ij - A_ji| and whether all entries are finite; the first two say nothing when they are not."""
    largest, asymmetry, step = 0.0, 0.0, max(1, SURVEYED // max(1, len(matrix)))
    for begin in range(0, len(matrix), step):
        rows, mirrored = matrix[begin : begin + step], matrix[:, begin : begin + step].T
        with np.errstate(all="ignore"):
            largest = max(largest, float(rows.max()), -float(rows.min()))
            if not math.isfinite(largest) or not np.isfinite(rows).all():
                return np.inf, np.inf, False
            if not np.array_equal(rows, mirrored):  # the usual case, at a fifth of the cost of the differences
                asymmetry = max(asymmetry, float(np.abs(rows - mirrored).max()))
    return largest, asymmetry, True


def symmetric_step(
    matrix: NDArray[Any], support: Indices, weights: Numbers, count: int, *, nonnegative: bool = False
) -> tuple[Indices, Numbers, float]:
    """The ``count`` largest entries of A x for the sparse vector x, and x'Ax.

    Ties are broken by lowest index. With ``nonnegative`` only positive entries are kept.
    """
    product = combine_rows(matrix, support, weights.astype(matrix.dtype, copy=False))
    kept = largest_magnitudes(product, count, nonnegative=nonnegative)
    values = product[kept].astype(np.float64)
    form = inner_product(weights, product[support].astype(np.float64))
    return kept, np.maximum(values, 0.0) if nonnegative else values, form


def symmetric_steps(
    matrix: NDArray[Any], indices: Indices, values: Numbers, most: int, *, nonnegative: bool = False
) -> Steps:
    """Up to ``most`` steps of Algorithm 1 from a truncated product, fewer where a product vanishes.

    Five arrays. Row s - 1 of the first two holds iterate s (indices and weights), the last row the truncated product of
    the last one. Then, per step, the length of the product that the iterate was made of, its x'Ax, and whether its own
    truncated product has the same support.
    """
    table, entries = [indices], [values]
    lengths: list[float] = []
    forms: list[float] = []
    for _ in range(most):
        size = length(values)
        if size == 0.0:
            break
        entries[-1] = values / size
        indices, values, form = symmetric_step(matrix, indices, entries[-1], len(indices), nonnegative=nonnegative)
        table.append(indices)
        entries.append(values)
        lengths.append(size)
        forms.append(form)
    supports = np.array(table)
    repeated = np.asarray((supports[1:] == supports[:-1]).all(axis=1))
    return supports, np.array(entries), np.array(lengths), np.array(forms), repeated


def sparse_combine_rows(
    row_starts: NDArray[Any],
    columns: NDArray[Any],
    values: Vector,
    rows: Indices,
    weights: Vector,
    width: int,
) -> Vector:
    """`combine_rows` for a matrix in compressed sparse rows."""
    lengths = (row_starts[rows + 1] - row_starts[rows]).astype(np.int64)
    entries = np.repeat(row_starts[rows].astype(np.int64) - _offsets(lengths), lengths) + np.arange(lengths.sum())
    products = np.repeat(weights, lengths) * values[entries]
    return np.bincount(columns[entries], weights=products, minlength=width).astype(values.dtype)


def sparse_row_dots(row_starts: NDArray[Any], columns: NDArray[Any], values: Vector, vector: Vector) -> Vector:
    """`row_dots` for a matrix in compressed sparse rows."""
    n_rows = len(row_starts) - 1
    row_of_entry = np.repeat(np.arange(n_rows), np.diff(row_starts))
    return np.bincount(row_of_entry, weights=values * vector[columns], minlength=n_rows).astype(values.dtype)


def sparse_transpose(
    row_starts: NDArray[Any], columns: NDArray[Any], values: Vector, width: int
) -> tuple[NDArray[Any], NDArray[Any], Vector]:
    """A matrix in compressed rows by columns: starts, row numbers (ascending in each column) and values."""
    entries = slice(int(row_starts[0]), int(row_starts[-1]))
    columns, values = columns[entries], values[entries]
    order = np.argsort(columns, kind="stable")
    rows = np.repeat(np.arange(len(row_starts) - 1, dtype=row_starts.dtype), np.diff(row_starts))
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=width))]).astype(row_starts.dtype)
    return starts, rows[order], values[order]


def largest_magnitudes(values: Vector, count: int, *, nonnegative: bool = False) -> Indices:
    """Indices of the ``count`` largest magnitudes, ascending; ties go to the lowest index.

    With ``nonnegative`` negative entries count as zero. One partition and two scans: no sort.
    """
    if count >= values.size:
        return np.arange(values.size, dtype=np.int64)
    magnitudes = np.maximum(values, 0) if nonnegative else np.abs(values)
    smallest_kept = np.partition(magnitudes, values.size - count)[values.size - count]
    above = np.flatnonzero(magnitudes > smallest_kept)
    ties = np.flatnonzero(magnitudes == smallest_kept)[: count - above.size]
    return np.sort(np.concatenate([above, ties])).astype(np.int64)


def shadow_codes(rows: NDArray[Any]) -> Shadow:
    """An int8 copy of each row: codes, the scale of one unit, |row - scale codes| (rounded up), |codes|."""
    largest = np.abs(rows).max(axis=1).astype(np.float64)
    scales = largest / 127.0
    inverse = np.divide(127.0, largest, out=np.zeros_like(largest), where=largest > 0)
    codes = np.rint(rows * inverse[:, None]).astype(np.int8)
    difference = rows.astype(np.float64) - codes * scales[:, None]
    width, ulp = rows.shape[1], float(np.finfo(np.float64).eps)
    errors = np.linalg.norm(difference, axis=1) * (1.0 + (width + 8) * ulp) + 2.0 * largest * np.sqrt(width) * ulp
    norms = np.sqrt((codes.astype(np.int64) ** 2).sum(axis=1)) * (1.0 + 4.0 * ulp)
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
    """``lower <= |row . vector| <= upper`` for every row, from the codes alone.

    ``out`` is memory that the compiled twin uses again; here it is left alone.
    """
    up = 1.0 + (len(vector) + 8) * float(np.finfo(np.float64).eps)
    length = float(np.linalg.norm(vector)) * up
    about = np.abs(scales * (codes.astype(np.float64) @ vector))
    size = scales * norms
    radius = (errors * length + (slack + len(vector) * 1e-15) * (size + errors) * length) * (1.0 + 1e-14)
    return np.maximum(about - radius, 0.0), about + radius


def bounded_step(
    rows: NDArray[Any],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    vector: Vector,
    guess: float,
    count: int,
) -> tuple[Indices, Vector, Vector, int]:
    """The exact ``count`` largest |row . vector|, given bounds on them.

    Returns their indices (ascending, ties to the lowest), their values, the sum of value * row over them, and the
    number of rows read. ``guess`` is about the smallest magnitude kept; it decides how often the compiled twin reads
    a row, never the answer.
    """
    floor = np.partition(lower, len(lower) - count)[len(lower) - count]
    candidates = np.flatnonzero(upper >= floor).astype(np.int64)
    exact = rows[candidates] @ vector
    kept = largest_magnitudes(exact, count)
    indices, values = candidates[kept], exact[kept]
    return indices, values, combine_rows(rows, indices, values), len(candidates)


def fused_step(rows: NDArray[Any], vector: Vector, guess: float, count: int) -> tuple[Vector, Indices, Vector, Vector]:
    """``rows @ vector``, its ``count`` largest magnitudes, their values, and the sum of value * row over them.

    ``guess`` as in `bounded_step`.
    """
    product = row_dots(rows, vector)
    indices = largest_magnitudes(product, count)
    values = product[indices]
    return product, indices, values, combine_rows(rows, indices, values)


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
    """``lower <= |row . u| <= upper`` for a vector u of this length, from products with one of length 1 / unit.

    ``cosine`` and ``sine`` are those of the angle between the two vectors; ``slack`` covers the rounding of both
    products, relative to the rows' norms. ``out`` as in `shadow_bounds`.
    """
    along, margin = np.abs(products) * unit, slack * norms
    radius = np.sqrt(np.maximum(norms**2 - along**2, 0.0) + margin**2) * sine + margin
    return np.maximum(along * cosine - radius, 0.0) * length, (along * cosine + radius) * length


def stream_sum(values: NDArray[np.float64]) -> float:
    """The sum of all entries of a contiguous array: a pure read, for benchmarks."""
    return float(values.sum())


def thread_count() -> int:
    """Threads of our own: the NumPy kernels have none (BLAS has its own)."""
    return 1


def set_thread_count(count: int) -> None:
    """Checked for the sake of the same interface; without effect here."""
    check_thread_count(count)


def check_thread_count(count: Any) -> int:
    """A number of threads, or 0 for the default."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count <= MOST_THREADS:
        message = f"count={count!r} must be a whole number of threads from 0 (the default) to {MOST_THREADS}."
        raise OptionError(message)
    return int(count)


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)


def top_row_sums(block: Numbers, variables: Positions, weights: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Per row f the ``count`` largest ``|block[f, j]| * weights[j]``, j != variables[f]: their sum and the smallest."""
    products = np.abs(block) * weights
    products[np.arange(len(block)), variables] = 0.0
    return _sums_of_largest(products, count)


def row_ceilings(
    block: Single, variables: Positions, weights: Single, count: int, thresholds: Single
) -> tuple[Numbers, Single]:
    """Per row f a number that the sum of ``top_row_sums`` exceeds by rounding alone, and the threshold used.

    For any t >= 0 the sum of the ``count`` largest is at most count t plus the sum of all (product - t)+. Here t is the
    smallest product of the sum; ``thresholds`` are guesses, which only the compiled kernel needs.
    """
    products = np.abs(block) * weights
    products[np.arange(len(block)), variables] = 0.0
    width = products.shape[1]
    if count == 0:
        return np.zeros(len(block)), thresholds.copy()
    used = np.partition(products, max(width - count, 0), axis=1)[:, max(width - count, 0)].copy()
    excess = np.maximum(products - used[:, None], np.float32(0.0)).sum(axis=1, dtype=np.float64)
    return count * used.astype(np.float64) + excess, used


def split_ceilings(
    matrix: Vector, rest: Vector, ratios: Vector, others: Vector, count: int, thresholds: Vector
) -> tuple[Numbers, Vector]:
    """Per row of a split what its sum of products exceeds by rounding alone, and the threshold that is made of.

    ``rest`` is A - M off the diagonal; the products are |M_ij| e_ij, j != i, and the ``others`` of the row.
    """
    products = np.abs(matrix - rest) * ratios
    np.fill_diagonal(products, 0.0)
    products = np.hstack([products, others])
    width = products.shape[1]
    if count == 0:
        return np.zeros(len(matrix)), thresholds.copy()
    used = np.partition(products, max(width - count, 0), axis=1)[:, max(width - count, 0)].copy()
    excess = np.maximum(products - used[:, None], 0.0).sum(axis=1, dtype=np.float64)
    return count * used.astype(np.float64) + excess, used


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
    """Slopes in M and in log e of a split, mixed in place into ``slope`` and ``turn``; two sums and two largest.

    The row of i uses the product |M_ij| e_ij where that reaches ``thresholds[i]``, with the weight ``density[i, i]``.
    Only entries above the diagonal count and are written. Returned: the sums of (slope metric)^2 and of turn^2, and the
    largest |slope| metric and |turn|, where the metric is |A| + floor.
    """
    part, weight = matrix - rest, density.diagonal()
    magnitudes = np.abs(part)
    taken = np.where(magnitudes * ratios >= thresholds[:, None], weight[:, None] * ratios, 0.0)
    above = np.triu_indices(len(matrix), 1)
    slope[above] = (np.sign(part) * (0.5 * (taken + taken.T)) - density + momentum * slope)[above]
    turn[above] = (0.5 * magnitudes * (taken - taken.T) + momentum * turn)[above]
    scaled, twists = np.abs(slope * (np.abs(matrix) + floor))[above], np.abs(turn)[above]
    largest = float(scaled.max(initial=0.0)), float(twists.max(initial=0.0))
    return np.array([float((scaled**2).sum()), float((twists**2).sum()), *largest])


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
    """Move M and the ratios against their slopes, in place, on both sides of the diagonal.

    exp(x) is taken as (x^2 + 6x + 12) / (x^2 - 6x + 12), close for |x| < 1, whose reciprocal is its value at -x.
    """
    move = np.triu(step * (np.abs(matrix) + floor) ** 2 * slope, 1)
    rest += move + move.T
    upper = np.triu(-step * turn, 1)
    x = upper - upper.T
    moved = np.clip(ratios * ((x * x + 12.0 + 6.0 * x) / (x * x + 12.0 - 6.0 * x)), 1.0 / most, most)
    off = ~np.eye(len(matrix), dtype=bool)
    ratios[off] = moved[off]


def node_row_sums(
    matrix: Numbers, members: Positions, n_inside: int, picks: int, weights: Numbers
) -> tuple[Numbers, Numbers]:
    """Row sums of the scaled bound at a node of the search.

    ``members`` are the variables in play, the first ``n_inside`` of them fixed in; a support takes those and
    ``picks`` others. A free row takes picks - 1 other free ones, an inside row takes picks. Returns the sums and the
    smallest free product used.
    """
    products = np.abs(matrix[np.ix_(members, members)]) * weights
    np.fill_diagonal(products, 0.0)
    of_inside, of_free = products[:, :n_inside], products[:, n_inside:]
    sums, least = np.empty(len(members)), np.empty(len(members))
    sums[:n_inside], least[:n_inside] = _sums_of_largest(of_free[:n_inside], picks)
    sums[n_inside:], least[n_inside:] = _sums_of_largest(of_free[n_inside:], max(0, picks - 1))
    return sums + of_inside.sum(axis=1), least


def _sums_of_largest(products: Numbers, count: int) -> tuple[Numbers, Numbers]:
    n_rows, width = products.shape
    if count == 0 or width == 0:
        return np.zeros(n_rows), np.zeros(n_rows)
    largest = np.partition(products, width - count, axis=1)[:, width - count :]
    return largest.sum(axis=1), largest[:, 0].copy()
