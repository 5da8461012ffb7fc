"""Small sets exhaustively: every tuple of supports that may explain more than the best set is solved.

`certificates.set_listing` lists the supports of two or three components whose limit is above the best set, prices
remove most of them, and on those that are left the weights are found by Newton steps from several starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sparseigen.certificates.set_leaves import measure_work, price_tuples
from sparseigen.certificates.set_listing import can_list, list_sets
from sparseigen.components.set_climb import climb
from sparseigen.components.set_moves import LEAST_GAIN, Matrix, Support, rises, solve_supports, spread

if TYPE_CHECKING:
    from sparseigen.components.set_search import SetProblem

MOST_SOLVED = 60
"""Tuples of supports that are solved."""
STEPS, MOST_WORK = 150, 6e8
"""Steps of the prices that shorten the list, and what they may cost."""


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
    for row in range(len(listed)):
        if not rises(float(listed.limits[row]), problem.value):
            return True
        if row >= MOST_SOLVED or problem.late:
            return False
        _solve(problem, [one[row] for one in listed.supports])
    return True


def _solve(problem: SetProblem, supports: Sequence[Support]) -> None:
    """The best weights on given supports, kept where they are better than the best set."""
    for start in _list_starts(problem, supports):
        columns = climb(problem.matrix, start, uncorrelated=problem.uncorrelated)
        value = problem.measure(columns)
        if rises(value, problem.value) and problem.is_feasible(columns):
            problem.best, problem.value = columns, value


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
