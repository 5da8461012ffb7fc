"""Solves of data read in passes: few passes, the answer of memory, and bounds that hold."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.solvers.few_passes import find_missed, find_near, is_read_in_passes, solve_in_few_passes
from sparseigen.solvers.interface import SolverOptions
from tests.unit.operators.mapped import map_data

SIZE = 5000


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    values = rng.standard_normal((80, SIZE))
    values[:, 100:112] += 1.5 * rng.standard_normal((80, 1))
    values[:, 4000:4008] += 1.2 * rng.standard_normal((80, 1))
    return values / values.std(axis=0)


def test_components_take_few_passes_and_are_those_of_memory(data, tmp_path):
    operator = se.covariance(map_data(data, tmp_path))
    assert is_read_in_passes(operator)
    first = se.sparse_eigenvector(operator, 12)
    alone = operator.passes_made
    assert alone <= 12
    found = se.sparse_components(operator, [12, 8])
    assert operator.passes_made - alone <= 12 + 8
    memory = se.sparse_components(se.covariance(data), [12, 8])
    for ours, theirs in zip(found, memory, strict=True):
        np.testing.assert_array_equal(ours.support, theirs.support)
        assert ours.value == pytest.approx(theirs.value, rel=1e-9)
        assert ours.certificate.upper_bound >= theirs.value * (1.0 - 1e-12)
    assert first.support.tolist() == list(range(100, 112))
    assert first.certificate.method == "trace"


def test_missed_variables_are_found(data, tmp_path):
    operator = se.covariance(map_data(data, tmp_path))
    near = find_near(operator, 2048)
    assert np.isin(np.arange(100, 112), near).all()
    vector = solve_in_few_passes(operator, 12, SolverOptions(certify=False)).vector
    assert not find_missed(operator, vector, near, 12).size
    without = np.setdiff1d(near, [100, 105])
    assert np.isin([100, 105], find_missed(operator, vector, without, 12)).all()


def test_answers_do_not_depend_on_chance(data, tmp_path):
    twice = [se.sparse_eigenvector(se.covariance(map_data(data, tmp_path)), 12) for _ in range(2)]
    assert twice[0].vector.tobytes() == twice[1].vector.tobytes()


def test_data_in_memory_and_small_ones_are_not_read_in_passes(data, tmp_path):
    assert not is_read_in_passes(se.covariance(data))
    assert not is_read_in_passes(se.covariance(map_data(data[:, :50], tmp_path)))
