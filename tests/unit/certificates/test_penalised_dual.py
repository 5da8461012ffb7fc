"""Neighbouring closed forms, and closed forms from data that live elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates.dual_points import dual_value
from sparseigen.certificates.factor import FactorRows, find_factor
from sparseigen.certificates.paths import certify_streamed_path
from sparseigen.certificates.penalised_dual import (
    closed_form_bound,
    closed_form_values,
    find_direction,
    find_points,
    neighbouring_forms,
    penalised_bound,
)
from sparseigen.certificates.problem import BoundProblem
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from tests.brute_force import brute_force
from tests.unit.certificates.exact_arithmetic import random_gram
from tests.unit.certificates.streamed import Streamed, answer


def test_equal_variables_have_no_neighbouring_cardinality():
    """Any penalty keeps all of them or none: there is no closed form between."""
    rows = np.tile([0.3, 0.4], (12, 1))
    assert list(neighbouring_forms(rows, np.array([0.6, 0.8]), 5, 2.0)) == []


def test_neighbouring_cardinalities_prove_bounds_too(rng):
    matrix = random_gram(rng, 14, 4)
    problem = BoundProblem(as_operator(matrix), 5)
    factor = find_factor(problem)
    optimum = brute_force(matrix, 5)
    direction = np.linalg.svd(factor.rows)[2][0]
    forms = list(neighbouring_forms(factor.rows, direction, 5, np.inf))
    assert 1 <= len(forms) <= 4
    for form in forms:
        proven = dual_value(factor, form, 5)
        assert proven == pytest.approx(form.promise, rel=1e-6)
        assert problem.unscale_bound(proven) >= optimum


def test_one_streamed_bound_holds_and_every_answer_counts(streamed):
    vectors = [answer(streamed.matrix, k) for k in (2, 6)]
    problem = BoundProblem(streamed, 6, vectors[1])
    bound = problem.unscale_bound(closed_form_bound(problem))
    optimum = brute_force(streamed.matrix, 6)
    assert optimum <= bound <= 1.25 * optimum
    first, second, both = (
        closed_form_values(problem, chosen, ks, 2)
        for chosen, ks in (([vectors[0]], [2]), ([vectors[1]], [6]), (vectors, [2, 6]))
    )
    np.testing.assert_array_equal(both, np.minimum(first, second))
    assert (first < second).any()
    assert (first > second).any()
    assert closed_form_bound(BoundProblem(streamed, 6)) == np.inf  # no answer to start from


def test_entry_errors_count_twice_in_a_streamed_bound(streamed):
    """The rows are a factor up to twice the entries' errors."""
    vector = answer(streamed.matrix, 6)
    clear = closed_form_bound(BoundProblem(streamed, 6, vector))
    rough = BoundProblem(Streamed(streamed.rows, errors=0.01), 6, vector)
    assert closed_form_bound(rough) == pytest.approx(clear + 2.0 * 6 * rough.scale_value(0.01), rel=1e-12)
    (certificate,) = certify_streamed_path(Streamed(streamed.rows, errors=0.01), [6], [vector])
    (exact,) = certify_streamed_path(streamed, [6], [vector])
    assert certificate.method == exact.method == "closed-form dual"
    assert certificate.upper_bound == pytest.approx(exact.upper_bound + 0.12, rel=1e-12)


@pytest.mark.parametrize("found", [True, False])
def test_closed_form_from_rows_made_on_demand_is_that_of_rows_held(found, rng, monkeypatch):
    """With and without an answer to start from; neighbouring cardinalities too."""
    operator = se.covariance(rng.standard_normal((4, 30)) + 2.0 * rng.standard_normal((4, 1)))
    result = se.sparse_eigenvector(operator, 5, certify=False)
    vector = SparseVector(result.support, result.vector[result.support]) if found else None
    problem = BoundProblem(operator, 5, vector)
    problem.dense = None
    held = dual_value(find_factor(problem), find_points(problem, find_factor(problem), -1), 5)
    monkeypatch.setattr("sparseigen.certificates.penalised_dual.LARGEST_STEP", 0.0)
    monkeypatch.setattr("sparseigen.certificates.dual_points.BLOCK_ENTRIES", 4 * 7)
    monkeypatch.setattr(BoundProblem, "holds_matrix", False)
    assert penalised_bound(problem) == pytest.approx(held, rel=1e-12)
    factor = find_factor(problem, in_blocks=True)
    assert isinstance(factor.rows, FactorRows)
    direction = find_direction(factor.rows, vector) if found else np.eye(4)[0]
    in_blocks = list(neighbouring_forms(factor.rows, direction, 5, np.inf))
    whole = list(neighbouring_forms(factor.rows[:], direction, 5, np.inf))
    np.testing.assert_allclose([form.promise for form in in_blocks], [form.promise for form in whole], rtol=1e-12)
