"""Weights on fixed supports: the constraint to rounding, and no better weights nearby."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.components.set_climb import climb, violation


@pytest.mark.parametrize("uncorrelated", [False, True])
def test_climbing_raises_the_variance_and_meets_the_constraint(matrix, rng, uncorrelated) -> None:
    columns = np.zeros((12, 3))
    for t, members in enumerate(([0, 1, 2, 3, 4], [2, 3, 4, 5, 6], [0, 2, 4, 7, 8])):
        columns[members, t] = rng.standard_normal(5)
    columns /= np.linalg.norm(columns, axis=0)
    moved = climb(matrix, columns, uncorrelated=uncorrelated)
    assert violation(matrix, moved, uncorrelated=uncorrelated) <= 1e-14
    np.testing.assert_array_equal(moved != 0.0, columns != 0.0)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=0), 1.0, rtol=1e-14)
    value = np.einsum("ij,ij->", moved, matrix @ moved)
    for _ in range(20):  # nearby sets on the constraint explain no more
        other = moved + 1e-3 * rng.standard_normal(moved.shape) * (moved != 0.0)
        other = climb(matrix, other, uncorrelated=uncorrelated, most_steps=0)
        assert violation(matrix, other, uncorrelated=uncorrelated) <= 1e-12
        assert np.einsum("ij,ij->", other, matrix @ other) <= value * (1.0 + 1e-10)


def test_on_one_support_it_finds_the_leading_eigenvectors(matrix, rng) -> None:
    moved = climb(matrix, np.linalg.qr(rng.standard_normal((12, 2)))[0])
    assert np.einsum("ij,ij->", moved, matrix @ moved) == pytest.approx(np.linalg.eigvalsh(matrix)[-2:].sum())


def test_what_cannot_be_met_stays_as_it_was() -> None:
    columns = np.array([[1.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(climb(np.eye(2), columns), columns)
    assert violation(np.eye(2), columns, uncorrelated=False) == 1.0
    assert violation(np.eye(2), columns[:, :1], uncorrelated=False) == 0.0
