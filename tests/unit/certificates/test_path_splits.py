"""Split rows of neighbouring cardinalities: they hold, and reach what single ones reach."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates.path_splits import Group, _is_worth_steps, _raise_others, _sum_rows
from sparseigen.certificates.paths import certify_path
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.scaled_rows import scaled_row_values
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from tests.brute_force import brute_force


def ask(matrix, cardinalities):
    operator = as_operator(matrix)
    whole = BoundProblem(operator, operator.size)
    questions = []
    for k in cardinalities:
        found = se.sparse_eigenvector(matrix, k, certify=False).vector
        support = np.flatnonzero(found).astype(np.int64)
        vector = SparseVector(support, found[support])
        questions.append(whole.at(k, vector, achieved_value(operator, vector), np.inf))
    return whole, questions


def draw(seed, size=12, samples=9):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((samples, size)) * rng.uniform(0.2, 2.0, size)
    return data.T @ data


@pytest.mark.parametrize("heavy", [200, 6])
@pytest.mark.parametrize("seed", range(6))
def test_every_bound_holds(seed, heavy, monkeypatch):
    monkeypatch.setattr("sparseigen.certificates.path_splits.FEWEST", heavy)
    monkeypatch.setattr("sparseigen.certificates.path_splits.HEAVY", 1)
    matrix = draw(seed)
    whole, questions = ask(matrix, [2, 3, 5])
    monkeypatch.setattr("sparseigen.certificates.path_splits.HOPELESS", 1.0)
    group, bounds = Group(questions), np.full(12, np.inf)
    seen = list(group.bound_rows())
    assert [k for k, _, _ in seen] == [2, 3, 5]
    for k, value, _ in seen:
        bounds[k - 1] = value
    seen += group.lower_splits(bounds)
    assert {name for _, _, name in seen} == {"scaled rows", "split rows"}
    for k, value, name in seen:
        assert whole.unscale_bound(value) >= brute_force(matrix, k)
        assert name == "scaled rows" or value < 1.01 * bounds[k - 1]


def test_steps_are_made_where_they_may_close_a_gap():
    _, (question,) = ask(draw(1), [3])
    for best, cardinality, worth in ((1.1, 3, True), (2.0, 3, False), (1.0005, 3, True), (1.0005, 99, False)):
        question.best, question.cardinality = best * question.achieved, cardinality
        assert _is_worth_steps(question) == worth


def test_weights_of_their_own_are_for_points_that_are_nearly_closed():
    matrix = draw(2)
    whole, questions = ask(matrix, [2, 3, 4])
    bounds = np.full(12, np.inf)
    for question, factor in zip(questions, (1.0, 1.0005, 1.1), strict=True):
        bounds[question.cardinality - 1] = factor * question.achieved
    ((k, value, name),) = Group(questions).close_rows(bounds)
    assert (k, name) == (3, "scaled rows")
    assert whole.unscale_bound(value) >= brute_force(matrix, 3)


def test_rows_of_a_group_are_those_of_its_points(rng):
    _, questions = ask(draw(3), [2, 4, 7])
    weights = rng.random(12) + 0.1
    rows = _sum_rows(questions, np.arange(12), weights)
    for column, question in zip(rows.T, questions, strict=True):
        np.testing.assert_allclose(column, scaled_row_values(question, weights)[1], rtol=1e-12)


def test_raised_weights_bound_the_rows_outside(rng):
    _, questions = ask(draw(4), [2, 3])
    weights = rng.random(12) + 0.1
    heavy = np.array([0, 1, 2, 3, 4, 5])
    rows = _sum_rows(questions, np.arange(12), weights)
    raised, outer = _raise_others(questions, heavy, weights, rows)
    np.testing.assert_array_equal(raised[heavy], weights[heavy])
    np.testing.assert_allclose(_sum_rows(questions, np.arange(6, 12), raised).max(axis=0), outer)
    assert (outer <= rows[6:].max(axis=0)).any()


@pytest.mark.parametrize("quick", [False, True])
def test_long_paths_of_matrices_not_held_are_certified_together(quick, monkeypatch, rng):
    """Row bounds and closed forms, the factor not held."""
    for module in ("problem", "paths", "factor"):
        monkeypatch.setattr(f"sparseigen.certificates.{module}.LARGEST_MATERIALISED", 4)
    monkeypatch.setattr("sparseigen.certificates.paths.LARGEST_SIZE", 4)
    monkeypatch.setattr("sparseigen.certificates.penalised_dual.LARGEST_STEP", 0.0)
    data = rng.standard_normal((7, 11))
    operator, cardinalities = se.covariance(data), list(range(1, 10))
    questions = ask(np.cov(data.T), cardinalities)[1]
    vectors = [question.vector for question in questions]
    proofs = certify_path(operator, cardinalities, vectors, quick=quick)
    for k, proof in zip(cardinalities, proofs, strict=True):
        optimum = brute_force(np.cov(data.T), k)
        assert proof.lower_bound * (1.0 - 1e-12) <= optimum <= proof.upper_bound * (1.0 + 1e-12)
        assert proof.upper_bound <= 1.5 * optimum
