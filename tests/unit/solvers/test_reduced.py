"""The solve on the variables of largest variance, and the proof that they are enough."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import SolveInterrupted
from sparseigen.solvers.interface import SolverOptions
from sparseigen.solvers.reduced import choose_near, solve_reduced
from sparseigen.solvers.steered import solve_steered


@pytest.fixture(scope="module")
def spiked():
    rng = np.random.default_rng(3)
    data = rng.standard_normal((60, 6000)) * np.where(np.arange(6000) < 300, 1.0, 0.2)
    data[:, 40:50] += 2.0 * rng.standard_normal((60, 1))
    return data


def test_the_answer_is_that_of_all_variables_and_proven(spiked):
    operator, options = se.covariance(spiked), SolverOptions()
    reduced, whole = solve_reduced(operator, 10, options), solve_steered(operator, 10, options)
    assert reduced.vector.indices.tolist() == whole.vector.indices.tolist() == list(range(40, 50))
    assert reduced.settings["variables_searched"] == 2048
    assert reduced.proven.method.endswith("2048 of 6000 variables")
    exact = np.linalg.eigvalsh(np.cov(spiked[:, 40:50].T))[-1]
    assert exact <= reduced.proven.upper_bound <= exact * (1.0 + 1e-6)


def test_components_after_deflation_are_reduced_too(spiked):
    found = se.sparse_components(se.covariance(sp.csr_array(spiked)), [10, 3])
    assert [result.settings["variables_searched"] for result in found] == [2048, 2048]
    assert all(result.certificate.optimal for result in found)


def test_where_variances_say_nothing_all_variables_are_searched():
    data = np.random.default_rng(0).standard_normal((20, 5000))
    operator = se.covariance(data, scale=True)
    assert choose_near(operator, 3, SolverOptions()) is None


def test_where_the_rest_could_matter_all_variables_are_searched():
    rng = np.random.default_rng(1)
    data = rng.standard_normal((30, 5000)) * np.where(np.arange(5000) < 2100, 1.3, 1.0)
    found = se.sparse_eigenvector(se.covariance(data), 6)
    assert "variables_searched" not in found.settings
    assert found.certificate.upper_bound >= found.value


@pytest.mark.parametrize(
    "options", [SolverOptions(certify=False), SolverOptions(effort="quick")], ids=["uncertified", "quick"]
)
def test_quick_and_uncertified_solves_are_as_before(spiked, options):
    assert choose_near(se.covariance(spiked), 10, options) is None


def test_too_many_to_choose_and_matrices_that_may_be_indefinite_are_left_alone(spiked):
    assert choose_near(se.covariance(spiked), 600, SolverOptions()) is None
    indefinite = se.operators.as_operator(sp.diags_array(np.linspace(-1.0, 5.0, 5000)))
    assert choose_near(indefinite, 3, SolverOptions()) is None


def test_callbacks_see_vectors_of_all_variables(spiked):
    seen = []
    se.sparse_eigenvector(se.covariance(spiked), 10, on_iteration=lambda step, x, value: seen.append(np.flatnonzero(x)))
    assert seen
    assert set(seen[-1]) == set(range(40, 50))


def test_ctrl_c_keeps_the_answer_in_the_numbers_of_all_variables(spiked):
    def stop(step, x, value):
        raise KeyboardInterrupt

    with pytest.raises(SolveInterrupted) as caught:
        se.sparse_eigenvector(se.covariance(spiked), 10, on_iteration=stop)
    vector = caught.value.result.vector
    assert vector.shape == (6000,)
    assert caught.value.result.value == pytest.approx((spiked @ vector).var(ddof=1))


def test_a_time_limit_leaves_a_bound(spiked):
    options = SolverOptions(deadline=time.perf_counter())
    outcome = solve_reduced(se.covariance(spiked), 10, options)
    assert outcome.proven is not None
    assert outcome.proven.upper_bound >= outcome.value * (1.0 - 1e-12)
