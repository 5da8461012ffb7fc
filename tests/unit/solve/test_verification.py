"""`verify` accepts what is true and finds every kind of false claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sparseigen as se
from sparseigen.certificates.rounding import achieved_value
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.deflated import DEFLATIONS
from sparseigen.operators.wrapped import scale_operator
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


def test_optimal_means_what_it_says(matrix):
    """A wide bracket with a tolerance, or a scale, that calls any gap nothing."""
    result = se.solve_exact(matrix, 3)
    wide = replace(result.certificate, upper_bound=2.0 * result.certificate.upper_bound)
    assert se.verify(replace(result, certificate=wide), matrix)
    for more in ({"tolerance": 1.0}, {"scale": 1e30}):
        found = se.verify(replace(result, certificate=replace(wide, **more)), matrix)
        assert [check.claim for check in found.failures] == ["meaning of optimal"]


def test_uncertified_results_have_nothing_to_prove(matrix):
    checked = se.verify(se.sparse_eigenvector(matrix, 3, certify=False), matrix)
    assert checked.holds
    assert [check.claim for check in checked.checks] == ["length", "cardinality", "unit norm", "value"]
    assert checked.to_dict()["holds"] is True


def test_what_was_asked_for_belongs_to_the_claims(matrix):
    """Candidates, signs and names: an answer outside of them is not an answer, however good its numbers are."""
    result = se.sparse_eigenvector(matrix, 3)
    loose = replace(result, certificate=replace(result.certificate, upper_bound=1e3))
    others = [i for i in range(9) if i != result.support[0]]
    assert [c.claim for c in se.verify(loose, matrix, candidates=others).failures] == ["candidates"]

    signed = matrix * np.outer(*[np.where(np.arange(9) % 2, -1.0, 1.0)] * 2)
    mixed = se.sparse_eigenvector(signed if (result.vector >= 0.0).all() else matrix, 3)
    assert (mixed.vector < 0.0).any()
    claimed = replace(mixed, settings={**mixed.settings, "nonnegative": True})
    shown = signed if (result.vector >= 0.0).all() else matrix
    assert [c.claim for c in se.verify(claimed, shown).failures] == ["nonnegative"]
    assert se.verify(se.sparse_eigenvector(shown, 3, nonnegative=True), shown)

    frame = pd.DataFrame(matrix, columns=list("abcdefghi"))
    named = se.sparse_eigenvector(frame, 3)
    assert se.verify(named, frame)
    assert [c.claim for c in se.verify(replace(named, names=tuple("bacdefghi")), frame).failures] == ["names"]


def test_results_put_together_by_hand_are_refused_or_found_false(matrix):
    result = se.sparse_eigenvector(matrix, 3)
    assert [c.claim for c in se.verify(replace(result, cardinality=99), matrix).failures] == ["cardinality"]
    broken = [
        {"vector": result.vector.astype(object)},
        {"vector": result.vector.astype(complex)},
        {"vector": list(result.vector)},
        {"value": "3"},
        {"settings": None},
        {"certificate": "proven optimal"},
        {"certificate": replace(result.certificate, upper_bound="3")},
    ]
    for changes in broken:
        with pytest.raises(se.errors.OptionError, match="result"):
            se.verify(replace(result, **changes), matrix)


@pytest.mark.parametrize("deflation", ["projection", "hotelling", "orthogonal-hotelling", "schur"])
def test_components_of_float32_data_are_confirmed_on_an_operator_of_ones_own(deflation):
    """Deflating covariance(X) by hand adds up in another order than `sparse_components` did."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        data = (rng.standard_normal((12, 6)) * (rng.random((12, 6)) < 0.7)).astype(np.float32)
        remaining = se.covariance(data)
        for result in se.sparse_components(remaining, [2, 3, 2], deflation=deflation):
            checked = se.verify(result, remaining)
            assert checked, str(checked)
            wrong = replace(result.certificate, lower_bound=result.certificate.lower_bound * 1.0001)
            assert not se.verify(replace(result, certificate=wrong), remaining)
            remaining = DEFLATIONS[deflation](remaining, result.vector)


def test_verification_searches_where_bounds_do_not_reach(monkeypatch, bounds_alone):
    """A claim that only the search proves, and one that is false."""
    matrix = np.cov(np.random.default_rng(3).standard_normal((40, 24)), rowvar=False)
    result = se.solve_exact(matrix, 4)
    assert result.certificate.method == "branch and bound"
    monkeypatch.setattr("sparseigen.certificates.portfolio.TIGHT_SECONDS", 0.0)
    checked = se.verify(result, matrix)
    assert checked, str(checked)
    assert "by branch and bound" in str(checked)


def test_verification_of_the_other_end_and_of_the_bracket_itself():
    matrix = small_matrix(np.random.default_rng(5), 9, "indefinite")
    result = se.sparse_eigenvector(matrix, 3, which="smallest")
    assert se.verify(result, matrix)
    operator = scale_operator(se.operators.as_operator(matrix), -1.0)
    vector = SparseVector(result.support, result.vector[result.support])
    assert result.certificate.upper_bound == pytest.approx(-achieved_value(operator, vector))
