"""What is computed on one block of rows during a pass over the data.

Everything here is a pure function of a block (a dense array or a scipy CSR matrix), of the standardisation and of what
was asked for, so that it runs as well in a worker process as in this one. Partial results of blocks are added up (or
merged) in the order of the blocks by whoever makes the pass.

Centring is done by algebra: with D = (X - 1 m') / d and scores s = D x, the product D's is (X's - m sum(s)) / d, so
no centred copy of a block is written and sparse blocks stay sparse. Where means are so large against the deviations
that the subtraction would cost digits, dense blocks are centred a few rows at a time instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels

Block = Any
"""A dense array or scipy CSR matrix of some rows of the data, all columns."""
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

SLAB_BYTES = 1 << 20
"""Where a block is converted or centred explicitly, about this much of it at a time: it stays in the cache."""
WIDE = 4
"""Supports that together hold more than 1/WIDE of all variables are multiplied as dense vectors, without a gather."""
LARGEST_RATIO = {"float64": 1e3, "float32": 4.0}
"""Centring by algebra loses log10 of mean / deviation digits; above these ratios blocks are centred explicitly."""


class Moments(NamedTuple):
    """What the first pass finds of some rows: enough for means and variances, and where the first bad value is."""

    n_rows: int
    means: Floats
    squares: Floats
    """Sum of squared deviations from the means."""
    bad: int
    """Number of NaN or infinite values."""
    row: int
    column: int
    """Where the first of them is; rows count from the first row of these rows."""
    stored: int
    """Stored entries (all of them for dense data)."""
    means_rest: Floats
    """What rounding took from the means: against small deviations it counts when blocks are merged."""


class Standard(NamedTuple):
    """How columns are standardised: (x - means) / deviations, and whether blocks are centred explicitly."""

    means: Floats
    deviations: Floats
    explicit: bool


class Request(NamedTuple):
    """One thing a pass is to compute: ``kind`` is "product", or a name in KINDS or CHOSEN_KINDS.

    "product": D'D x for the vector with ``weights`` at ``indices``; "columns": D'D[indices] in float64, one per row;
    "submatrix": D'D[indices, indices] in float64; "accurate": a product in float64;
    "block": (D'D V)' with V in ``weights``; "gram": D'D in float64.
    """

    kind: str
    indices: Indices | None = None
    weights: Any = None


def is_sparse_block(block: Block) -> bool:
    """Whether a block is stored as compressed rows."""
    return hasattr(block, "indptr")


# --- the first pass -----------------------------------------------------------------------------------------------


def moments(block: Block) -> Moments:
    """Count, means and squared deviations of one block, in float64 whatever it is stored in."""
    return _sparse_moments(block) if is_sparse_block(block) else _dense_moments(block)


def _dense_moments(block: Block) -> Moments:
    """Means from plain sums; squares of deviations from a provisional mean, that of the first rows.

    Sums of float32 values are exact in float64 as a rule, so means agree with those of data in memory; and nothing
    large is subtracted from the squares at the end.
    """
    n_rows, size = block.shape
    centre: Floats | None = None
    sums, squares, offsets = np.zeros(size), np.zeros(size), np.zeros(size)
    with np.errstate(all="ignore"):
        for slab in _slabs(block):
            part = slab.sum(axis=0, dtype=np.float64)
            if centre is None:
                centre = part / len(slab)
            sums += part
            away = np.subtract(slab, centre, dtype=np.float64)
            offsets += away.sum(axis=0)
            np.multiply(away, away, out=away)
            squares += away.sum(axis=0)
        assert centre is not None, "a block has at least one row"
        means = sums / n_rows
        offsets /= n_rows  # the mean is centre + offsets, to more digits than a float of its size has
        squares = np.maximum(squares - n_rows * offsets**2, 0.0)
        rest = (centre - means) + offsets
    found = Moments(n_rows, means, squares, 0, 0, 0, n_rows * size, rest)
    return found if np.isfinite(means).all() else _mark(found, ~np.isfinite(np.asarray(block)))


def _sparse_moments(block: Block) -> Moments:
    n_rows, size = block.shape
    values = np.asarray(block.data, dtype=np.float64)
    filled = np.bincount(block.indices, minlength=size)
    with np.errstate(all="ignore"):
        means = np.bincount(block.indices, weights=values, minlength=size) / n_rows
        away = values - means[block.indices]
        squares = np.bincount(block.indices, weights=away * away, minlength=size) + (n_rows - filled) * means**2
    found = Moments(n_rows, means, squares, 0, 0, 0, len(values), np.zeros(size))
    if np.isfinite(means).all():
        return found
    bad = np.flatnonzero(~np.isfinite(values))
    if not bad.size:
        return found
    row = int(np.searchsorted(block.indptr, bad[0], side="right")) - 1
    return found._replace(bad=len(bad), row=row, column=int(block.indices[bad[0]]))


def _mark(found: Moments, bad: NDArray[np.bool_]) -> Moments:
    where = np.argwhere(bad)
    if not len(where):  # all values are finite, and their sum is not
        return found
    return found._replace(bad=len(where), row=int(where[0][0]), column=int(where[0][1]))


def merge_moments(first: Moments, second: Moments) -> Moments:
    """The moments of both sets of rows together (Chan, Golub and LeVeque): nothing cancels, however large the means.

    T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician
    37 (1983), 242-247.
    """
    count = first.n_rows + second.n_rows
    with np.errstate(all="ignore"):
        share = second.n_rows / count
        away = (second.means - first.means) + (second.means_rest - first.means_rest)
        means = first.means + (second.means - first.means) * share  # without the rests: the means of data in memory
        rest = (first.means - means) + (first.means_rest + away * share)
        squares = first.squares + second.squares + away**2 * (first.n_rows * second.n_rows / count)
    row, column = (first.row, first.column) if first.bad else (first.n_rows + second.row, second.column)
    return Moments(count, means, squares, first.bad + second.bad, row, column, first.stored + second.stored, rest)


def rounded_squares(block: Block, means: Floats) -> list[Floats]:
    """Sums of squares of centred columns, rounded as in memory, so that the scales agree to the last digit."""
    total = np.zeros(len(means))
    for slab in _slabs(block):
        rows = np.subtract(slab, means, out=np.empty_like(slab, order="C"), casting="same_kind").astype(np.float64)
        total += np.einsum("ij,ij->j", rows, rows)
    return [total]


# --- rows ---------------------------------------------------------------------------------------------------------


def draw_rows(block: Block, share: float) -> list[NDArray[Any]]:
    """Some rows of the block, drawn without replacement: the same ones in every pass.

    Dense rows are one array; sparse ones three: values, columns and the number of entries of each row.
    """
    n_rows = block.shape[0]
    count = min(n_rows, -(-int(share * n_rows * 1e9) // 10**9)) if share < 1.0 else n_rows
    chosen = np.sort(np.random.default_rng(n_rows).choice(n_rows, size=count, replace=False))
    rows = block[chosen]
    if not is_sparse_block(block):
        return [np.asarray(rows)]
    return [rows.data, rows.indices.astype(np.int64), np.diff(rows.indptr).astype(np.int64)]


def list_rows(total: list[NDArray[Any]], part: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The rows drawn so far and those of one more block."""
    return [*total, *part]


# --- products -----------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """What several requests have in common, worked out once for all blocks.

    ``union`` holds the variables that any of them chooses, ``places`` where each request's variables are in it (None
    for requests of all variables), ``weights`` the vectors of the products over it, one per column. Without a union
    most variables are chosen, and nothing is gathered for all.
    """

    union: Indices | None
    places: list[Indices | None]
    weights: Floats


def plan_requests(requests: Sequence[Request], size: int) -> Plan:
    """The plan for a pass over data of ``size`` variables."""
    wanted = [np.asarray(request.indices) for request in requests if request.indices is not None]
    union: Indices = np.unique(np.concatenate(wanted)) if wanted else np.zeros(0, dtype=np.int64)
    places = [
        None if request.indices is None else np.searchsorted(union, np.asarray(request.indices)) for request in requests
    ]
    together = [place for place, request in enumerate(requests) if request.kind == "product"]
    weights = np.zeros((len(union), len(together)))
    for column, place in enumerate(together):
        weights[places[place], column] = requests[place].weights
    if not WIDE * len(union) > size:
        return Plan(union, places, weights)
    full = np.zeros((size, len(together)))
    full[union] = weights
    return Plan(None, places, full)


def evaluate(block: Block, standard: Standard, requests: Sequence[Request], plan: Plan) -> list[NDArray[Any]]:
    """One block's share of every request; chosen variables are taken out of it once for all of them.

    The parts of all blocks add up to the answers, still to be divided by n - ddof.
    """
    rows = take_variables(block, standard, plan.union) if plan.union is not None and len(plan.union) else None
    parts: list[NDArray[Any]] = []
    joint = iter(_products(block, standard, plan, rows)) if plan.weights.shape[1] else iter(())
    for request, places in zip(requests, plan.places, strict=True):
        if request.kind == "product":
            parts.append(next(joint))
        elif request.kind == "accurate":
            assert request.indices is not None
            chosen = take_variables(block, standard, request.indices)
            parts.append(_combine_rows(block, standard, chosen @ np.asarray(request.weights)[:, None])[0])
        elif rows is not None and places is not None:
            parts.append(CHOSEN_KINDS[request.kind](block, standard, rows[:, places]))
        elif places is not None:
            assert request.indices is not None
            part = take_variables(block, standard, request.indices)
            parts.append(CHOSEN_KINDS[request.kind](block, standard, part))
        else:
            parts.append(KINDS[request.kind](block, standard, request))
    return parts


def add_parts(total: list[NDArray[Any]], parts: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The sums so far plus one block's shares, in place where they are float64 already."""
    for place, part in enumerate(parts):
        if total[place].dtype == np.float64 and total[place].flags.writeable:
            total[place] += part
        else:
            total[place] = total[place].astype(np.float64) + part
    return total


def _products(block: Block, standard: Standard, plan: Plan, rows: Floats | None) -> NDArray[Any]:
    """D'D x for all vectors of the plan, one per row of the answer, in the precision of the block."""
    if rows is None:
        return _block_product(block, standard, Request("block", weights=plan.weights))
    return _combine_rows(block, standard, (rows @ plan.weights).astype(block.dtype, copy=False))


def take_variables(block: Block, standard: Standard, indices: Indices) -> Floats:
    """Some variables of the block, centred and scaled, as dense float64 of shape (rows, len(indices)).

    Dense blocks are rounded as data in memory are: once after centring, once after scaling.
    """
    means, deviations = standard.means[indices], standard.deviations[indices]
    if is_sparse_block(block):
        dense: Floats = block[:, indices].astype(np.float64).toarray()
        dense -= means
        dense /= deviations
        return dense
    return _standardise(block[:, indices], means, deviations).astype(np.float64, copy=False)


def _standardise(rows: NDArray[Any], means: Floats, deviations: Floats) -> NDArray[Any]:
    """Centred and scaled with the roundings of data in memory."""
    centred: NDArray[Any] = np.subtract(rows, means, out=np.empty_like(rows, order="C"), casting="same_kind")
    centred /= deviations.astype(rows.dtype)
    return np.asarray(centred)


def _combine_rows(block: Block, standard: Standard, scores: NDArray[Any]) -> NDArray[Any]:
    """S'D for scores S of shape (rows, m), in the precision of the scores. This way round BLAS is 2-3 times faster."""
    if not is_sparse_block(block) and (standard.explicit or scores.dtype != block.dtype):
        total = np.zeros((scores.shape[1], len(standard.means)))
        begin = 0
        for slab in _slabs(block, 4 * scores.shape[1]):
            rows = _standardise(slab, standard.means, standard.deviations).astype(scores.dtype, copy=False)
            total += scores[begin : begin + len(rows)].T @ rows
            begin += len(rows)
        return total
    raw = _transposed_product(block, scores)
    sums = scores.sum(axis=0, dtype=np.float64)
    centred: NDArray[Any] = (raw - sums[:, None] * standard.means) / standard.deviations
    return centred


def _transposed_product(block: Block, scores: NDArray[Any]) -> NDArray[Any]:
    """S'X. One vector goes through our own threads: those of BLAS would fight the thread that reads ahead."""
    if is_sparse_block(block):
        return np.ascontiguousarray((block.T @ scores).T)
    if scores.shape[1] == 1 and block.flags.c_contiguous:
        all_rows = np.arange(len(block), dtype=np.int64)
        return kernels.combine_rows(block, all_rows, scores[:, 0])[None]
    product: NDArray[Any] = scores.T @ block
    return product


def _block_product(block: Block, standard: Standard, request: Request) -> NDArray[Any]:
    """(D'D V)' for dense vectors V."""
    if not is_sparse_block(block) and standard.explicit:
        total = np.zeros(request.weights.shape[::-1])
        for slab in _slabs(block, 4 * len(total)):
            rows = _standardise(slab, standard.means, standard.deviations)
            total += (rows @ request.weights.astype(block.dtype)).T @ rows
        return total
    scaled = np.asarray(request.weights, dtype=np.float64) / standard.deviations[:, None]
    scores = block @ scaled.astype(block.dtype) - standard.means @ scaled
    return _combine_rows(block, standard, scores.astype(block.dtype, copy=False))


def _submatrix(block: Block, standard: Standard, rows: Floats) -> NDArray[Any]:
    product: NDArray[Any] = rows.T @ rows
    return product


def _gram(block: Block, standard: Standard, request: Request) -> NDArray[Any]:
    """D'D of the block. Dense rows are centred (the product costs far more); sparse ones by algebra."""
    means, deviations = standard.means, standard.deviations
    if not is_sparse_block(block):
        rows = _standardise(np.asarray(block), means, deviations).astype(np.float64, copy=False)
        return np.asarray(rows.T @ rows)
    wide = block.astype(np.float64)
    raw = (wide.T @ wide).toarray()
    sums = np.asarray(wide.sum(axis=0)).ravel()
    raw -= np.outer(sums, means) + np.outer(means, sums - block.shape[0] * means)
    raw /= deviations[:, None]
    raw /= deviations
    return np.asarray(raw)


KINDS = {"block": _block_product, "gram": _gram}
"""Kinds of request for all variables. A new one is a function here and a row in this table, or in the next."""
CHOSEN_KINDS = {"columns": _combine_rows, "submatrix": _submatrix}
"""Kinds that need some variables of the block, centred and scaled, besides it."""


def _slabs(block: NDArray[Any], fewest: int = 16) -> Iterator[NDArray[Any]]:
    """A few rows at a time; ``fewest`` keeps adding up the results cheap against computing them."""
    step = max(fewest, SLAB_BYTES // (8 * block.shape[1]))
    for begin in range(0, len(block), step):
        yield block[begin : begin + step]


def centres_explicitly(means: Floats, deviations: Floats, dtype: np.dtype[Any]) -> bool:
    """Whether means are so large against the deviations that centring by algebra would cost digits."""
    spread = np.where(deviations > 0.0, deviations, np.inf)
    return bool((np.abs(means) / spread).max() > LARGEST_RATIO[str(dtype)])
