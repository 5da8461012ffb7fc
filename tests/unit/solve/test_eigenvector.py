"""Requests: what is checked once for all functions, what settings say, and where warnings point."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from fuzzing.carriers import Foreign
from fuzzing.truth import Truth
from sparseigen.errors import ConvergenceWarning, OptionError, PrecisionWarning, SolveInterrupted
from sparseigen.operators import as_operator
from sparseigen.solve.eigenvector import Request
from sparseigen.solvers import SOLVERS
from tests.common.checks import check_bracket

MATRIX = se.datasets.load_pitprops().matrix


def test_the_table_of_solvers_is_complete_where_it_is_defined() -> None:
    assert {"tpower", "exact", "pathspca", "gpower-l1"} <= set(SOLVERS)


def test_the_matrix_searched_is_the_one_asked_about() -> None:
    assert Request(MATRIX).unit == 1.0
    plain = Request(MATRIX)
    assert plain.searched is plain.problem is plain.operator
    negative = Request(MATRIX, which="smallest", candidates=[1, 4, 6])
    assert negative.unit == -1.0
    np.testing.assert_array_equal(negative.searched.to_dense(), -MATRIX[np.ix_([1, 4, 6], [1, 4, 6])])
    huge = Request(MATRIX * 2.0**300)
    assert huge.unit == 2.0 ** round(np.log2(huge.unit))
    np.testing.assert_array_equal(huge.searched.to_dense(), MATRIX * 2.0**300 * huge.unit)


def test_settings_say_what_was_chosen() -> None:
    settings = se.sparse_eigenvector(MATRIX, 3, which="smallest", rtol=1e-5, certify=False).settings
    assert settings["which"] == "smallest"
    assert settings["method"] == "tpower"
    assert settings["rtol"] == 1e-5
    assert settings["max_iterations"] == 1000


def test_warnings_point_to_the_caller() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        se.sparse_eigenvector(MATRIX, 5, max_iterations=1, polish=None, certify=False)
    assert {warning.filename for warning in caught} == {__file__}
    values = np.random.default_rng(0).standard_normal((200, 4))
    values[:, 0] = values[:, 1:].sum(axis=1) / 100.0 + 1e-7 * values[:, 0]
    operator = se.covariance(values.astype(np.float32))
    for call in (se.sparse_eigenvector, se.upper_bound):
        with pytest.warns(PrecisionWarning, match="is rounding") as said:
            call(operator, 4, which="smallest")
        assert {warning.filename for warning in said} == {__file__}


def test_callbacks_that_are_none_are_refused() -> None:
    for call in (se.sparse_eigenvector, se.solve_exact):
        with pytest.raises(OptionError, match="on_iteration=5 must be a function"):
            call(MATRIX, 3, on_iteration=5)


@pytest.mark.parametrize("which", ["largest", "smallest"])
def test_an_interruption_keeps_the_best_answer(which) -> None:
    def stop(iteration, vector, value) -> None:
        if iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(SolveInterrupted) as caught:
        se.sparse_eigenvector(MATRIX, 5, which=which, candidates=range(1, 13), on_iteration=stop)
    found = caught.value.result
    assert found.stop_reason.value == "interrupted"
    assert found.vector[0] == 0.0
    assert found.value == pytest.approx(found.vector @ MATRIX @ found.vector)
    assert caught.value.__suppress_context__


SHAPE = np.array([[3.0, -1.0, 0.5], [-1.0, 2.0, 0.25], [0.5, 0.25, -1.0]])


@pytest.mark.parametrize("scale", [1e-322, 1e-310, 1e-200, 1e160, 1e305])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, Foreign])
def test_every_function_takes_matrices_of_extreme_scale(form, scale):
    matrix = SHAPE * scale
    truth, given = Truth.of_matrix(matrix), form(matrix)
    for k in (1, 2, 3):
        check_bracket(se.sparse_eigenvector(given, k).certificate, truth, k)
        check_bracket(se.upper_bound(given, k), truth, k)
        check_bracket(se.solve_exact(given, k).certificate, truth, k)
    for result in se.cardinality_path(given, [1, 2, 3]):
        check_bracket(result.certificate, truth, result.cardinality)


def test_nonnegative_loadings_of_a_negative_matrix_are_a_single_variable():
    matrix = -np.ones((4, 4)) - np.diag([3.0, 2.0, 1.0, 2.0])
    result = se.sparse_eigenvector(matrix, 2, nonnegative=True)
    assert result.support.tolist() == [2]
    assert result.value == -2.0
    hollow = np.ones((3, 3)) - np.eye(3)
    assert se.sparse_eigenvector(hollow, 2, which="smallest", nonnegative=True).value == 0.0


def test_a_huge_entry_among_the_others_is_none_of_the_candidates_business(rng):
    matrix = np.zeros((6, 6))
    square = rng.standard_normal((5, 5))
    matrix[:5, :5] = square + square.T
    matrix[5, 5] = 1e290
    for which in ("largest", "smallest"):
        plain = se.sparse_eigenvector(matrix[:5, :5], 2, which=which)
        among = se.sparse_eigenvector(matrix, 2, which=which, candidates=range(5))
        assert among.value == pytest.approx(plain.value, rel=1e-12)
    exact = se.solve_exact(as_operator(matrix).restricted(np.arange(5)), 2)
    check_bracket(exact.certificate, Truth.of_matrix(matrix[:5, :5]), 2)


def test_the_smallest_end_of_massive_ties() -> None:
    result = se.sparse_eigenvector(np.ones((900, 900)), 450, which="smallest")
    assert result.certificate is not None
    assert result.certificate.lower_bound <= 0.0 <= result.certificate.upper_bound
    assert abs(result.value) < 1e-9
    assert np.count_nonzero(result.vector) <= 450
