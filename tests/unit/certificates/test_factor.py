"""A factor leaves no more out than it says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates.factor import (
    FactorRows,
    _factorise,
    _factorise_by_lapack,
    _factorise_small,
    bound_left_out,
    find_factor,
)
from sparseigen.certificates.problem import BoundProblem
from sparseigen.errors import UnsupportedOperatorError
from sparseigen.operators import as_operator
from tests.unit.certificates.exact_arithmetic import SEEDS, blocks, bounds_eigenvalues, exact, gram, symmetric


@pytest.mark.parametrize(("seed", "size"), [*((seed, 5) for seed in SEEDS), (0, 49), (1, 49)])
def test_factor_leaves_no_more_than_it_says(seed, size):
    """Above 48 variables LAPACK makes the factor."""
    matrix = gram(seed, size) / 8.0
    factor = _factorise(matrix, 2, 0.0)
    assert factor.rows.shape == (size, 3)
    assert 0.0 < factor.rest < 1e-11
    rows = exact(factor.rows)
    left = [
        [Fraction(float(matrix[i, j])) - sum(a * b for a, b in zip(rows[i], rows[j], strict=True)) for j in range(size)]
        for i in range(size)
    ]
    assert all(bounds_eigenvalues(factor.rest, block) for block in blocks(left, 2))


@pytest.mark.parametrize("seed", SEEDS)
def test_factor_of_an_indefinite_matrix_says_what_it_leaves(seed):
    """Far more than rounding is left out."""
    matrix = gram(seed) / 8.0 + symmetric(seed + 100) / 80.0
    for cardinality in (1, 2, 5):
        factor = _factorise(matrix, cardinality, 0.0)
        rows = exact(factor.rows)
        left = [
            [
                Fraction(float(matrix[i, j])) - sum(a * b for a, b in zip(rows[i], rows[j], strict=True))
                for j in range(5)
            ]
            for i in range(5)
        ]
        assert all(bounds_eigenvalues(factor.rest, block) for block in blocks(left, cardinality))
        magnitudes = [sum(sorted(map(abs, row))[-cardinality:]) for row in left]
        assert float(max(magnitudes)) < factor.rest < float(max(magnitudes)) + 1e-12


@pytest.mark.parametrize(("size", "rank"), [(1, 1), (13, 13), (30, 4), (48, 48), (20, 0)])
def test_small_matrices_are_factored_as_lapack_does(size, rank, rng):
    half = rng.standard_normal((size, rank))
    matrix = half @ half.T
    tolerance = 1e-13 * size * max(float(matrix.diagonal().max()), 1e-300)
    ours, theirs = _factorise_small(matrix, tolerance), _factorise_by_lapack(matrix, tolerance)
    assert ours.shape == theirs.shape == (size, rank)
    np.testing.assert_allclose(ours @ ours.T, matrix, atol=1e-12 * max(1.0, np.abs(matrix).max()))


@pytest.mark.parametrize("magnitude", [1e-150, 1.0, 3.0, 1e150])
def test_rows_made_on_demand_are_those_of_the_scaled_matrix(magnitude, rng):
    """In blocks, at any scale, for all variables and for candidates alone."""
    operator = se.covariance(rng.standard_normal((4, 9)) * magnitude)
    for problem in (BoundProblem(operator, 3), BoundProblem(operator.restricted(np.array([1, 4, 8])), 2)):
        rows = FactorRows(problem)
        assert rows.shape == (problem.size, 4)
        np.testing.assert_allclose(rows[:] @ rows[:].T, problem.dense, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(rows[1:3], rows[:][1:3])
        factor = find_factor(problem)
        np.testing.assert_array_equal(factor.rows, rows[:])
        assert factor.rest == bound_left_out(problem)[problem.cardinality - 1] > 2.0 * problem.margin


def test_operators_without_a_factor_say_so():
    operator = as_operator(np.eye(3))
    assert operator.factor_rank == 0
    with pytest.raises(UnsupportedOperatorError, match="DenseSymmetric has no factor at hand: factor_rank is 0"):
        operator.factor_rows(slice(None))


def test_data_whose_products_are_too_dear_are_no_factor(rng, monkeypatch):
    operator = se.covariance(rng.standard_normal((30, 90)))
    monkeypatch.setitem(find_factor.__kwdefaults__, "largest", 2.0 * 90 * 29 * 30)
    problem = BoundProblem(operator, 3)
    assert find_factor(problem) is None
    assert problem.left_out == "duals left out: products of 30 samples"
    assert find_factor(problem, in_blocks=True, largest=1e9) is not None
    result = se.sparse_eigenvector(operator, 40)  # the largest eigenvalue is found all the same
    assert "duals left out: products of 30 samples" in result.certificate.method or result.certificate.optimal
    largest = float(np.linalg.eigvalsh(operator.to_dense())[-1])
    assert result.certificate.upper_bound <= largest * (1.0 + 1e-6)
    monkeypatch.setattr("sparseigen.certificates.penalised_dual.ONCE", 1.0)
    assert se.sparse_eigenvector(operator, 40).certificate.upper_bound <= largest * (1.0 + 1e-6)  # of the whole matrix
