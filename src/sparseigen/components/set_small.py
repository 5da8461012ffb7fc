"""Small sets exhaustively: every tuple of supports that may explain more than the best set is solved.

`certificates.set_listing` lists the supports of two or three components whose limit is above the best set, prices
remove most of them, and on those that are left the weights are found by Newton steps from several starts; where many
are left, all are first brought near the constraint in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from sparseigen.certificates.set_leaves import measure_work, price_tuples
from sparseigen.certificates.set_listing import can_list, list_sets
from sparseigen.components.set_climb import climb
from sparseigen.components.set_moves import LEAST_GAIN, Matrix, Support, Vector, rises, solve_supports, spread

if TYPE_CHECKING:
    from sparseigen.components.set_search import SetProblem

TINY = 100
"""Supports of a component that any search goes through."""
MOST_SOLVED = 24
"""Tuples of supports that are solved."""
MOST_APPROACHED = 4000
"""Of a longer list, the tuples that are brought near the constraint in one batch, to see which to solve."""
PENALTIES = tuple(np.geomspace(0.1, 10.0, 10))
"""Relative to the largest eigenvalue."""
STEPS, MOST_WORK = 60, 1e8
"""Steps of the prices that shorten the list, and what they may cost."""


def is_tiny(problem: SetProblem) -> bool:
    """Whether there are so few supports that even a quick search goes through them."""
    return all(comb(problem.size, k) <= TINY for k in problem.cardinalities)


def search_listed(problem: SetProblem) -> bool:
    """Solve all supports that may explain more than the best set; whether none is left unsolved."""
    if not can_list(problem.size, problem.cardinalities, disjoint=problem.disjoint):
        return False
    floor = problem.value + LEAST_GAIN * abs(problem.value) if problem.best is not None else -np.inf
    options = {"uncorrelated": problem.uncorrelated}
    listed = list_sets(problem.matrix, problem.cardinalities, floor, disjoint=problem.disjoint, **options)
    if listed is None:
        return False
    if np.isfinite(floor) and len(listed) and measure_work(listed) * STEPS <= MOST_WORK:
        errors = np.zeros(problem.size)
        listed = price_tuples(problem.matrix, errors, listed, floor, steps=STEPS, **options)
    complete = len(listed) <= MOST_APPROACHED
    if len(listed) > MOST_SOLVED:
        listed = listed.take(np.arange(min(len(listed), MOST_APPROACHED)))
        starts, values = approach_constraint(problem.matrix, listed.supports, uncorrelated=problem.uncorrelated)
        for row in np.argsort(-values, kind="stable")[:MOST_SOLVED]:
            keep_better(problem, starts[row])
        listed = listed.take(np.flatnonzero(listed.limits > problem.value)[:MOST_SOLVED])
    for row in range(len(listed)):
        if problem.late or not rises(float(listed.limits[row]), problem.value):
            break
        for start in _list_starts(problem, [one[row] for one in listed.supports]):
            keep_better(problem, start)
    return complete and problem.best is not None and not problem.late


def keep_better(problem: SetProblem, start: Matrix) -> None:
    """The best weights on the supports of a start, kept where they are better than the best set."""
    columns = climb(problem.matrix, start, uncorrelated=problem.uncorrelated)
    value = problem.measure(columns)
    if rises(value, problem.value) and problem.is_feasible(columns):
        problem.best, problem.value = columns, value


def approach_constraint(
    matrix: Matrix, supports: Sequence[Support], *, uncorrelated: bool, rng: np.random.Generator | None = None
) -> tuple[Matrix, Vector]:
    """Sets on many tuples of supports near the constraint, and their variances less the last penalty.

    They are eigenvectors in turn under a rising penalty; the first those of every block alone, or random with a
    generator.
    """
    top = float(np.linalg.eigvalsh(matrix)[-1])
    columns = np.zeros((len(supports[0]), len(matrix), len(supports)))
    blocks = [matrix[one[:, :, None], one[:, None, :]] for one in supports]
    for t, one in enumerate(supports):
        weights = np.linalg.eigh(blocks[t])[1][:, :, -1] if rng is None else rng.standard_normal(one.shape)
        np.put_along_axis(columns[:, :, t], one, weights / np.linalg.norm(weights, axis=1, keepdims=True), axis=1)
    for penalty in PENALTIES:
        for t, one in enumerate(supports):
            block = blocks[t].copy()
            for s in range(len(supports)):
                if s != t:
                    link = columns[:, :, s] @ matrix / top if uncorrelated else columns[:, :, s]
                    link = np.take_along_axis(link, one, axis=1)
                    block -= (penalty * top) * link[:, :, None] * link[:, None, :]
            columns[:, :, t] = 0.0
            np.put_along_axis(columns[:, :, t], one, np.linalg.eigh(block)[1][:, :, -1], axis=1)
    images = np.einsum("pq,nqt->npt", matrix, columns)
    links = np.einsum("nps,npt->nst", columns, images / top if uncorrelated else columns)
    apart = 0.5 * (links**2).sum(axis=(1, 2)) - 0.5 * np.einsum("ntt->nt", links**2).sum(axis=1)
    return columns, np.einsum("npt,npt->n", columns, images) - PENALTIES[-1] * top * apart


def _list_starts(problem: SetProblem, supports: Sequence[Support]) -> Iterator[Matrix]:
    """Every component first in turn, each the best that those before it allow."""
    for first in range(problem.count):
        order = [(first + t) % problem.count for t in range(problem.count)]
        columns = np.zeros((problem.size, problem.count))
        for t in order:
            values, weights = solve_supports(problem.matrix, supports[t][None, :], problem.constrain(columns, t))
            if not np.isfinite(values[0]):
                break
            columns[:, t] = spread(problem.size, supports[t], weights[0])
        else:
            yield columns
