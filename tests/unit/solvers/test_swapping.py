"""The swap test is exact: a pair scores above the leading eigenvalue if and only if the swap raises it."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.kernels.eigen import leading_eigenpair
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.eigenpairs import LARGEST_DIRECT, _lanczos_on_support, best_on_support
from sparseigen.solvers.greedy import eliminate
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


@pytest.mark.parametrize("size", [1, 5, 120])
def test_leading_eigenpair(size: int, rng: np.random.Generator) -> None:
    matrix = rng.standard_normal((size, size))
    matrix = matrix + matrix.T
    vector, value = leading_eigenpair(matrix)
    assert value == pytest.approx(np.linalg.eigvalsh(matrix)[-1])
    np.testing.assert_allclose(matrix @ vector, value * vector, atol=1e-9)


def test_large_supports_are_solved_from_products(rng: np.random.Generator) -> None:
    data = rng.standard_normal((30, 1100))
    operator = as_operator(np.cov(data.T))
    start = SparseVector(np.arange(1100), np.full(1100, 1100**-0.5))
    vector, value = best_on_support(operator, start)
    assert value == pytest.approx(np.linalg.eigvalsh(np.cov(data.T))[-1], rel=1e-8)
    assert np.linalg.norm(vector.weights) == pytest.approx(1.0)


def test_elimination_deletes_the_least_loss(rng: np.random.Generator) -> None:
    matrix = np.cov(rng.standard_normal((20, 9)).T)
    alive = list(range(9))
    for remaining in range(8, 3, -1):
        losses = {
            j: np.linalg.eigvalsh(matrix[np.ix_(rest, rest)])[-1]
            for j in alive
            if (rest := [i for i in alive if i != j])
        }
        alive.remove(max(losses, key=lambda j: losses[j]))
        assert eliminate(as_operator(matrix), remaining).tolist() == alive


def test_elimination_guarantee_holds_for_the_cheaper_rule(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparseigen.solvers.greedy.EXACT_WORK_LIMIT", 0.0)
    matrix = np.cov(rng.standard_normal((20, 12)).T)
    top = np.linalg.eigvalsh(matrix)[-1]
    for cardinality in (2, 6, 11):
        kept = eliminate(as_operator(matrix), cardinality)
        assert len(kept) == cardinality
        assert np.linalg.eigvalsh(matrix[np.ix_(kept, kept)])[-1] >= cardinality / 12 * top


def test_lanczos_that_finds_nothing_keeps_the_start_with_length_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from scipy.sparse.linalg import ArpackNoConvergence

    def fail(*_: object, **__: object) -> None:
        raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((4, 0)))

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", fail)
    operator, start = (
        as_operator(np.diag(np.arange(1.0, 7.0))),
        SparseVector(np.arange(4), np.array([0.0, 3.0, 0.0, 4.0])),
    )
    vector, value = _lanczos_on_support(operator, start, nonnegative=False)
    np.testing.assert_allclose(vector.weights, [0.0, 0.6, 0.0, 0.8])
    assert value == pytest.approx(0.36 * 2.0 + 0.64 * 4.0)


def test_nonnegative_weights_on_supports_beyond_the_direct_size(rng: np.random.Generator) -> None:
    size = LARGEST_DIRECT + 10
    half = rng.standard_normal((size, size))
    operator = as_operator(half @ half.T)
    start = SparseVector(np.arange(size), np.full(size, size**-0.5))
    vector, value = best_on_support(operator, start, nonnegative=True)
    assert (vector.weights >= 0.0).all()
    assert value >= start.weights @ half @ half.T @ start.weights
    _, free = best_on_support(operator, start)
    assert free > value
