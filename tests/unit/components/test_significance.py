"""Tests of variables against a score: the robust t is HC3 of the regression itself, and the level is held."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sparseigen as se
from sparseigen.components.significance import (
    TESTED_EXACTLY,
    MatrixTests,
    RowTests,
    adjust_p_values,
    find_p_values,
    select,
    weigh_evidence,
)
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector


@pytest.fixture
def data(rng):
    return rng.standard_normal((60, 10)) * rng.uniform(0.5, 2.0, 10) + rng.standard_normal((60, 1)) * (
        np.arange(10) < 4
    )


def regress(y, s, others) -> float:
    """HC3's t of s in the regression of y on a mean, other regressors and s, from the textbook."""
    design = np.column_stack([np.ones(len(s)), *others, s])
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ y
    residuals = y - design @ coefficients
    hat = np.einsum("ij,jk,ik->i", design, inverse, design)
    meat = (design * (residuals / (1.0 - hat))[:, None] ** 2).T @ design
    return float(coefficients[-1] / np.sqrt((inverse @ meat @ inverse)[-1, -1]))


def test_the_robust_t_is_the_textbook_one(data) -> None:
    tests = RowTests(se.covariance(data, center=True).samples)
    vector = SparseVector(np.array([0, 1, 5]), np.array([0.6, 0.6, 0.5]))
    found = tests.test(vector)
    X = data - data.mean(axis=0)
    for j in range(10):
        weights = np.where(vector.indices == j, 0.0, vector.weights)
        score = X[:, vector.indices] @ weights  # without the variable's own part
        assert found.statistics[j] == pytest.approx(regress(data[:, j], score, []), rel=2e-4, abs=2e-4)
    assert tests.freedom == 58


def test_after_a_component_was_taken_out_it_is_a_regressor(data) -> None:
    tests = RowTests(se.covariance(data, center=True).samples)
    X = data - data.mean(axis=0)
    first = SparseVector(np.array([0, 1, 2, 3]), np.full(4, 0.5))
    taken = X[:, :4] @ first.weights
    tests.take_out(first)
    found = tests.test(SparseVector(np.array([6]), np.ones(1))).statistics
    rest = X[:, 6] - taken * (taken @ X[:, 6]) / (taken @ taken)
    for j in (5, 7, 8):
        assert found[j] == pytest.approx(regress(data[:, j], rest, [taken]), rel=2e-4, abs=2e-4)
    assert tests.freedom == 57
    np.testing.assert_allclose(tests.variances[:1] < tests.original[:1], True)


def test_a_large_set_is_tested_nearly_as_exactly(rng) -> None:
    p = TESTED_EXACTLY + 40
    data = rng.standard_normal((80, p)) + rng.standard_normal((80, 1))
    tests = RowTests(se.covariance(data, center=True).samples)
    found = tests.test(SparseVector(np.arange(p), np.full(p, p**-0.5))).statistics
    X = data - data.mean(axis=0)
    exact = [regress(X[:, j], np.delete(X, j, axis=1).sum(axis=1), []) for j in range(20)]
    np.testing.assert_allclose(found[:20], exact, rtol=0.02)


def test_the_classical_t_of_a_matrix_is_that_of_the_correlation(data) -> None:
    covariance = np.cov(data, rowvar=False)
    tests = MatrixTests(as_operator(covariance), 60)
    vector = SparseVector(np.array([0, 1]), np.array([0.6, 0.8]))
    found = tests.test(vector).statistics
    for j in range(10):
        score = data[:, [0, 1]] @ np.where(vector.indices == j, 0.0, vector.weights)
        r = np.corrcoef(score, data[:, j])[0, 1]
        assert found[j] == pytest.approx(r * np.sqrt(58 / (1 - r * r)), rel=1e-9)


def test_matrix_and_samples_speak_of_the_same_covariance(data) -> None:
    rows = RowTests(se.covariance(data, center=True).samples)
    matrix = MatrixTests(as_operator(np.cov(data, rowvar=False)), 60)
    unit = rows.original[0] / matrix.original[0]
    for step in range(2):
        vector = SparseVector(np.array([step, step + 2, 7]), np.full(3, 3**-0.5))
        np.testing.assert_allclose(rows.apply([vector]), unit * matrix.apply([vector]), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(rows.find_variance(vector), unit * matrix.find_variance(vector), rtol=1e-5)
        np.testing.assert_allclose(rows.excess(vector), unit * matrix.excess(vector), rtol=1e-3, atol=1e-5)
        assert rows.lead(np.arange(6))[1] == pytest.approx(unit * matrix.lead(np.arange(6))[1], rel=1e-5)
        rows.take_out(vector)
        matrix.take_out(vector)


def test_constant_variables_are_not_tested(data) -> None:
    data[:, 3] = 5.0
    tests = RowTests(se.covariance(data, center=True).samples)
    assert tests.count == 9
    assert tests.test(SparseVector(np.array([0, 1]), np.full(2, 0.5**0.5))).statistics[3] == 0.0


def test_copies_of_a_variable_are_significant_without_a_division_by_zero(data) -> None:
    data[:, 1] = data[:, 0]
    tests = RowTests(se.covariance(data, center=True).samples)
    statistics = tests.test(SparseVector(np.array([0]), np.ones(1))).statistics
    assert np.isfinite(statistics).all()
    assert statistics[1] > 100


@pytest.mark.parametrize(("noise", "most"), [("normal", 1.25), ("t3", 1.25), ("unequal", 2.0)])
def test_p_values_of_noise_are_nearly_uniform(noise, most, rng) -> None:
    data = rng.standard_t(3, (100, 3000)) if noise == "t3" else rng.standard_normal((100, 3000))
    if noise == "unequal":
        data *= np.exp(0.4 * rng.standard_normal(100))[:, None]
    tests = RowTests(se.covariance(data, center=True).samples)
    weights = np.full(50, 50**-0.5)
    p_values = find_p_values(tests.test(SparseVector(np.arange(50), weights)).statistics, tests.freedom)
    for level in (0.5, 0.1, 0.01):
        assert (p_values <= level).mean() <= level * most + 0.003


def test_p_values_are_students() -> None:
    assert find_p_values(np.array([2.5]), 17)[0] == pytest.approx(2 * stats.t.sf(2.5, 17))


def test_the_quick_selection_is_benjamini_and_hochbergs_rule(rng) -> None:
    for freedom in (5, 30, 1000):
        statistics = rng.standard_t(freedom, 500)
        statistics[:40] += 4.0
        for level in (0.2, 0.05, 0.01):
            adjusted = adjust_p_values(find_p_values(statistics, freedom), 500)
            np.testing.assert_array_equal(
                select(statistics, freedom, level, 500), np.flatnonzero(adjusted <= level * (1 + 1e-12))
            )
            expected = stats.false_discovery_control(find_p_values(statistics, freedom))
            np.testing.assert_allclose(adjusted, expected, rtol=1e-12)


def test_evidence_pays_for_the_number_of_sets() -> None:
    strong = np.full(5, 8.0)
    assert weigh_evidence(strong, 100, 100) > weigh_evidence(strong, 100, 10_000)
    assert weigh_evidence(np.full(5, 2.0), 100, 1000) < 0 < weigh_evidence(strong, 100, 1000)
