"""The search for sets: its moves, and the best sets of small matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sparseigen.components.set_search import SEARCHES, SetProblem, search_set, start_disjoint


def test_disjoint_pairs_against_enumeration(rng) -> None:
    """The best two disjoint components of eight variables."""
    for _ in range(5):
        data = rng.standard_normal((12, 8)) + rng.standard_normal((12, 1))
        matrix = data.T @ data
        best = -np.inf
        for first in itertools.combinations(range(8), 3):
            rest = [i for i in range(8) if i not in first]
            one = np.linalg.eigvalsh(matrix[np.ix_(first, first)])[-1]
            best = max(
                [best] + [one + np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in itertools.combinations(rest, 3)]
            )
        problem = SetProblem(matrix, (3, 3), disjoint=True)
        found = search_set(problem, SEARCHES["default"], np.random.default_rng(0))
        assert (np.count_nonzero(found, axis=1) <= 1).all()
        assert problem.value == pytest.approx(best)


def test_there_may_be_no_room_or_no_time(matrix) -> None:
    assert start_disjoint(SetProblem(matrix, (12, 2)), [0, 1]) is None
    late = SetProblem(matrix, (3, 3), deadline=0.0)
    assert search_set(late, SEARCHES["default"], np.random.default_rng(0)) is not None
