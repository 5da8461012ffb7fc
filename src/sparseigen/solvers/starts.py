"""The starts of the truncated power method, by name.

Each start is a function ``(operator, cardinality, options) -> list of (label, SparseVector)``. A new one is a
function here and a row in STARTS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.arguments import check_rng, check_start_vector
from sparseigen.errors import StartError, ZeroMatrixError
from sparseigen.operators.contract import LARGEST_MATERIALISED, Indices, Operator, SparseVector, Vector
from sparseigen.solvers.candidates import find_candidates
from sparseigen.solvers.eigenpairs import best_on_support
from sparseigen.solvers.exchanging import race
from sparseigen.solvers.greedy import eliminate
from sparseigen.solvers.interface import SolverOptions

Start = tuple[str, SparseVector]

COLUMN_STARTS = 10
"""Columns of largest top-k energy that `columns` starts from."""
RACERS, RACERS_IN_PASSES, FEWEST_RACERS = 96, 16, 4
"""Starts of a race: as many as one matrix product serves at the cost of a few; fewer in passes and for large p."""
RACE_ENTRIES = 1 << 20
"""Numbers that the products of a race may hold together."""
RACE_WINNERS = 6
"""Runs that go on after a race."""
SMALLEST_NORM = 2.0**-500
LARGEST_FETCHED = 4096
"""Variables up to which starts race and scatter on this side where the data are on a device."""
DEVICE_ENTRIES = 1 << 26
"""Entries of columns that are looked at together where they are on a device."""
COLUMN_POOL = 256
"""Columns whose energy is computed when all of them would be too many."""


def max_variance(operator: Operator, cardinality: int, options: SolverOptions) -> list[Start]:
    """The variable of largest diagonal entry (the paper's scheme 1); of equal ones the lowest index.

    Variables whose whole column is zero are passed over: the power method cannot leave them.
    """
    position = _largest_movable(operator)
    if position is None:
        msg = "the variables of largest diagonal entry have zero columns; use start='auto' or start='columns'."
        raise StartError(msg)
    return [("max-variance", SparseVector(position, np.ones(1)))]


def _largest_movable(operator: Operator) -> Indices | None:
    """The first variable of largest diagonal entry whose column is not zero, if there is one."""
    diagonal = operator.diagonal()
    for index in np.flatnonzero(diagonal == diagonal.max()):
        position = np.array([index], dtype=np.int64)
        if diagonal[index] != 0.0 or operator.apply_support(position, np.ones(1)).any():
            return position
    return None


def top_k_variance(operator: Operator, cardinality: int, options: SolverOptions) -> list[Start]:
    """The normalised indicator of the k largest diagonal entries (the paper's scheme 1, second form)."""
    diagonal = operator.diagonal()
    largest = kernels.largest_magnitudes(diagonal - diagonal.min(), cardinality)
    return [("top-k-variance", SparseVector(largest, np.full(len(largest), len(largest) ** -0.5)))]


def warm(operator: Operator, cardinality: int, options: SolverOptions) -> list[Start]:
    """A decreasing schedule of cardinalities, each started from the last (the paper's scheme 2).

    From p downwards, halving, a few iterations each.
    """
    vector = max_variance(operator, cardinality, options)[0][1]
    steps = operator.iteration([cardinality], nonnegative=options.nonnegative)
    width = operator.size
    while width > cardinality:
        for _ in range(5):
            step = steps.step(vector, width)
            vector = _unit(step.indices, step.values, vector)
        width = max(cardinality, width // 2)
    step = steps.step(vector, cardinality)
    return [("warm", _unit(step.indices, step.values, vector))]


def backward(operator: Operator, cardinality: int, options: SolverOptions) -> list[Start]:
    """Greedy backward elimination from all variables (the paper's scheme 3, for k near p)."""
    indices = eliminate(operator, cardinality)
    weights = np.full(len(indices), len(indices) ** -0.5)
    best, _ = best_on_support(operator, SparseVector(indices, weights), nonnegative=options.nonnegative)
    return [("backward", best)]


def columns(operator: Operator, cardinality: int, options: SolverOptions) -> list[Start]:
    """The columns of A with the largest top-k energy (sum of the k largest squares), each truncated to k."""
    (strongest,) = find_strong_columns(operator, [cardinality])
    vectors = zip(strongest.tolist(), operator.columns(strongest).T, strict=True)
    starts = [_truncate(f"column {j}", column, cardinality, options) for j, column in vectors]
    return [start for start in starts if start is not None]


def find_strong_columns(operator: Operator, cardinalities: Sequence[int]) -> list[Indices]:
    """For each cardinality the columns of largest top-k energy and of largest top-(k - 1) energy off the diagonal.

    On noise the diagonal hides what the columns share, so a few are chosen without it. Columns are formed once.
    """
    pool = _column_pool(operator)
    energies = np.empty((len(cardinalities), 2, len(pool)))
    for block in _blocks(pool, operator):
        columns = operator.native_columns(pool[block])
        for place, cardinality in enumerate(cardinalities):
            energies[place, :, block] = kernels.column_energies(columns, pool[block], cardinality)
    by_energy = np.argsort(-energies, axis=2, kind="stable")
    return [
        np.array(list(dict.fromkeys([*pool[first[:COLUMN_STARTS]], *pool[rest[: COLUMN_STARTS // 2]]])), dtype=np.int64)
        for first, rest in by_energy
    ]


def random(operator: Operator, cardinality: int, options: SolverOptions) -> list[Start]:
    """A Gaussian vector truncated to its k largest entries."""
    vector = check_rng(options.rng).standard_normal(operator.size)
    kept = kernels.largest_magnitudes(vector, cardinality)
    values = np.abs(vector[kept]) if options.nonnegative else vector[kept]
    return [("random", SparseVector(kept, values / np.linalg.norm(values)))]


def auto(operator: Operator, cardinality: int, options: SolverOptions) -> list[Start]:
    """The paper's start first, its second form, and the winners of a race that strong columns and others begin."""
    strong = columns if stays_on_device(operator) else racers
    makers = []
    if operator.diagonal().any():
        makers = [max_variance, top_k_variance]
        if operator.diagonal().max() <= 0.0 and _largest_movable(operator) is None:
            makers = [top_k_variance]
    made = [*(make(operator, cardinality, options) for make in makers), strong(operator, cardinality, options)]
    return [start for starts in made for start in starts] or [_single_variable(operator, options)]


def stays_on_device(operator: Operator) -> bool:
    """Whether products with many vectors are too long to be fetched from where the data are."""
    return operator.costs.transfers and operator.size > LARGEST_FETCHED


def racers(operator: Operator, cardinality: int, options: SolverOptions) -> list[Start]:
    """The best of strong columns and of leading directions, truncated to k, after a few steps made together."""
    most = RACERS if operator.costs.columns_per_pass is None else RACERS_IN_PASSES
    together = min(most, max(FEWEST_RACERS, RACE_ENTRIES // operator.size))
    chosen, vectors = np.arange(operator.size, dtype=np.int64), []
    if operator.size > together:
        chosen, directions = find_candidates(operator, cardinality, together)
        vectors = list(directions.T)
    vectors = [*operator.columns(chosen).T, *vectors]
    labels = [*(f"column {j}" for j in chosen.tolist()), *(f"direction {j}" for j in range(len(vectors)))]
    starts = [_truncate(label, vector, cardinality, options) for label, vector in zip(labels, vectors, strict=False)]
    begun = [start for start in starts if start is not None]
    if not begun or cardinality == operator.size:  # nothing to exchange
        return begun[:1]
    return race(operator, begun, RACE_WINNERS, nonnegative=options.nonnegative)


def _truncate(label: str, vector: Vector, cardinality: int, options: SolverOptions) -> Start | None:
    """The unit vector of the k largest entries; None where all are zero."""
    kept = kernels.largest_magnitudes(np.ascontiguousarray(vector), cardinality, nonnegative=options.nonnegative)
    values = vector[kept].astype(np.float64)
    values = np.maximum(values, 0.0) if options.nonnegative else values
    if not values.any():
        return None
    if float(np.linalg.norm(values)) < SMALLEST_NORM:  # its square underflows
        values = values / np.abs(values).max()
    return label, SparseVector(kept, values / np.linalg.norm(values))


def _single_variable(operator: Operator, options: SolverOptions) -> Start:
    """Where no column leads anywhere (all are negative, and loadings must not be): the largest diagonal entry."""
    diagonal = operator.diagonal()
    if not diagonal.any() and not options.nonnegative:
        msg = "every column of the matrix is zero: every sparse vector has value 0, so there is nothing to find."
        raise ZeroMatrixError(msg)
    return "max-variance", SparseVector(np.array([int(diagonal.argmax())], dtype=np.int64), np.ones(1))


STARTS: dict[str, Callable[[Operator, int, SolverOptions], list[Start]]] = {
    "auto": auto,
    "backward": backward,
    "columns": columns,
    "max-variance": max_variance,
    "random": random,
    "top-k-variance": top_k_variance,
    "warm": warm,
}


def make_starts(operator: Operator, cardinality: int, options: SolverOptions) -> list[Start]:
    """The starts the caller asked for, by name or as a vector."""
    if isinstance(options.start, str):
        return STARTS[options.start](operator, cardinality, options)
    vector = check_start_vector(options.start, operator.size)
    if options.nonnegative:
        vector = np.maximum(vector, 0.0)
        if not vector.any():
            msg = "start has no positive entry, but nonnegative=True; give one with positive entries."
            raise StartError(msg)
        vector /= np.linalg.norm(vector)
    indices = np.flatnonzero(vector).astype(np.int64)
    return [("vector", SparseVector(indices, vector[indices]))]


def _unit(indices: Indices, values: NDArray[np.float64], previous: SparseVector) -> SparseVector:
    norm = float(np.linalg.norm(values))
    return SparseVector(indices, values / norm) if norm > 0.0 else previous


def _column_pool(operator: Operator) -> Indices:
    """All columns, or those of largest variance and of largest weight in a rough leading eigenvector."""
    if operator.size <= LARGEST_MATERIALISED and operator.costs.affordable_columns >= operator.size:
        return np.arange(operator.size, dtype=np.int64)
    by_variance = kernels.largest_magnitudes(operator.diagonal(), COLUMN_POOL // 2)
    vector = np.sqrt(np.abs(operator.diagonal()))
    for _ in range(3):
        vector = np.asarray(operator.block_apply(vector[:, None])[:, 0], dtype=np.float64)
        norm = float(np.linalg.norm(vector))
        if norm == 0.0:
            break
        vector = vector / norm
    by_weight = kernels.largest_magnitudes(vector, COLUMN_POOL // 2)
    return np.union1d(by_variance, by_weight).astype(np.int64)


def _blocks(pool: Indices, operator: Operator) -> list[slice]:
    step = operator.costs.columns_at_once(DEVICE_ENTRIES if operator.costs.transfers else 1 << 22)
    return [slice(i, min(i + step, len(pool))) for i in range(0, len(pool), step)]
