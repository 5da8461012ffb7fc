"""The bound on supports that hold variables of small variance."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sparseigen.certificates.outside import bound_outside, list_groups, sum_outside


def _largest(matrix, supports):
    return max(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in supports)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cardinality", [1, 2, 3, 5])
def test_bounds_every_support_with_a_variable_outside(seed, cardinality):
    rng = np.random.default_rng(seed)
    spread = np.concatenate([[3.0, 2.0, 2.0, 1.5], np.full(6, rng.choice([0.1, 0.5, 1.4]))])
    data = rng.standard_normal((12, 10)) * spread
    matrix = data.T @ data / 12
    inside = list(range(4))

    def best_inside(count, enough):
        count = min(count, 4)
        return 0.0 if count == 0 else _largest(matrix, combinations(inside, count))

    bound = bound_outside(
        best_inside, np.diag(matrix)[4:], cardinality, negative_part=0.0, cutoff=-np.inf, hopeless=np.inf
    )
    holding = [s for s in combinations(range(10), cardinality) if s[-1] >= 4]
    assert bound >= _largest(matrix, holding)


def test_an_indefinite_matrix_is_allowed_for():
    matrix = np.array([[1.0, 0.6], [0.6, 0.1]])  # smallest eigenvalue -0.19
    low = -np.linalg.eigvalsh(matrix)[0]
    bound = bound_outside(
        lambda count, enough: 1.0 * count, np.array([0.1]), 2, negative_part=low, cutoff=-np.inf, hopeless=np.inf
    )
    assert bound >= np.linalg.eigvalsh(matrix)[-1] > 1.1


def test_one_bound_inside_is_enough_where_the_rest_is_small():
    asked = []

    def inside(count, enough):
        asked.append((count, enough))
        return 5.0

    bound = bound_outside(inside, np.full(20, 0.01), 10, negative_part=0.0, cutoff=6.0, hopeless=7.0)
    assert [count for count, _ in asked] == [9]
    assert 5.1 <= bound <= 5.1 + 1e-12
    assert asked[0][1] == pytest.approx(5.9)


def test_gives_up_where_variables_outside_could_matter():
    bound = bound_outside(lambda count, enough: 5.0, np.full(20, 3.0), 4, negative_part=0.0, cutoff=6.0, hopeless=7.0)
    assert bound == np.inf


def test_sums_are_never_below_the_exact_ones():
    sums = sum_outside(np.array([0.1, 0.3, 0.2]), 5)
    assert len(sums) == 6
    assert (sums >= [0.0, 0.3, 0.5, 0.6, 0.6, 0.6]).all()
    assert sums == pytest.approx([0.0, 0.3, 0.5, 0.6, 0.6, 0.6])
    assert sum_outside(np.zeros(0), 2) == pytest.approx([0.0, 0.0, 0.0])


@pytest.mark.parametrize("cardinality", [1, 2, 7, 64, 100])
def test_groups_hold_every_number_once(cardinality):
    numbers = [number for fewest, most in list_groups(cardinality) for number in range(fewest, most + 1)]
    assert numbers == list(range(1, cardinality + 1))


def test_variances_that_rounding_made_negative_take_nothing_from_the_sums():
    sums = sum_outside(np.array([-0.2, 0.3, -0.1]), 3)
    assert (sums >= [0.0, 0.3, 0.3, 0.3]).all()
    assert sums == pytest.approx([0.0, 0.3, 0.3, 0.3])
