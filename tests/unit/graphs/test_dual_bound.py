"""The dual bound holds for any multipliers and every size, and is tight where the relaxation has converged."""

import numpy as np
import pytest

from sparseigen.graphs.dual_bound import DualPoint, find_reach
from sparseigen.graphs.relaxation import Relaxation
from tests.unit.graphs.random_graphs import heaviest_sets, weighted_matrix


def test_any_multipliers_bound_every_size():
    rng = np.random.default_rng(0)
    for _ in range(40):
        size = int(rng.integers(2, 9))
        weights = weighted_matrix(rng, size)
        best = heaviest_sets(weights)
        state = Relaxation(weights.astype(np.float32), int(rng.integers(1, size + 1)), np.zeros(0, dtype=np.int64))
        multipliers = (rng.choice([0.0, 1.0, 30.0]) * rng.standard_normal((size, size))).astype(np.float32)
        bounds = DualPoint.at(weights, multipliers, state).prove().bounds(np.arange(1, size + 1))
        assert (bounds >= best[1:]).all()


@pytest.mark.parametrize("size", [30, 230])
def test_the_bound_of_a_converged_relaxation_is_tight(size):
    weights = np.zeros((size, size))
    weights[:9, :9] = 1.0 - np.eye(9)
    state = Relaxation(weights.astype(np.float32), 9, np.arange(9))
    multipliers = state.advance(60)
    point = DualPoint.at(weights, multipliers, state)
    proven = float(point.prove().bounds(np.array([9]))[0])
    assert 72.0 <= proven < 73.0
    assert point.estimate() == pytest.approx(proven, rel=1e-3)


def test_numbers_that_are_none_prove_nothing():
    weights = np.ones((4, 4)) - np.eye(4)
    state = Relaxation(weights.astype(np.float32), 2, np.arange(2))
    multipliers = np.zeros((4, 4), dtype=np.float32)
    point = DualPoint.at(weights, multipliers, state)
    broken = DualPoint(weights, multipliers * np.float32(np.nan), 2, point.charges, point.vectors, point.level)
    assert np.isinf(broken.prove().bounds(np.array([1, 2]))).all()


def test_reach_is_the_own_entry_and_the_largest_others():
    multipliers = np.array([[1.0, 5.0, 2.0], [0.0, -1.0, 7.0], [3.0, 4.0, 0.5]], dtype=np.float32)
    assert find_reach(multipliers, 1).tolist() == [1.0, -1.0, 0.5]
    assert find_reach(multipliers, 2).tolist() == [6.0, 6.0, 4.5]
    assert find_reach(multipliers, 3).tolist() == [8.0, 6.0, 7.5]
