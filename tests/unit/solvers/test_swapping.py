"""Swap polishing against every swap there is."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.eigenpairs import best_on_support
from sparseigen.solvers.interface import Progress
from sparseigen.solvers.swapping import swap, swap_scores


def random_matrix(rng: np.random.Generator, kind: str) -> np.ndarray:
    square = rng.standard_normal((11, 11))
    return np.cov(rng.standard_normal((8, 11)).T) if kind == "psd" else square + square.T


@pytest.mark.parametrize("kind", ["psd", "indefinite"])
def test_scores_decide_every_swap(kind: str, rng: np.random.Generator) -> None:
    decided = {True: 0, False: 0}
    for _ in range(25):
        matrix = random_matrix(rng, kind)
        inside = np.sort(rng.choice(11, 4, replace=False))
        outside = np.setdiff1d(np.arange(11), inside)
        value = np.linalg.eigvalsh(matrix[np.ix_(inside, inside)])[-1]
        scores = swap_scores(matrix[np.ix_(inside, inside)], matrix[np.ix_(inside, outside)], np.diag(matrix)[outside])
        for i in range(4):
            for j in range(7):
                swapped = np.append(np.delete(inside, i), outside[j])
                new = np.linalg.eigvalsh(matrix[np.ix_(swapped, swapped)])[-1]
                if abs(new - value) > 1e-9:
                    assert (scores[i, j] > value) == (new > value)
                    decided[bool(new > value)] += 1
    assert min(decided.values()) > 20


@pytest.mark.parametrize("kind", ["psd", "indefinite"])
def test_swapping_ends_where_no_swap_helps(kind: str, rng: np.random.Generator) -> None:
    for _ in range(10):
        matrix = random_matrix(rng, kind)
        operator = as_operator(matrix)
        indices = np.arange(4, dtype=np.int64)
        start, value = best_on_support(operator, SparseVector(indices, np.full(4, 0.5)))
        report = swap(operator, start, value, max_swaps=100, progress=Progress(11))
        assert not report.limited
        assert report.value >= value
        inside = report.vector.indices
        for i in range(4):
            for j in np.setdiff1d(np.arange(11), inside):
                swapped = np.append(np.delete(inside, i), j)
                assert np.linalg.eigvalsh(matrix[np.ix_(swapped, swapped)])[-1] <= report.value + 1e-9


def test_limits_are_said(rng: np.random.Generator) -> None:
    operator = as_operator(random_matrix(rng, "psd"))
    start, value = best_on_support(operator, SparseVector(np.arange(4), np.full(4, 0.5)))
    report = swap(operator, start, value, max_swaps=1, progress=Progress(11))
    assert report.limited
    assert report.swaps == 1


def test_degenerate_supports_do_not_break_it() -> None:
    matrix = np.eye(6)
    matrix[4, 5] = matrix[5, 4] = 0.5
    operator = as_operator(matrix)
    start, value = best_on_support(operator, SparseVector(np.arange(2), np.full(2, 0.5**0.5)))
    report = swap(operator, start, value, max_swaps=50, progress=Progress(6))
    assert report.value >= value


def test_a_support_of_zeros_is_left() -> None:
    matrix = np.diag([0.0, 0.0, 0.0, 4.0, 1.0])
    matrix[0, 3] = matrix[3, 0] = 1.0
    start = SparseVector(np.arange(2), np.array([1.0, 0.0]))
    report = swap(as_operator(matrix), start, 0.0, max_swaps=50, progress=Progress(5))
    assert report.value == pytest.approx(np.linalg.eigvalsh(matrix)[-1])
