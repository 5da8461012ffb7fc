"""Levels of uncorrelated sets: never below a set that exists, and smaller than one level for all."""

from __future__ import annotations

import time

import numpy as np

import sparseigen as se
from fuzzing.set_truth import best_set
from fuzzing.sets import draw
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.set_levels import bound_levels, can_level, find_levels
from sparseigen.operators import as_operator


def measure(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", columns, matrix @ columns)


def test_no_bound_is_below_an_enumerated_set() -> None:
    """From exact bounds on one and two components, and from a set that is not the best."""
    looked = 0
    for seed in range(7):
        rng = np.random.default_rng([seed, 31])
        matrix = draw(rng)[0]
        k = int(rng.integers(2, 4))
        operator = as_operator(matrix)
        problem = BoundProblem(operator, k)
        value, columns = best_set(matrix, (k,) * 3, True, rng)
        pair, two = best_set(matrix, (k, k), True, rng)
        if columns is None or two is None or np.linalg.eigvalsh(matrix)[0] <= 1e-9 * np.abs(matrix).max():
            continue
        single = se.solve_exact(operator, k).certificate.upper_bound
        known = [problem.scale_value(one) for one in (single, pair * (1.0 + 1e-9))]
        for share in (1.0, 0.9):
            reached = [problem.scale_value(share * one) for one in measure(matrix, columns)]
            bound = problem.unscale_bound(bound_levels(problem, k, reached, known, 40))
            assert value * (1.0 - 1e-12) <= bound <= 1.5 * pair * (1.0 + 1e-8)
            looked += 1
    assert looked >= 4


def test_levels_hold_for_the_variances_of_every_set_below_the_bounds() -> None:
    rng = np.random.default_rng(8)
    for _ in range(200):
        variances = np.sort(rng.random(5))[::-1]
        totals = np.cumsum(variances) * (1.0 + 0.2 * rng.random(5))
        low, high = variances[0] * rng.random(), variances[0] * (1.0 + rng.random())
        for known in range(1, 6):
            levels = find_levels(totals[:known].tolist(), 5, low, high)
            assert (levels >= variances).all()
            assert (np.diff(levels) <= 0.0).all()


def test_levels_make_the_bound_smaller() -> None:
    matrix = np.asarray(se.datasets.load_pitprops().matrix)
    problem = BoundProblem(as_operator(matrix), 4)
    reached = [problem.scale_value(one) for one in (2.4, 2.3, 1.79)]
    pair, one = ([problem.scale_value(total) for total in known] for known in ((2.9375, 4.9240), (2.9375, 5.8750)))
    bounds = [problem.unscale_bound(bound_levels(problem, 4, reached, known, 120)) for known in (pair, one)]
    assert 6.491 <= bounds[0] < 6.80 < bounds[1]


def test_without_time_the_sums_of_levels_remain() -> None:
    matrix = np.asarray(se.datasets.load_pitprops().matrix)
    problem = BoundProblem(as_operator(matrix), 4, deadline=time.perf_counter())
    known = [problem.scale_value(one) for one in (2.9375, 4.9240)]
    reached = [problem.scale_value(one) for one in (2.4, 2.3, 1.79)]
    bound = problem.unscale_bound(bound_levels(problem, 4, reached, known, 100))
    assert 6.491 <= bound <= 1.5 * 4.9240 * (1.0 + 1e-12)


def test_many_supports_are_not_gone_through() -> None:
    assert can_level(13, 5)
    assert not can_level(30, 4)
