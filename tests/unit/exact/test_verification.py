"""`verify` accepts what is true and finds every kind of false claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sparseigen as se
from tests.brute_force import small_matrix


@pytest.fixture
def matrix():
    return small_matrix(np.random.default_rng(5), 9, "gram")


@pytest.mark.parametrize("which", ["largest", "smallest"])
@pytest.mark.parametrize("method", ["tpower", "exact"])
def test_true_results_pass(matrix, which, method):
    result = se.sparse_eigenvector(matrix - 2.0 * np.eye(9), 3, which=which, method=method)
    assert se.verify(result, matrix - 2.0 * np.eye(9)), str(se.verify(result, matrix - 2.0 * np.eye(9)))


def test_exact_results_and_data_pass(matrix, rng):
    assert se.verify(se.solve_exact(matrix, 4), matrix)
    data = se.covariance(rng.standard_normal((30, 12)).astype(np.float32))
    assert se.verify(se.sparse_eigenvector(data, 3), data)
    within = se.sparse_eigenvector(matrix, 2, candidates=[0, 3, 4, 7])
    assert se.verify(within, matrix, candidates=[0, 3, 4, 7])


def test_false_claims_are_found(matrix):
    result = se.solve_exact(matrix, 3)
    certificate = result.certificate
    wrong = {
        "value": replace(result, value=result.value * 1.001),
        "cardinality": replace(result, cardinality=2),
        "unit norm": replace(result, vector=result.vector * 1.01),
        "length": replace(result, vector=result.vector[:-1]),
        "attained end": replace(result, certificate=replace(certificate, lower_bound=certificate.lower_bound * 1.001)),
        "proven end": replace(
            result,
            certificate=replace(
                certificate, lower_bound=certificate.lower_bound * 0.5, upper_bound=certificate.upper_bound * 0.9
            ),
        ),
    }
    for claim, broken in wrong.items():
        failed = [check.claim for check in se.verify(broken, matrix, time_limit=2.0).failures]
        assert claim in failed, claim


def test_uncertified_results_have_nothing_to_prove(matrix):
    checked = se.verify(se.sparse_eigenvector(matrix, 3, certify=False), matrix)
    assert checked.holds
    assert [check.claim for check in checked.checks] == ["length", "cardinality", "unit norm", "value"]
    assert checked.to_dict()["holds"] is True
