"""The best orthogonal or uncorrelated set of a tiny matrix, by going through all supports.

A tuple of supports is left out only where a pair of supports cannot explain enough: two components on S and T reach at
most the two largest eigenvalues of the block S with T, which holds for both constraints. All others are brought near
the constraint in one batch, by eigenvectors under a rising penalty from three starts each, two of them random; the
best of them are then solved on the constraint. Every value is that of a set whose constraint was checked here, so each
is proven to be reached. Nothing of the package's own bounds or lists is used.
"""

from __future__ import annotations

import itertools

import numpy as np

from sparseigen.components.set_climb import climb
from sparseigen.components.set_small import approach_constraint

FEASIBLE = 1e-12
MOST_TUPLES = 4000
"""Tuples of supports looked at, the most promising first; few matrices have more that could be best."""
SOLVED = 30
"""Of the tuples brought near the constraint, how many are solved on it."""


def violation(matrix: np.ndarray, columns: np.ndarray, uncorrelated: bool) -> float:
    """The largest inner product of two components, or of their scores relative to the matrix."""
    products = columns.T @ matrix @ columns / np.abs(matrix).max() if uncorrelated else columns.T @ columns
    return float(np.abs(products - np.diag(products.diagonal())).max())


def pair_limits(matrix: np.ndarray, supports: list[tuple[int, ...]]) -> np.ndarray:
    """What components on two supports can explain at most."""
    single = np.array([np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in supports])
    filled = np.array([[i in s for i in range(len(matrix))] for s in supports])
    limits = single[:, None] + single
    unions = filled[:, None, :] | filled
    sizes = unions.sum(axis=2)
    for size in np.unique(sizes):
        where = np.nonzero(sizes == size)
        among = np.nonzero(unions[where])[1].reshape(-1, size)
        values = np.linalg.eigvalsh(matrix[among[:, :, None], among[:, None, :]])
        both = values[:, -2:].sum(axis=1) if size > 1 else np.full(len(among), -np.inf)
        limits[where] = np.minimum(limits[where], both)
    return limits


def best_set(
    matrix: np.ndarray,
    cardinalities: tuple[int, ...],
    uncorrelated: bool,
    rng: np.random.Generator,
    known: float = -np.inf,
) -> tuple[float, np.ndarray | None]:
    """The largest sum of variances found, and the set; ``known`` is a value that is reached anyhow."""
    tuples = list_tuples(matrix, cardinalities, known)
    best, kept = known, None
    if not len(tuples[0]):
        return best, kept
    starts = [approach_constraint(matrix, tuples, uncorrelated=uncorrelated, rng=draw) for draw in (None, rng, rng)]
    columns, values = np.concatenate([one for one, _ in starts]), np.concatenate([value for _, value in starts])
    for row in np.argsort(-values, kind="stable")[:SOLVED]:
        solved = climb(matrix, columns[row], uncorrelated=uncorrelated)
        value = float(np.einsum("ij,ij->", solved, matrix @ solved))
        if value > best and violation(matrix, solved, uncorrelated) <= FEASIBLE:
            best, kept = value, solved
    return best, kept


def list_tuples(matrix: np.ndarray, cardinalities: tuple[int, ...], known: float) -> list[np.ndarray]:
    """Per component the supports of the tuples that may explain more than is known, each tuple once."""
    lists = [list(itertools.combinations(range(len(matrix)), k)) for k in cardinalities]
    every = {s: i for i, s in enumerate(dict.fromkeys(s for one in lists for s in one))}
    limits = pair_limits(matrix, list(every))
    places = [np.array([every[s] for s in one]) for one in lists]
    if len(lists) == 2:
        totals = limits[np.ix_(places[0], places[1])]
    else:
        totals = 0.5 * (
            limits[np.ix_(places[0], places[1])][:, :, None]
            + limits[np.ix_(places[0], places[2])][:, None, :]
            + limits[np.ix_(places[1], places[2])][None, :, :]
        )
    where = np.argwhere(totals > known * (1.0 + 1e-9) if np.isfinite(known) else np.isfinite(totals))
    ids = np.stack([places[t][where[:, t]] for t in range(len(lists))], axis=1)
    where = where[np.unique(np.sort(ids, axis=1), axis=0, return_index=True)[1]]
    order = np.argsort(-totals[tuple(where.T)], kind="stable")[:MOST_TUPLES]
    return [np.array(lists[t])[where[order, t]] for t in range(len(lists))]
