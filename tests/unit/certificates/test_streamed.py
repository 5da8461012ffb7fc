"""Bounds from an operator that makes dual points where its data are, without a device: the host's half of the proof."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.certificates.paths import _spread, certify_streamed_path
from sparseigen.certificates.penalised_dual import closed_form_bound, closed_form_values
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.operators.contract import Operator, SparseVector
from tests.brute_force import brute_force


class Streamed(Operator):
    """A Gram matrix of known rows that counts as living elsewhere."""

    transfers_cost = True
    negative_part = 0.0

    def __init__(self, rows, errors=0.0):
        self.rows, self.matrix, self.errors = rows, rows @ rows.T, errors
        self.size, self.dtype, self.factor_rank = len(rows), np.dtype(np.float64), rows.shape[1]

    def _diagonal(self):
        return self.matrix.diagonal()

    def apply_support(self, indices, weights):
        return self.matrix[:, indices] @ weights

    def columns(self, indices):
        return self.matrix[:, indices]

    def block_apply(self, block):
        return self.matrix @ block

    def entry_errors(self):
        return np.full(self.size, self.errors)

    def factor_rows(self, rows):
        return self.rows[rows]


@pytest.fixture
def operator(monkeypatch):
    """Nine variables, treated like many: the matrix does not come to the host."""
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_FETCHED", 2)
    return Streamed(np.random.default_rng(3).standard_normal((9, 4)) * np.linspace(2.0, 0.3, 9)[:, None])


def answer(matrix, cardinality):
    kept = np.sort(np.argsort(-matrix.diagonal())[:cardinality]).astype(np.int64)
    return SparseVector(kept, np.linalg.eigh(matrix[np.ix_(kept, kept)])[1][:, -1])


def test_path_of_streamed_bounds_holds_and_is_close(operator):
    cardinalities = list(range(1, 10))
    vectors = [answer(operator.matrix, k) for k in cardinalities]
    certificates = certify_streamed_path(operator, cardinalities, vectors)
    assert BoundProblem(operator, 3).dense is None
    for k, certificate in zip(cardinalities, certificates, strict=True):
        optimum = brute_force(operator.matrix, k)
        assert certificate.lower_bound <= optimum <= certificate.upper_bound * (1.0 + 1e-14)
        assert certificate.upper_bound <= 1.25 * optimum
    assert {"trace", "closed-form dual"} <= {certificate.method for certificate in certificates}


def test_one_streamed_bound_holds_and_every_answer_counts(operator):
    vectors = [answer(operator.matrix, k) for k in (2, 6)]
    problem = BoundProblem(operator, 6, vectors[1])
    bound = problem.unscaled(closed_form_bound(problem))
    optimum = brute_force(operator.matrix, 6)
    assert optimum <= bound <= 1.25 * optimum
    first, second, both = (
        closed_form_values(problem, chosen, ks, 2)
        for chosen, ks in (([vectors[0]], [2]), ([vectors[1]], [6]), (vectors, [2, 6]))
    )
    np.testing.assert_array_equal(both, np.minimum(first, second))
    assert (first < second).any()
    assert (first > second).any()
    assert closed_form_bound(BoundProblem(operator, 6)) == np.inf  # no answer to start from


def test_entry_errors_count_twice_in_a_streamed_bound(operator):
    """The rows are a factor up to twice the entries' errors."""
    vector = answer(operator.matrix, 6)
    clear = closed_form_bound(BoundProblem(operator, 6, vector))
    rough = BoundProblem(Streamed(operator.rows, errors=0.01), 6, vector)
    assert closed_form_bound(rough) == pytest.approx(clear + 2.0 * 6 * rough.scaled(0.01), rel=1e-12)
    (certificate,) = certify_streamed_path(Streamed(operator.rows, errors=0.01), [6], [vector])
    (exact,) = certify_streamed_path(operator, [6], [vector])
    assert certificate.method == exact.method == "closed-form dual"
    assert certificate.upper_bound == pytest.approx(exact.upper_bound + 0.12, rel=1e-12)


def test_anchors_are_spread_from_the_first_to_the_last():
    assert _spread(9, 3).tolist() == [0, 4, 8]
    assert _spread(2, 8).tolist() == [0, 1]
    assert _spread(1, 3).tolist() == [0]


class WithForms(Streamed):
    """Makes x'Ax itself, with an error."""

    error = 0.25

    def quadratic_form(self, indices, weights):
        return float(weights @ self.matrix[np.ix_(indices, indices)] @ weights), self.error


def test_operators_own_form_is_lowered_by_its_error(operator):
    made, vector = WithForms(operator.rows), SparseVector(np.array([0, 1, 4]), np.array([1.0, -2.0, 2.0]))
    form, _ = made.quadratic_form(vector.indices, vector.weights)
    assert achieved_value(made, vector) == pytest.approx((form - 0.25) / 9.0, rel=1e-12)
    made.error = np.inf  # then the host forms the block
    assert achieved_value(made, vector) == pytest.approx(form / 9.0, rel=1e-12)
    assert achieved_value(made, vector) < form / 9.0
