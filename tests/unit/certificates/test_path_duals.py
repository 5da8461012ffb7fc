"""Dual points of neighbouring cardinalities: they hold, and mixtures prove no more than either side loses."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.certificates.dual_points import DualParts, dual_values, mix_parts
from sparseigen.certificates.path_duals import DualFollower, _try_share, find_share, mixed_values
from sparseigen.certificates.penalised_dual import find_affordable_factor
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.operators import as_operator
from tests.brute_force import brute_force
from tests.unit.certificates.streamed import answer


def draw_parts(rng, size=30, rank=4):
    points = rng.standard_normal((size, rank))
    return DualParts(points.T @ points, float((points**2).sum()), rng.random(size))


def follow(matrix, cardinalities, bests=np.inf):
    """The dual points of every cardinality, from the largest down, and the questions."""
    operator = as_operator(matrix)
    whole = BoundProblem(operator, operator.size)
    factor, steps = find_affordable_factor(whole)
    follower, made, questions = DualFollower(factor, steps, len(cardinalities)), [], []
    for place in range(len(cardinalities) - 1, -1, -1):
        vector = answer(matrix, cardinalities[place])
        question = whole.at(cardinalities[place], vector, achieved_value(operator, vector), bests)
        made.append(follower.make(question, place, closed_form=place % 2 == 0))
        questions.append(question)
    return whole, factor, made[::-1], questions[::-1]


@pytest.fixture
def matrix(rng):
    data = rng.standard_normal((8, 11)) * rng.uniform(0.3, 2.0, 11) + 1.5 * rng.standard_normal((8, 1))
    return data.T @ data


def test_points_followed_from_neighbours_prove_valid_bounds(matrix, monkeypatch):
    monkeypatch.setattr("sparseigen.certificates.path_duals.WIDE", 1.0)
    monkeypatch.setattr("sparseigen.certificates.path_duals.FAR", 1.0)
    cardinalities = [2, 3, 5, 7, 9]
    whole, factor, made, questions = follow(matrix, cardinalities, 1e3)
    assert all(found is not None for found in made)
    for found in made:
        values = dual_values(found.parts, factor.rest)
        for k in range(1, 12):
            assert whole.unscale_bound(float(values[k - 1])) >= brute_force(matrix, k)
        own = whole.unscale_bound(float(values[found.cardinality - 1]))
        assert own <= 1.35 * brute_force(matrix, found.cardinality)
    ends = [made[0], made[-1]]
    between = list(mixed_values(ends, questions, factor.rest))
    assert [k for k, _, _ in between] == [3, 5, 7]
    for k, value, _ in between:
        assert whole.unscale_bound(value) >= brute_force(matrix, k)
        assert value <= min(dual_values(end.parts, factor.rest)[k - 1] for end in ends) * (1.0 + 1e-9)


def test_ascents_are_given_up_where_they_stay_far(matrix, monkeypatch):
    monkeypatch.setattr("sparseigen.certificates.path_duals.FAR", -1.0)
    monkeypatch.setattr("sparseigen.certificates.path_duals.WIDE", 1.0)
    begun = []
    ascend = DualFollower._ascend
    monkeypatch.setattr(DualFollower, "_ascend", lambda self, *rest: begun.append(rest) or ascend(self, *rest))
    follow(matrix, [2, 4, 6, 8], 1e3)
    assert len(begun) == 1


def test_few_ascents_are_spread_over_long_paths(matrix, monkeypatch):
    monkeypatch.setattr("sparseigen.certificates.path_duals.WORK", 0.0)
    factor, steps = find_affordable_factor(BoundProblem(as_operator(matrix), 11))
    assert DualFollower(factor, steps, 9).stride == 9
    monkeypatch.undo()
    assert DualFollower(factor, steps, 9).stride == 1
    assert DualFollower(factor, 0, 9).given_up


def test_the_share_of_a_mixture_is_the_best_one(rng):
    for _ in range(20):
        first, second, k = draw_parts(rng), draw_parts(rng), int(rng.integers(1, 30))
        share = find_share(first, second, k)
        wanted = min(_try_share(first, second, k, at).value for at in np.linspace(0.0, 1.0, 201))
        reached = _try_share(first, second, k, share).value
        assert reached <= wanted * (1.0 + 3e-3)
        proven = dual_values(mix_parts([first, second], np.array([1.0 - share, share])))[k - 1]
        assert reached <= proven <= reached * (1.0 + 1e-10)
