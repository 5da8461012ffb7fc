"""Which columns of A lead somewhere: those whose k largest entries are large, found without forming A.

The top-k energy of a column is the sum of its k largest squares. For a threshold theta the sum of what exceeds it,
sum_i max(A_ij^2 - theta, 0), plus k theta bounds the energy from above and meets it where theta lies between the k-th
and the next square: one theta for all columns, that of the strong ones among a sample, ranks them without sorting.

Where columns cost more than that, entries come from a sketch. With Y = A R for a narrow random R, the rows of
F = Y (R'Y)^(-1/2) have inner products close to the entries of A; scaled to A's diagonal, the better the stronger the
correlation is. What a scan costs does not grow with p once not all columns are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.operators.contract import Indices, Operator

SKETCH = 32
"""Columns of R."""
SCANNED_ENTRIES = 1 << 24
"""Entries of A that a scan looks at, in some columns or all."""
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


def strongest_columns(operator: Operator, cardinality: int, count: int) -> Indices:
    """About the ``count`` columns of largest top-k energy, some of them chosen without regard to the diagonal.

    On noise the diagonal hides what the columns share.
    """
    if operator.size <= count:
        return np.arange(operator.size, dtype=np.int64)
    pool, rows = _plan_scan(operator)
    energies, without_diagonal = _scan(operator, pool, rows, cardinality)
    by_energy = np.argsort(-energies, kind="stable")[: count - count // 4]
    by_rest = np.argsort(-without_diagonal, kind="stable")[: count // 4]
    return pool[list(dict.fromkeys([*by_energy.tolist(), *by_rest.tolist()]))]


def leading_directions(operator: Operator) -> NDArray[np.float64]:
    """A few directions of large variance, one per column, from a few products with a block."""
    block = np.random.default_rng(0).standard_normal((operator.size, min(DIRECTIONS, operator.size)))
    block *= np.sqrt(np.abs(operator.diagonal()))[:, None]
    for _ in range(ROUNDS):
        block = np.asarray(operator.block_apply(np.linalg.qr(block)[0]), dtype=np.float64)
    values, vectors = np.linalg.eigh(block.T @ block)
    directions: NDArray[np.float64] = block @ vectors[:, ::-1]
    return directions[:, values[::-1] > 0.0]


def _plan_scan(operator: Operator) -> tuple[Indices, Rows]:
    """The columns to look at, and how their entries are had."""
    size, costs = operator.size, operator.costs
    most = max(FEWEST_SCANNED, SCANNED_ENTRIES // size)
    sketched = costs.step(1) > SKETCH * size and operator.positive_semidefinite is True
    if sketched:
        factor, weights = _sketch(operator)
        return _choose_pool(operator, weights, most), lambda part: factor[part] @ factor.T

    def fetch(part: Indices) -> NDArray[np.float32]:
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(operator.columns(part).T, dtype=np.float32)

    if costs.step(1) > SKETCH * size:
        most = FEWEST_SCANNED
    if size <= most:
        return np.arange(size, dtype=np.int64), fetch
    return _choose_pool(operator, np.abs(leading_directions(operator)).max(axis=1, initial=0.0), most), fetch


def _sketch(operator: Operator) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Rows whose inner products are nearly the entries of A, and each variable's weight in the leading directions."""
    size, diagonal = operator.size, operator.diagonal()
    block = np.random.default_rng(0).standard_normal((size, min(SKETCH, size)))
    image = np.asarray(operator.block_apply(block.astype(operator.dtype)), dtype=np.float64)
    values, vectors = np.linalg.eigh(block.T @ image)
    values = np.maximum(values, 1e-12 * max(float(values[-1]), np.finfo(np.float64).tiny))
    factor = image @ (vectors / np.sqrt(values))
    lengths = np.sqrt(np.einsum("ij,ij->i", factor, factor))
    scale = np.sqrt(np.maximum(diagonal, 0.0) / operator.magnitude)  # entries of size one: float32 is enough
    factor *= np.divide(scale, lengths, out=np.zeros(size), where=lengths > 0.0)[:, None]
    return factor.astype(np.float32), lengths


def _choose_pool(operator: Operator, weights: NDArray[np.float64], most: int) -> Indices:
    """Half of the columns by variance, a quarter by their weight in leading directions, the rest evenly spread."""
    if operator.size <= most:
        return np.arange(operator.size, dtype=np.int64)
    by_variance = kernels.largest_magnitudes(operator.diagonal(), most // 2)
    by_weight = kernels.largest_magnitudes(weights, most // 4)
    spread = np.linspace(0, operator.size - 1, most // 4).astype(np.int64)
    return np.unique(np.concatenate([by_variance, by_weight, spread])).astype(np.int64)


def _scan(operator: Operator, pool: Indices, rows: Rows, cardinality: int) -> tuple[Energies, Energies]:
    """Sums of what the squares of each column exceed the threshold by, with the diagonal entry and without."""
    size, count = operator.size, min(cardinality, operator.size)
    sample = rows(pool[np.unique(np.linspace(0, len(pool) - 1, SAMPLED).astype(np.int64))])
    squares = np.partition(np.abs(sample), size - count, axis=1)[:, size - count] ** 2
    threshold = np.float32(np.quantile(squares, STRONG))
    energies, own = np.empty(len(pool), dtype=np.float32), np.empty(len(pool), dtype=np.float32)
    for part in _cut(len(pool), max(1, BLOCK // size)):
        block = rows(pool[part])
        block *= block
        block -= threshold
        np.maximum(block, 0.0, out=block)
        energies[part] = block.sum(axis=1)
        own[part] = block[np.arange(len(block)), pool[part]]
    return energies, energies - own


def _cut(count: int, step: int) -> Iterator[slice]:
    for begin in range(0, count, step):
        yield slice(begin, begin + step)
