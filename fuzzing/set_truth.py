"""The best orthogonal or uncorrelated set of a tiny matrix, by going through all supports.

A tuple of supports is solved from many starts; every value is that of a set whose constraint was checked here, so
each is proven to be reached. A tuple is left out only where a pair of supports cannot explain enough: two components
on S and T reach at most the two largest eigenvalues of the block S with T, which hold for both constraints.
"""

from __future__ import annotations

import itertools

import numpy as np

from sparseigen.components.set_climb import climb

FEASIBLE = 1e-12
RANDOM_STARTS = 1
MOST_TUPLES = 400
"""Tuples of supports solved, the most promising first; few matrices have more that could be best."""


def violation(matrix: np.ndarray, columns: np.ndarray, uncorrelated: bool) -> float:
    """The largest inner product of two components, or of their scores relative to the matrix."""
    products = columns.T @ matrix @ columns / np.abs(matrix).max() if uncorrelated else columns.T @ columns
    return float(np.abs(products - np.diag(products.diagonal())).max())


def pair_limits(matrix: np.ndarray, supports: list[np.ndarray]) -> np.ndarray:
    """What components on two supports can explain at most."""
    single = [float(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1]) for s in supports]
    limits = np.empty((len(supports), len(supports)))
    for a, first in enumerate(supports):
        for b in range(a, len(supports)):
            union = np.union1d(first, supports[b])
            values = np.linalg.eigvalsh(matrix[np.ix_(union, union)])
            both = float(values[-2:].sum()) if len(values) > 1 else -np.inf
            limits[a, b] = limits[b, a] = min(single[a] + single[b], both)
    return limits


def best_set(
    matrix: np.ndarray,
    cardinalities: tuple[int, ...],
    uncorrelated: bool,
    rng: np.random.Generator,
    known: float = -np.inf,
) -> tuple[float, np.ndarray | None]:
    """The largest sum of variances found, and the set; ``known`` is a value that is reached anyhow."""
    size, count = len(matrix), len(cardinalities)
    lists = [[np.array(s) for s in itertools.combinations(range(size), k)] for k in cardinalities]
    every = {tuple(s): i for i, s in enumerate(dict.fromkeys(tuple(s) for one in lists for s in one))}
    limits = pair_limits(matrix, [np.array(s) for s in every])
    places = [np.array([every[tuple(s)] for s in one]) for one in lists]
    if count == 2:
        totals = limits[np.ix_(places[0], places[1])]
    else:
        totals = 0.5 * (
            limits[np.ix_(places[0], places[1])][:, :, None]
            + limits[np.ix_(places[0], places[2])][:, None, :]
            + limits[np.ix_(places[1], places[2])][None, :, :]
        )
    best, kept, seen = known, None, set()
    for flat in np.argsort(-totals, axis=None, kind="stable"):
        place = np.unravel_index(flat, totals.shape)
        if totals[place] <= best * (1.0 + 1e-9):
            break
        chosen = tuple(tuple(lists[t][i].tolist()) for t, i in enumerate(place))
        if (key := tuple(sorted(chosen))) in seen:
            continue
        seen.add(key)
        if len(seen) > MOST_TUPLES:
            break
        value, columns = solve_tuple(matrix, chosen, uncorrelated, rng)
        if value > best:
            best, kept = value, columns
    return best, kept


def solve_tuple(
    matrix: np.ndarray, supports: tuple[tuple[int, ...], ...], uncorrelated: bool, rng: np.random.Generator
) -> tuple[float, np.ndarray | None]:
    """The best set on given supports with every component first in turn, and from random weights."""
    best, kept = -np.inf, None
    count = len(supports)
    orders = [tuple((first + t) % count for t in range(count)) for first in range(count)]
    if not uncorrelated and sum(map(len, supports)) == len(set().union(*supports)):
        orders = orders[:1]  # disjoint supports are orthogonal as they are
        random_starts = 0
    else:
        random_starts = RANDOM_STARTS
    starts = [_in_turn(matrix, supports, order, uncorrelated) for order in orders]
    for _ in range(random_starts):
        columns = np.zeros((len(matrix), len(supports)))
        for t, support in enumerate(supports):
            columns[list(support), t] = rng.standard_normal(len(support))
        starts.append(columns / np.linalg.norm(columns, axis=0))
    for start in starts:
        if start is None:
            continue
        columns = climb(matrix, start, uncorrelated=uncorrelated)
        value = float(np.einsum("ij,ij->", columns, matrix @ columns))
        if value > best and violation(matrix, columns, uncorrelated) <= FEASIBLE:
            best, kept = value, columns
    return best, kept


def _in_turn(
    matrix: np.ndarray, supports: tuple[tuple[int, ...], ...], order: tuple[int, ...], uncorrelated: bool
) -> np.ndarray | None:
    columns, held = np.zeros((len(matrix), len(supports))), []
    for t in order:
        support = list(supports[t])
        block = matrix[np.ix_(support, support)]
        rows = np.array([(matrix @ h if uncorrelated else h)[support] for h in held]).reshape(len(held), len(support))
        _, singular, right = np.linalg.svd(rows)
        rank = int((singular > 1e-10).sum())
        free = right[rank:].T
        if free.shape[1] == 0:
            return None
        columns[support, t] = free @ np.linalg.eigh(free.T @ block @ free)[1][:, -1]
        held.append(columns[:, t])
    return columns
