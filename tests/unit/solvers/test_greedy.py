"""Forward and backward selection against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.operators import as_operator
from sparseigen.solvers.greedy import GREEDY, eliminate, greedy_path


def test_full_greedy_adds_the_best_variable_each_time(data) -> None:
    matrix = np.cov(data.T)
    chosen: list[int] = []
    for vector, value in greedy_path(as_operator(matrix), 6, greedy="full"):
        entered = set(vector.indices.tolist()) - set(chosen)
        if chosen:
            values = [
                np.linalg.eigvalsh(matrix[np.ix_([*chosen, j], [*chosen, j])])[-1] for j in range(15) if j not in chosen
            ]
            assert value == pytest.approx(max(values))
        chosen += sorted(entered)
    assert len(chosen) == 6


def test_approximate_greedy_follows_its_definition(data) -> None:
    matrix = np.cov(data.T)
    chosen = [int(matrix.diagonal().argmax())]
    for vector, value in greedy_path(as_operator(matrix), 15):
        np.testing.assert_array_equal(vector.indices, sorted(chosen))
        values, vectors = np.linalg.eigh(matrix[np.ix_(chosen, chosen)])
        assert value == pytest.approx(values[-1])
        scores = np.abs(matrix[:, chosen] @ vectors[:, -1])
        scores[chosen] = -1.0
        chosen.append(int(scores.argmax()))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_full_greedy_scores_are_the_eigenvalues_of_the_enlarged_blocks(data, scale) -> None:
    matrix = scale * np.cov(data.T)
    chosen = [4, 9, 1]
    _, vectors = np.linalg.eigh(matrix[np.ix_(chosen, chosen)])
    scores = GREEDY["full"](matrix[:, chosen], matrix.diagonal(), chosen, vectors[:, -1])
    for j in set(range(15)) - set(chosen):
        block = matrix[np.ix_([*chosen, j], [*chosen, j])]
        assert scores[j] == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-10)


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
