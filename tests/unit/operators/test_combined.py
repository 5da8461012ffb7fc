"""Sums and differences of operators: products, columns, margins, and the contrast of two groups."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.operators import as_operator
from sparseigen.operators.combined import CombinedOperator, contrast, entry_magnitudes, form


def pair(rng, size=9):
    cases, controls = rng.standard_normal((30, size)), rng.standard_normal((50, size)) * 1.5
    return cases, controls


@pytest.mark.parametrize("kind", ["data", "matrices", "sparse", "mixed"])
def test_a_contrast_is_the_difference(kind, rng) -> None:
    cases, controls = pair(rng)
    first, second = np.cov(cases.T), np.cov(controls.T)
    given = {
        "data": (se.covariance(cases), se.covariance(controls)),
        "matrices": (first, second),
        "sparse": (sp.csr_array(first), sp.csr_array(second)),
        "mixed": (se.covariance(cases), second),
    }[kind]
    operator, expected = contrast(*given, 0.7), first - 0.7 * second
    indices, weights = np.array([1, 4, 8]), np.array([0.5, -0.5, 0.7])
    np.testing.assert_allclose(operator.to_dense(), expected, atol=1e-13)
    np.testing.assert_allclose(operator.diagonal(), expected.diagonal(), atol=1e-13)
    np.testing.assert_allclose(operator.apply_support(indices, weights), expected[:, indices] @ weights, atol=1e-13)
    np.testing.assert_allclose(operator.block_apply(np.eye(9)[:, :4]), expected[:, :4], atol=1e-13)
    np.testing.assert_allclose(operator.restricted(indices).to_dense(), expected[np.ix_(indices, indices)], atol=1e-13)
    np.testing.assert_allclose(form(operator).matrix, expected, atol=1e-13)
    result = se.sparse_eigenvector(operator, 3)
    assert result.value == pytest.approx(se.sparse_eigenvector(expected, 3).value, rel=1e-10)
    assert se.verify(result, operator)
    assert result.settings["terms"][1].startswith("-0.7")


def test_scales_multiply_both_sides_without_rounding(rng) -> None:
    matrix = np.cov(rng.standard_normal((20, 5)).T)
    scales = np.ldexp(1.0, np.array([0, 3, -2, 1, 0]))
    operator = CombinedOperator([(1.0, as_operator(matrix))], scales=scales)
    expected = matrix * scales * scales[:, None]
    assert (operator.to_dense() == expected).all()
    assert (operator.restricted(np.array([1, 2])).to_dense() == expected[1:3, 1:3]).all()
    np.testing.assert_allclose(operator.apply_support(np.array([1]), np.ones(1)), expected[:, 1])
    np.testing.assert_allclose(operator.block_apply(np.eye(5)), expected)


def test_entries_are_within_the_stated_errors(rng) -> None:
    """Against fractions: |computed - exact| <= sqrt(w_i w_j) for every entry."""
    for _ in range(20):
        matrices = [rng.standard_normal((4, 4)) * 10.0 ** rng.uniform(-8, 8) for _ in range(3)]
        matrices = [matrix + matrix.T for matrix in matrices]
        coefficients = rng.standard_normal(3)
        operator = CombinedOperator([(c, as_operator(m)) for c, m in zip(coefficients, matrices, strict=True)])
        held, allowed = operator.accurate_columns(np.arange(4)), operator.entry_errors()
        for i in range(4):
            for j in range(4):
                pairs = zip(coefficients, matrices, strict=True)
                exact = sum(Fraction(float(c)) * Fraction(float(m[i, j])) for c, m in pairs)
                assert abs(Fraction(float(held[i, j])) - exact) ** 2 <= Fraction(allowed[i]) * Fraction(allowed[j])


def test_magnitudes_bound_every_entry(rng) -> None:
    for operator in (se.covariance(rng.standard_normal((10, 6))), as_operator(np.diag([1.0, -3.0]) + 2.0)):
        bound = entry_magnitudes(operator)
        assert (np.abs(operator.to_dense()) <= np.sqrt(np.outer(bound, bound)) * (1 + 1e-12)).all()


def test_a_sum_of_covariances_is_semidefinite_and_a_difference_is_not_known_to_be(rng) -> None:
    cases, controls = pair(rng)
    first, second = se.covariance(cases), se.covariance(controls)
    assert CombinedOperator([(1.0, first), (2.0, second)]).negative_part == 0.0
    assert form(CombinedOperator([(1.0, first), (2.0, second)])).positive_semidefinite is True
    assert CombinedOperator([(1.0, first), (-2.0, second)]).negative_part == np.inf


def test_large_combinations_stay_as_they_are(rng) -> None:
    operator = contrast(se.covariance(rng.standard_normal((5, 30))), np.eye(30))
    assert operator.prepared_for(1) is operator
    assert isinstance(operator.prepared_for(100000), type(form(operator)))
    assert operator.costs.product == se.covariance(rng.standard_normal((5, 30))).costs.product


def test_refusals(rng) -> None:
    with pytest.raises(errors.ShapeError) as refused:
        contrast(np.eye(3), np.eye(4))
    assert str(refused.value) == "background has 4 variables and target 3; give the same ones in the same order."
    first, second = se.covariance(np.eye(4), names="abcd"), se.covariance(np.eye(4), names="abdc")
    with pytest.raises(errors.ShapeError) as refused:
        contrast(first, second)
    assert str(refused.value) == (
        "variable 2 is 'c' in target and 'd' in background; give the same variables in the same order."
    )
    with pytest.raises(errors.OptionError, match="gamma=-1"):
        contrast(np.eye(3), np.eye(3), -1.0)
    with pytest.raises(errors.RangeError) as refused:
        contrast(np.eye(2), 1e200 * np.eye(2), 1e200)
    assert str(refused.value) == (
        "target - 1e+200 background leaves the range of float64; scale both to entries of like size."
    )
