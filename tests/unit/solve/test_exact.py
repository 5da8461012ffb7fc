"""The exact search and the bounds as functions: both ends of the spectrum, and how their certificates read."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen import errors
from sparseigen.results import StopReason
from tests.brute_force import brute_force, small_matrix

MATRIX = se.datasets.load_pitprops().matrix


@pytest.mark.parametrize("kind", ["gram", "indefinite"])
@pytest.mark.parametrize("cardinality", [1, 3, 8])
def test_both_ends_are_proven(kind, cardinality, rng) -> None:
    matrix = small_matrix(rng, 8, kind)
    largest = se.solve_exact(matrix, cardinality)
    smallest = se.solve_exact(matrix, cardinality, which="smallest")
    assert largest.value == pytest.approx(brute_force(matrix, cardinality))
    assert smallest.value == pytest.approx(-brute_force(-matrix, cardinality))
    assert largest.certificate.optimal
    assert smallest.certificate.optimal
    assert smallest.stop_reason is StopReason.BRACKET_CLOSED
    assert smallest.settings["which"] == "smallest"
    assert smallest.certificate.lower_bound <= smallest.value + 1e-12
    assert smallest.value <= smallest.certificate.upper_bound + 1e-12
    assert bool(se.verify(smallest, matrix))


@pytest.mark.parametrize("effort", ["cheap", "default", "tight"])
@pytest.mark.parametrize("kind", ["gram", "indefinite"])
def test_bounds_of_both_ends_hold(kind, effort, rng) -> None:
    matrix = small_matrix(rng, 9, kind)
    for k in (1, 4, 9):
        high = se.upper_bound(matrix, k, effort=effort)
        assert high.lower_bound <= brute_force(matrix, k) + 1e-12
        assert high.upper_bound >= brute_force(matrix, k) - 1e-12
        low = se.upper_bound(matrix, k, which="smallest", effort=effort)
        least = -brute_force(-matrix, k)
        assert low.lower_bound <= least + 1e-12
        assert low.upper_bound >= least - 1e-12


def test_the_smallest_end_is_the_negative_of_the_largest() -> None:
    for k in (2, 6):
        low, high = se.upper_bound(MATRIX, k, which="smallest"), se.upper_bound(-MATRIX, k)
        assert low.lower_bound == pytest.approx(-high.upper_bound, abs=1e-9)
        assert low.upper_bound == pytest.approx(-high.lower_bound, abs=1e-9)


def test_brackets_reported_on_the_way_are_in_order(rng) -> None:
    class Listener:
        def __init__(self) -> None:
            self.brackets: list[tuple[float, float]] = []

        def __call__(self, iteration, vector, value) -> None:
            pass

        def on_bracket(self, nodes, low, high) -> None:
            self.brackets.append((low, high))

    matrix = np.cov(rng.standard_normal((30, 25)).T)
    heard = Listener()
    result = se.solve_exact(matrix, 8, which="smallest", time_limit=5.0, on_iteration=heard)
    assert heard.brackets
    for low, high in heard.brackets:
        assert low <= result.value + 1e-9
        assert high >= result.certificate.lower_bound - 1e-9


def test_limits_are_in_the_settings() -> None:
    result = se.solve_exact(MATRIX, 3, time_limit=20.0, gap=1e-4)
    assert (result.settings["time_limit"], result.settings["gap"]) == (20.0, 1e-4)


def test_ends_that_are_none() -> None:
    for call in (se.solve_exact, se.upper_bound):
        with pytest.raises(errors.OptionError, match="which='both' is not known"):
            call(MATRIX, 3, which="both")


def test_stop_reasons_do_not_claim_optimality() -> None:
    assert not [reason for reason in StopReason if "optimal" in reason.value]


@pytest.mark.parametrize("name", ["time_limit"])
def test_exact_limits(name: str) -> None:
    with pytest.raises(errors.OptionError, match=f"{name}=0 must be above 0"):
        se.solve_exact(MATRIX, 3, **{name: 0})


def test_an_answer_is_a_start() -> None:
    matrix = se.datasets.load_pitprops().matrix
    found = se.sparse_eigenvector(matrix, 5, start="max-variance", polish=None)
    assert se.solve_exact(matrix, 5, warm_start=found).certificate.optimal
    assert se.sparse_eigenvector(matrix, 5, start=found).value >= found.value * (1.0 - 1e-12)
    for wrong, message in ((np.ones(4), "warm_start has shape"), (np.zeros(13), "Leave warm_start out")):
        with pytest.raises(errors.StartError, match=message):
            se.solve_exact(matrix, 5, warm_start=wrong)


@pytest.mark.parametrize("which", ["largest", "smallest"])
@pytest.mark.parametrize("factor", [1.0, 2.0**700])
def test_an_earlier_result_is_continued(which, factor) -> None:
    """Answer and bound are those of the earlier result or better, also where there is no time for anything."""
    matrix = np.cov(np.random.default_rng(3).standard_normal((40, 60)), rowvar=False) * factor
    first = se.solve_exact(matrix, 14, which=which, time_limit=0.3)
    second = se.solve_exact(matrix, 14, which=which, time_limit=1e-3, warm_start=first)
    assert not first.certificate.optimal
    low, high = first.certificate.lower_bound, first.certificate.upper_bound
    assert second.certificate.lower_bound >= low - 1e-15 * abs(low)
    assert second.certificate.upper_bound <= high + 1e-15 * abs(high)
    sign = 1.0 if which == "largest" else -1.0
    assert sign * second.value >= sign * first.value - 1e-12 * abs(first.value)


def test_bounds_of_more_variables_or_of_another_question(rng) -> None:
    """A bound for more variables holds; for fewer, of the other end or of some candidates it says nothing here."""
    matrix = small_matrix(rng, 9, "gram")
    wanted = brute_force(matrix, 4)
    others = [
        se.sparse_eigenvector(matrix, 3),
        se.sparse_eigenvector(matrix, 4, which="smallest"),
        se.sparse_eigenvector(matrix, 4, candidates=[0, 1, 2, 3, 4]),
        se.sparse_eigenvector(matrix, 4, certify=False),
        se.sparse_eigenvector(matrix, 6),
    ]
    for earlier in others:
        result = se.solve_exact(matrix, 4, warm_start=earlier)
        assert result.value == pytest.approx(wanted)
        assert result.certificate.optimal


def test_a_result_of_another_matrix_is_refused(rng) -> None:
    matrix = small_matrix(rng, 9, "gram")
    earlier = se.solve_exact(matrix, 3)
    with pytest.raises(errors.StartError, match="result of another matrix"):
        se.solve_exact(matrix + np.eye(9), 3, warm_start=earlier)
    assert se.solve_exact(matrix + np.eye(9), 3, warm_start=earlier.vector).certificate.optimal
