"""Vertices are decided only where no better set disagrees."""

import numpy as np
import pytest

from sparseigen.graphs.dual_bound import DualPoint
from sparseigen.graphs.fixing import SetProblem, bound_choices
from sparseigen.graphs.relaxation import Relaxation
from tests.unit.graphs.random_graphs import weighted_matrix


@pytest.mark.parametrize("seed", range(12))
def test_no_set_weighs_more_than_its_choices_allow(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 10))
    count = int(rng.integers(2, size))
    weights = weighted_matrix(rng, size)
    state = Relaxation(weights.astype(np.float32), count, np.arange(count))
    multipliers = state.advance(int(rng.choice([1, 10, 60])))
    proof = DualPoint.at(weights, multipliers, state).prove()
    total = float(proof.bounds(np.array([count]))[0])
    with_it, without = bound_choices(proof, float(rng.choice([1e-3, 1.0, 30.0])))
    for bits in range(1 << size):
        chosen = np.array([bits >> v & 1 for v in range(size)], dtype=bool)
        if chosen.sum() == count:
            weight = weights[np.ix_(chosen, chosen)].sum()
            assert weight <= total
            assert (weight <= with_it[chosen]).all()
            assert (weight <= without[~chosen]).all()


def test_vertices_far_from_a_clique_are_out_and_its_own_in():
    weights = np.zeros((25, 25))
    weights[:8, :8] = 1.0 - np.eye(8)
    state = Relaxation(weights.astype(np.float32), 8, np.arange(8))
    proof = DualPoint.at(weights, state.advance(60), state).prove()
    gap = float(proof.bounds(np.array([8]))[0]) - 56.0
    with_it, without = bound_choices(proof, gap)
    assert (with_it[8:] < 56.0).all()
    assert (without[:8] < 56.0).all()


def test_a_restricted_problem_weighs_the_same():
    rng = np.random.default_rng(5)
    weights = weighted_matrix(rng, 8)
    every = np.arange(8)
    problem = SetProblem(weights, every, every[:0], 4)
    dropped, fixed = every == 2, (every == 0) | (every == 5)
    smaller, left = problem.restrict(dropped, fixed)
    assert smaller.count == 2
    assert smaller.taken.tolist() == [0, 5]
    assert smaller.kept.tolist() == [1, 3, 4, 6, 7]
    chosen, inner = [0, 5, 3, 7], [1, 4]
    constant = weights[np.ix_([0, 5], [0, 5])].sum()
    assert weights[np.ix_(chosen, chosen)].sum() == constant + smaller.weights[np.ix_(inner, inner)].sum()
    assert left.tolist() == [1, 3, 4, 6, 7]
