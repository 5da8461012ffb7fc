"""Prices of supports: never below a set that exists, and below the limits that they began from."""

from __future__ import annotations

import numpy as np
import pytest

from fuzzing.set_truth import best_set
from fuzzing.sets import draw
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.set_leaves import bound_listed, measure_work, price_tuples
from sparseigen.certificates.set_listing import list_sets
from sparseigen.datasets import load_pitprops
from sparseigen.operators import as_operator


@pytest.mark.parametrize("uncorrelated", [False, True])
def test_no_price_is_below_the_best_set(uncorrelated: bool) -> None:
    for seed in range(3):
        rng = np.random.default_rng([seed, uncorrelated, 7])
        matrix, ks = draw(rng)
        value, columns = best_set(matrix, ks, uncorrelated, rng)
        if columns is None:
            continue
        listed = list_sets(matrix, ks, 0.98 * value, uncorrelated=uncorrelated)
        priced = price_tuples(matrix, np.zeros(len(matrix)), listed, 0.98 * value, uncorrelated=uncorrelated, steps=40)
        assert priced.limits[0] >= value * (1.0 - 1e-12)
        assert priced.limits[0] <= listed.limits[0]


def test_errors_of_the_entries_are_paid_for() -> None:
    """Uncorrelated sets: the constraint speaks of the exact matrix."""
    matrix = np.asarray(load_pitprops().matrix)
    listed = list_sets(matrix, (3, 3), 4.3, uncorrelated=True)
    clean, rough = (
        price_tuples(matrix, np.full(13, size), listed, 4.3, uncorrelated=True, steps=5).limits[0]
        for size in (0.0, 1e-3)
    )
    assert rough > clean


def test_two_orthogonal_components_of_pitprops_are_proven_optimal() -> None:
    problem = BoundProblem(as_operator(np.asarray(load_pitprops().matrix)), 4)
    reached = problem.scale_value(5.255158432716)
    options = {"uncorrelated": False, "disjoint": False, "steps": 60, "most_work": 1e8}
    bound = problem.unscale_bound(bound_listed(problem, (4, 4), reached, **options))
    assert 5.255158432716 <= bound <= 5.2551584327167 * (1.0 + 2e-7)
    assert np.isinf(bound_listed(problem, (4, 4, 4, 4), reached, **options))
    assert np.isinf(bound_listed(problem, (4, 4), -1.0, **options))


def test_work_counts_tuples_and_their_size() -> None:
    listed = list_sets(np.eye(4), (1, 2), 1.5, uncorrelated=False)
    assert measure_work(listed) == 27.0 * len(listed)
