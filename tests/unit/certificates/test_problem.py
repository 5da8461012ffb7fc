"""What a bound sees of a matrix that is held, in blocks, or dear."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates import certify
from sparseigen.certificates.problem import BoundProblem
from sparseigen.operators import as_operator
from sparseigen.operators.contract import AccessCosts, SparseVector
from tests.brute_force import brute_force
from tests.unit.certificates.exact_arithmetic import gram


def test_blocks_when_the_matrix_is_too_large_to_hold(rng, monkeypatch):
    data = rng.standard_normal((15, 60)) * (1.0 + 3.0 * rng.random(60))
    operator = se.covariance(data)
    vector = se.sparse_eigenvector(operator, 3, certify=False)
    found = SparseVector(vector.support, vector.vector[vector.support])
    held = certify(operator, 3, found)
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 10)
    monkeypatch.setattr("sparseigen.operators.contract.BLOCK_ENTRIES", 7 * 60)
    assert BoundProblem(operator, 3).dense is None
    blocked = certify(operator, 3, found)
    assert blocked.lower_bound <= held.upper_bound
    assert blocked.upper_bound >= held.lower_bound
    assert blocked.relative_gap < 0.3


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("affordable", [4, 25, np.inf])
def test_indefinite_matrices_whose_columns_are_dear(affordable, factor, rng, monkeypatch):
    """The entries' size is known before any column is asked for; what is not asked for is said, and bounds hold."""
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 5)
    matrix = rng.standard_normal((9, 9))
    matrix = (matrix + matrix.T) * (1.0 - np.eye(9)) * 1e5 * factor
    operator = as_operator(matrix)
    costs = AccessCosts(9, affordable_columns=affordable)
    monkeypatch.setattr(type(operator), "costs", property(lambda self: costs))
    problem = BoundProblem(operator, 3)
    assert problem.dense is None
    largest = float(np.abs(matrix).max())
    assert largest <= problem.scale <= 2.0 * largest
    found = se.sparse_eigenvector(matrix, 3, certify=False)
    certificate = certify(operator, 3, SparseVector(found.support, found.vector[found.support]))
    optimum = factor * brute_force(matrix / factor, 3)
    assert certificate.lower_bound <= optimum * (1.0 + 1e-12)
    assert certificate.upper_bound >= optimum * (1.0 - 1e-12)
    if affordable == 4:
        assert "left out" in certificate.method or certificate.upper_bound == np.inf
    else:
        assert certificate.upper_bound < 3.0 * optimum


def test_room_for_a_certificate_is_asked_for_before_it_is_taken(monkeypatch):
    """The matrix, a copy to be factorised, and work space for sorting rows: three matrices of float64."""
    asked = []
    monkeypatch.setattr("sparseigen.certificates.problem.check_room", lambda *request: asked.append(request))
    BoundProblem(as_operator(np.eye(50)), 2)
    assert asked == [(3 * 8 * 50**2, "a certificate for 50 variables", "use certify=False")]


def test_entry_margins_add_up_the_largest_errors():
    problem = BoundProblem(as_operator(gram(0)), 3)
    problem.entry_errors = np.array([1e-3, 3e-3, 0.0, 2e-3, 1e-3])
    sums = np.array([3e-3, 5e-3, 6e-3, 7e-3, 7e-3])
    margins = problem.margins
    assert (margins > sums).all()
    np.testing.assert_allclose(margins, sums, rtol=1e-12)
    assert problem.margin == pytest.approx(margins[2], rel=1e-12)
