"""Small sets by listing: limits are never below a set that exists, and nothing that could be best is left out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fuzzing.set_truth import best_set
from fuzzing.sets import draw
from sparseigen.certificates import set_listing
from sparseigen.certificates.set_listing import Listed, can_list, decompose, list_sets, sum_largest
from sparseigen.datasets import load_pitprops


@pytest.fixture
def matrix() -> np.ndarray:
    return np.asarray(load_pitprops().matrix)[:7, :7].copy()


@pytest.mark.parametrize("uncorrelated", [False, True])
def test_the_best_set_is_on_the_list_below_its_limit(uncorrelated: bool) -> None:
    for seed in range(4):
        rng = np.random.default_rng([seed, uncorrelated])
        matrix, ks = draw(rng)
        value, columns = best_set(matrix, ks, uncorrelated, rng)
        if columns is None:
            continue
        listed = list_sets(matrix, ks, 0.999 * value, uncorrelated=uncorrelated)
        assert listed is not None
        assert (np.diff(listed.limits) <= 0.0).all()
        holds = [
            all(set(np.flatnonzero(columns[:, t])) <= set(one[row]) for t, one in enumerate(listed.supports))
            for row in range(len(listed))
        ]
        # Components of equal cardinality may be listed in another order.
        if len(set(ks)) == len(ks):
            assert listed.limits[np.array(holds)].max() >= value * (1.0 - 1e-12)
        assert listed.limits[0] >= value * (1.0 - 1e-12)


def test_disjoint_sets_are_listed_with_what_they_reach(matrix) -> None:
    listed = list_sets(matrix, (2, 2), 0.0, uncorrelated=False, disjoint=True)
    first, second = (one[0] for one in listed.supports)
    assert not set(first) & set(second)
    tops = [np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in (first, second)]
    assert listed.limits[0] == pytest.approx(sum(tops), rel=1e-12)


def test_a_variable_that_is_shared_alone_belongs_to_one() -> None:
    """An orthogonal pair that shares one variable: one of the two has weight zero there."""
    matrix = np.diag([4.0, 3.0, 2.0])
    listed = list_sets(matrix, (1, 1), 0.0, uncorrelated=False)
    pairs = {(int(a[0]), int(b[0])) for a, b in zip(*listed.supports, strict=True)}
    assert pairs == {(0, 1), (0, 2), (1, 2)}


def test_eigenvalues_are_raised_past_the_true_ones(rng) -> None:
    """det(value I - B) of 2 x 2 blocks in fractions: not negative at the raised largest eigenvalue."""
    for block in rng.integers(-50, 50, size=(40, 2, 2)).astype(float):
        block = block + block.T
        values, _, errors = decompose(block[None])
        top = Fraction(float(values[0, -1]))
        a, b, c = (Fraction(float(block[i, j])) for i, j in ((0, 0), (0, 1), (1, 1)))
        assert (top - a) * (top - c) - b * b >= 0
        assert top >= max(a, c)
        assert errors[0] <= 1e-12 * max(1.0, float(np.abs(block).max()))


def test_sums_of_no_support() -> None:
    assert sum_largest(np.eye(3), np.zeros((0, 2), dtype=np.int64), 1).size == 0


def test_what_can_be_listed(monkeypatch, matrix) -> None:
    assert can_list(13, (4, 4))
    assert not can_list(13, (4, 4, 4, 4))
    assert not can_list(500, (10, 10))
    assert not can_list(5, (3, 3), disjoint=True)
    monkeypatch.setattr("sparseigen.certificates.set_listing.MOST_TUPLES", 3)
    assert list_sets(matrix, (2, 2), 0.0, uncorrelated=False) is None
    assert list_sets(matrix, (2, 2, 2), 0.0, uncorrelated=False) is None


def test_the_largest_limits_come_first() -> None:
    listed = Listed((np.array([[0], [1]]),), np.array([1.0, 2.0])).ordered()
    assert listed.limits.tolist() == [2.0, 1.0]
    assert listed.supports[0].tolist() == [[1], [0]]


@pytest.mark.parametrize("size", [62, 63, 64])
def test_a_shared_variable_is_not_lost_where_supports_fill_all_variables(size: int) -> None:
    """One component on all variables but one, the other on that one: their supports share one variable alone."""
    matrix = np.ones((size, size))
    matrix[-1] = matrix[:, -1] = 0.0
    matrix[-1, -1] = 50.0
    value = size - 1.0 + 50.0
    listed = list_sets(matrix, (size - 1, 2), value - 0.5, uncorrelated=False)
    assert listed is not None
    assert value <= listed.limits[0] <= value * (1.0 + 1e-9)


def test_beyond_the_numbers_of_supports_pairs_that_share_one_variable_are_listed_without_it(monkeypatch, rng) -> None:
    for _ in range(3):
        square = rng.standard_normal((6, 6))
        matrix = square @ square.T
        for ks in ((2, 2), (2, 3), (2, 2, 2), (4, 3)):
            with_numbers = list_sets(matrix, ks, 0.0, uncorrelated=False)
            monkeypatch.setattr(set_listing, "MOST_BITS", 5)
            without = list_sets(matrix, ks, 0.0, uncorrelated=False)
            monkeypatch.undo()
            value, columns = best_set(matrix, ks, False, rng)
            assert columns is not None
            assert min(with_numbers.limits[0], without.limits[0]) >= value * (1.0 - 1e-12)


def test_limits_of_negative_pairs_are_raised_and_not_lowered() -> None:
    listed = list_sets(-np.eye(3), (1, 1), -np.inf, uncorrelated=False)
    assert (listed.limits >= -2.0).all()
