"""The relaxation: its iterates have the trace and the sign they must, and it goes on from another state."""

import numpy as np
import pytest

from sparseigen.graphs.relaxation import Relaxation, project_spectrum
from tests.unit.graphs.random_graphs import weighted_matrix


@pytest.mark.parametrize("size", [20, 260])
def test_the_relaxed_set_holds_k_vertices(size):
    rng = np.random.default_rng(size)
    weights = weighted_matrix(rng, size).astype(np.float32)
    state = Relaxation(weights, 7, np.arange(7))
    multipliers = state.advance(30)
    assert multipliers.shape == (size, size)
    assert np.isfinite(multipliers).all()
    assert state.vertex_weights().sum() == pytest.approx(7.0, rel=1e-3)
    assert state.iterations == 30


def test_a_clique_is_the_relaxed_set():
    weights = np.zeros((30, 30), dtype=np.float32)
    weights[:8, :8] = 1.0 - np.eye(8)
    state = Relaxation(weights, 8, np.arange(10, 18))  # from a wrong start
    state.advance(150)
    assert set(np.argsort(-state.vertex_weights())[:8]) == set(range(8))


def test_a_state_goes_on_in_some_of_the_rows():
    rng = np.random.default_rng(3)
    weights = weighted_matrix(rng, 40).astype(np.float32)
    state = Relaxation(weights, 6, np.arange(6))
    multipliers = state.advance(40)
    kept = np.arange(0, 40, 2)
    near = Relaxation.near(state, weights[np.ix_(kept, kept)], 5, multipliers[np.ix_(kept, kept)], kept)
    near.advance(10)
    assert near.vertex_weights().sum() == pytest.approx(5.0, rel=1e-3)
    assert near.iterations == 50


def test_the_nearest_spectrum_is_nonnegative_with_the_sum_asked_for():
    values = np.array([5.0, 2.0, 0.5, -3.0])
    parts = project_spectrum(values, 4.0)
    assert parts.sum() == pytest.approx(4.0)
    assert (parts >= 0.0).all()
    assert (np.diff(parts) <= 0.0).all()
