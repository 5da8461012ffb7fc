"""Which columns of A lead somewhere: those whose k largest entries are large, found without forming A.

The top-k energy of a column is the sum of its k largest squares. For a threshold theta the sum of what exceeds it,
sum_i max(A_ij^2 - theta, 0), plus k theta bounds the energy from above and meets it where theta lies between the k-th
and the next square: one theta for all columns, that of the strong ones among a sample, ranks them without sorting.

Where columns cost more than that, entries come from a sketch. With Y = A R for a narrow random R, the rows of
F = Y (R'Y)^(-1/2) have inner products close to the entries of A; scaled to A's diagonal, the better the stronger the
correlation is. What a scan costs does not grow with p once not all columns are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.certificates.factor import to_host
from sparseigen.operators.contract import Indices, Operator, find_exponent

SKETCH, WIDEST_SKETCH, FEWEST_SKETCHED = 32, 128, 8
"""Columns of R: as a rule, at most, and where p is so large that memory decides."""
SKETCH_ENTRIES = 1 << 23
"""Numbers that a sketch may hold."""
SCAN_WORK = 1 << 29
"""Multiplications of a scan: as many columns of R as they allow, or all samples where those are no more."""
WHOLE_ENTRIES, SCANNED_ENTRIES = 1 << 24, 1 << 23
"""Entries of A up to which a scan looks at all of them, and how many it looks at where there are more."""
FEWEST_SCANNED = 256
BLOCK = 1 << 18
"""Entries that are looked at together: what the caches hold."""
SAMPLED = 64
"""Columns that the threshold is taken from."""
STRONG = 0.9
"""The threshold is the k-th square of the column at this place of the sample."""
DIRECTIONS, ROUNDS = 4, 3
"""Leading directions, and the products that each of them is made of."""

Energies = NDArray[np.float32]
Rows = Callable[[Indices], NDArray[np.float32]]


def find_candidates(operator: Operator, cardinality: int, count: int) -> tuple[Indices, NDArray[np.float64]]:
    """About the ``count`` columns of largest top-k energy, and a few directions of large variance as columns.

    Some of the columns are chosen without regard to the diagonal: on noise it hides what the columns share.
    """
    size, costs = operator.size, operator.costs
    most = size if size**2 <= WHOLE_ENTRIES else max(FEWEST_SCANNED, SCANNED_ENTRIES // size)
    least = max(FEWEST_SKETCHED, min(SKETCH, SKETCH_ENTRIES // size))
    width = max(least, min(SCAN_WORK // (size * most), SKETCH_ENTRIES // size))
    fetched = costs.step(1) <= SKETCH * size or operator.positive_semidefinite is not True
    if fetched:
        if costs.step(1) > SKETCH * size:
            most = min(most, FEWEST_SCANNED)
        directions = _iterate_block(operator)
        rows: Rows = partial(_fetch, operator)
    else:
        factor = _find_factor(operator, width)
        _, vectors = np.linalg.eigh(factor.T @ factor)
        directions = np.asarray(factor @ vectors[:, : -DIRECTIONS - 1 : -1], dtype=np.float64)
        rows = partial(_multiply_rows, factor)
    pool = _choose_pool(operator, np.abs(directions).max(axis=1, initial=0.0), most)
    step = costs.columns_at_once(BLOCK) if fetched else max(1, BLOCK // size)
    energies, without_diagonal = _scan(operator, pool, rows, cardinality, step)
    by_energy = np.argsort(-energies, kind="stable")[: count - count // 4]
    by_rest = np.argsort(-without_diagonal, kind="stable")[: count // 4]
    return pool[list(dict.fromkeys([*by_energy.tolist(), *by_rest.tolist()]))], directions


def _iterate_block(operator: Operator) -> NDArray[np.float64]:
    """Leading directions from a few products with a narrow block."""
    block = np.random.default_rng(0).standard_normal((operator.size, min(DIRECTIONS, operator.size)))
    block *= np.sqrt(np.abs(operator.diagonal()))[:, None]
    for _ in range(ROUNDS):
        block = np.asarray(operator.block_apply(np.linalg.qr(block)[0].astype(operator.dtype)), dtype=np.float64)
    _, vectors = np.linalg.eigh(block.T @ block)
    directions: NDArray[np.float64] = block @ vectors[:, ::-1]
    return directions


def _multiply_rows(factor: NDArray[np.float32], part: Indices) -> NDArray[np.float32]:
    entries: NDArray[np.float32] = factor[part] @ factor.T
    return entries


def _fetch(operator: Operator, part: Indices) -> NDArray[np.float32]:
    """Entries in units of a power of two, so that the squares of the largest are in the range of float32."""
    most = 100 if operator.dtype == np.float32 else 1000
    unit = math.ldexp(1.0, -min(max(find_exponent(operator.magnitude), -most), most))
    entries: NDArray[np.float32] = np.array(operator.columns(part).T * unit, dtype=np.float32, order="C")
    return entries


def _find_factor(operator: Operator, width: int) -> NDArray[np.float32]:
    """Rows whose inner products are nearly the entries of A, in units of its largest variance."""
    size, unit = operator.size, operator.magnitude
    if 0 < operator.factor_rank <= width:
        return np.asarray(to_host(operator.factor_rows(slice(None))) / math.sqrt(unit), dtype=np.float32)
    block = np.random.default_rng(0).standard_normal((size, min(width, WIDEST_SKETCH, size)))
    image = np.asarray(operator.block_apply(block.astype(operator.dtype)), dtype=np.float64) / unit
    values, vectors = np.linalg.eigh(block.T @ image)
    values = np.maximum(values, 1e-12 * max(float(values[-1]), np.finfo(np.float64).tiny))
    factor = image @ (vectors / np.sqrt(values))
    lengths = np.sqrt(np.einsum("ij,ij->i", factor, factor))
    deviations = np.sqrt(np.maximum(operator.diagonal(), 0.0) / unit)
    factor *= np.divide(deviations, lengths, out=np.zeros(size), where=lengths > 0.0)[:, None]
    return np.asarray(factor, dtype=np.float32)


def _choose_pool(operator: Operator, weights: NDArray[np.float64], most: int) -> Indices:
    """Half of the columns by variance, a quarter by their weight in leading directions, the rest evenly spread."""
    if operator.size <= most:
        return np.arange(operator.size, dtype=np.int64)
    by_variance = kernels.largest_magnitudes(operator.diagonal(), most // 2)
    by_weight = kernels.largest_magnitudes(weights, most // 4)
    spread = np.linspace(0, operator.size - 1, most // 4).astype(np.int64)
    return np.unique(np.concatenate([by_variance, by_weight, spread])).astype(np.int64)


def _scan(operator: Operator, pool: Indices, rows: Rows, cardinality: int, step: int) -> tuple[Energies, Energies]:
    """Sums of the squares of each column, no less than the threshold each, with the diagonal entry and without."""
    size, count = operator.size, min(cardinality, operator.size)
    sample = pool[np.unique(np.linspace(0, len(pool) - 1, SAMPLED).astype(np.int64))]
    energies, own = np.empty(len(pool), dtype=np.float32), np.empty(len(pool), dtype=np.float32)
    # A magnitude is that of the diagonal alone for some operators: entries far above it are all infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        cuts = [
            np.partition(np.abs(rows(sample[part])), size - count, axis=1)[:, size - count]
            for part in _cut(len(sample), step)
        ]
        threshold = np.float32(np.quantile(np.concatenate(cuts) ** 2, STRONG))
        for part in _cut(len(pool), step):
            block = rows(pool[part])
            block *= block
            np.maximum(block, threshold, out=block)
            energies[part] = block.sum(axis=1)
            own[part] = block[np.arange(len(block)), pool[part]]
        return energies, energies - own  # both with as many thresholds too much in every column


def _cut(count: int, step: int) -> Iterator[slice]:
    for begin in range(0, count, step):
        yield slice(begin, begin + step)
