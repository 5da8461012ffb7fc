"""The exact search: presolve, brackets at any moment, limits at every stage, interruptions, the method in the table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import OptionError, SolveInterrupted
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.truncated_power import solve_truncated_power
from tests.brute_force import brute_force, small_matrix


@pytest.fixture
def hard():
    """Noise, where the root bound leaves a wide gap."""
    return np.cov(np.random.default_rng(3).standard_normal((40, 60)), rowvar=False)


def test_time_limit_returns_a_valid_bracket(hard, bounds_alone):
    result = se.solve_exact(hard, 12, time_limit=0.05)
    assert result.stop_reason is se.results.StopReason.TIME_LIMIT
    assert result.certificate.lower_bound <= result.certificate.upper_bound
    assert result.certificate.relative_gap > 1e-6
    better = se.solve_exact(hard, 12, time_limit=2.0)
    assert better.certificate.upper_bound <= result.certificate.upper_bound
    assert better.settings["nodes"] > result.settings["nodes"]


@pytest.mark.parametrize("not_in_memory", [False, True])
def test_blocks_are_searched_before_the_tree(hard, not_in_memory, monkeypatch):
    """From a poor answer: the search finds the best one, reports every bracket, and needs no node of the tree."""

    def poor(operator, cardinality, options):
        outcome = solve_truncated_power(operator, cardinality, options)
        worst = np.sort(np.argsort(operator.diagonal())[:cardinality]).astype(np.int64)
        return replace(outcome, vector=SparseVector(worst, np.full(cardinality, cardinality**-0.5)), value=0.0)

    expected = se.solve_exact(hard, 5)
    assert expected.certificate.optimal
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.solve_truncated_power", poor)
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.list_bounds", no_bounds)
    if not_in_memory:
        monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 5)
    listener = StopAfter(-1)
    result = se.solve_exact(hard, 5, on_iteration=listener)
    assert result.value == pytest.approx(expected.value, rel=1e-12)
    assert result.certificate.optimal
    assert (result.certificate.method, result.settings["nodes"]) == ("block search", 0)
    assert listener.brackets


def test_interruption_between_searches_over_blocks(hard):
    """What has been proven so far is kept."""

    class Stop(StopAfter):
        def on_bracket(self, nodes, low, high):
            super().on_bracket(nodes, low, high)
            raise KeyboardInterrupt

    listener = Stop(-1)
    with pytest.raises(SolveInterrupted) as stopped:
        se.solve_exact(hard, 20, on_iteration=listener)
    (bracket,) = listener.brackets
    result = stopped.value.result
    assert result.certificate.upper_bound == pytest.approx(bracket[2])
    assert result.certificate.lower_bound <= result.value * (1.0 + 1e-12)


def test_gap_stops_early(hard):
    result = se.solve_exact(hard, 4, gap=0.2)
    assert result.stop_reason is se.results.StopReason.GAP
    assert 1e-6 < result.certificate.relative_gap <= 0.2


class StopAfter:
    """A callback that presses Ctrl-C after some calls and listens to the bracket."""

    def __init__(self, calls):
        self.calls, self.brackets = calls, []

    def __call__(self, iteration, vector, value):
        self.calls -= 1
        if self.calls == 0:
            raise KeyboardInterrupt

    def on_bracket(self, nodes, low, high):
        self.brackets.append((nodes, low, high))


@pytest.mark.parametrize("calls", [1, 40, 200, 400])
def test_interruption_carries_a_valid_bracket(hard, calls, bounds_alone):
    best = se.sparse_eigenvector(hard, 12, certify=False).value
    with pytest.raises(SolveInterrupted) as stopped:
        se.solve_exact(hard, 12, on_iteration=StopAfter(calls))
    result = stopped.value.result
    assert result.stop_reason is se.results.StopReason.INTERRUPTED
    assert result.certificate.lower_bound <= result.value * (1.0 + 1e-12)
    assert result.certificate.upper_bound >= best * (1.0 - 1e-12)
    assert np.isfinite(result.certificate.upper_bound)


def test_interruption_through_the_table_of_solvers(hard, bounds_alone):
    with pytest.raises(SolveInterrupted) as stopped:
        se.sparse_eigenvector(hard, 12, method="exact", on_iteration=StopAfter(300))
    assert stopped.value.result.certificate.upper_bound > stopped.value.result.value


def test_brackets_only_narrow(hard, bounds_alone):
    listener = StopAfter(-1)
    se.solve_exact(hard, 4, gap=0.05, on_iteration=listener)
    lows, highs = np.array([b[1] for b in listener.brackets]), np.array([b[2] for b in listener.brackets])
    assert len(listener.brackets) >= 1
    assert (np.diff(lows) >= 0.0).all()
    assert (np.diff(highs) <= 1e-12).all()
    assert (lows <= highs).all()


def test_method_exact_with_candidates_and_smallest(rng):
    matrix = small_matrix(rng, 9, "indefinite")
    result = se.sparse_eigenvector(matrix, 3, method="exact")
    assert result.value == pytest.approx(brute_force(matrix, 3))
    assert result.certificate.optimal
    allowed = [0, 2, 3, 5, 8]
    within = se.sparse_eigenvector(matrix, 3, method="exact", candidates=allowed)
    assert within.value == pytest.approx(brute_force(matrix[np.ix_(allowed, allowed)], 3))
    lowest = se.sparse_eigenvector(matrix, 3, method="exact", which="smallest")
    assert lowest.value == pytest.approx(-brute_force(-matrix, 3))
    assert lowest.certificate.lower_bound <= lowest.value <= lowest.certificate.upper_bound + 1e-12
    with pytest.raises(OptionError, match="cannot keep loadings nonnegative"):
        se.sparse_eigenvector(matrix, 3, method="exact", nonnegative=True)


def test_warm_start_and_inputs_untouched(rng):
    matrix = small_matrix(rng, 8, "gram")
    matrix.flags.writeable = False
    start = np.ones(8)
    result = se.solve_exact(matrix, 3, warm_start=start)
    assert result.value == pytest.approx(brute_force(matrix, 3))
    assert np.array_equal(start, np.ones(8))


@pytest.mark.parametrize(("option", "value"), [("time_limit", 0.0), ("time_limit", -1.0), ("gap", -1e-3), ("gap", "a")])
def test_options_are_checked(option, value):
    with pytest.raises(OptionError, match=option):
        se.solve_exact(np.eye(3), 1, **{option: value})


def test_ties_and_duplicates_are_proven():
    ones = np.ones((12, 12))
    result = se.solve_exact(ones, 5)
    assert result.value == pytest.approx(5.0)
    assert result.certificate.optimal
    assert se.solve_exact(np.eye(12), 5).certificate.optimal
    graph = np.zeros((6, 6))
    graph[0, 1] = graph[1, 0] = 1.0
    assert se.solve_exact(graph, 1).certificate.optimal  # an optimum of exactly zero


@pytest.fixture
def not_held(monkeypatch):
    """Matrices of more than five variables are not held by certificates; the search holds up to twelve."""
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 5)
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.LARGEST_MATERIALISED", 12)


def no_bounds(operator, effort):
    return []


def test_search_after_presolve_from_blocks(rng, not_held, monkeypatch, bounds_alone):
    operator = se.covariance(rng.standard_normal((40, 20)) * np.linspace(3.0, 0.1, 20))
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.list_bounds", no_bounds)
    best = brute_force(operator.to_dense(), 3)
    result = se.solve_exact(operator, 3)
    assert result.value == pytest.approx(best)
    assert result.certificate.lower_bound <= best <= result.certificate.upper_bound
    assert result.certificate.optimal
    assert result.stop_reason is se.results.StopReason.BRACKET_CLOSED
    assert result.certificate.method == "branch and bound"
    assert 3 < result.settings["presolved_size"] < 12


def test_too_many_variables_left_are_not_searched(rng, not_held, monkeypatch):
    """The bound is lowered as long as there is time; a search would take more memory than it may."""
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.list_bounds", no_bounds)
    operator = se.covariance(rng.standard_normal((60, 20)))  # noise: next to nothing can be removed
    result = se.solve_exact(operator, 6, time_limit=0.5)
    best = brute_force(operator.to_dense(), 6)
    assert result.settings["presolved_size"] > 12
    assert result.stop_reason is se.results.StopReason.TIME_LIMIT
    assert result.certificate.method == "split rows"
    assert result.settings["nodes"] == 0
    assert result.certificate.lower_bound <= best <= result.certificate.upper_bound


def test_what_the_time_does_not_allow_is_not_begun(rng, not_held, monkeypatch):
    """No rows can be formed and no search made: the reason says that no limit stopped anything."""
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.list_bounds", no_bounds)
    monkeypatch.setattr("sparseigen.certificates.group_removal.PRODUCTS_PER_SECOND", 1e-3)
    operator = se.covariance(rng.standard_normal((60, 20)))
    result = se.solve_exact(operator, 6)
    assert result.stop_reason is se.results.StopReason.COMPLETED
    assert result.certificate.method == "trace"
    assert result.certificate.lower_bound <= brute_force(operator.to_dense(), 6) <= result.certificate.upper_bound


def test_presolve_alone_can_prove(not_held, monkeypatch):
    """One factor of uneven loadings: rows weighted by the answer are exact, rows as they are prove little."""
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.list_bounds", no_bounds)
    monkeypatch.setattr("sparseigen.certificates.group_removal.Reduction.lower", lambda self, steps: np.inf)
    loadings = np.r_[4.0, 3.0, 2.0, np.zeros(9)]
    result = se.solve_exact(np.outer(loadings, loadings) + 0.1 * np.eye(12), 3, gap=1e-3)
    assert result.certificate.method == "presolve"
    assert result.settings["presolved_size"] == 0
    assert result.value == pytest.approx(29.1)
    assert result.value <= result.certificate.upper_bound <= 29.1 * (1.0 + 1e-3)


def test_time_is_over_before_the_search(bounds_alone):
    matrix = np.cov(np.random.default_rng(3).standard_normal((40, 60)), rowvar=False)
    result = se.solve_exact(matrix, 6, time_limit=1e-9)
    assert result.stop_reason is se.results.StopReason.TIME_LIMIT
    assert result.settings["nodes"] == 0
    assert result.certificate.lower_bound <= result.value * (1.0 + 1e-12) < result.certificate.upper_bound


@pytest.mark.parametrize("best", [None, SparseVector(np.arange(4), np.full(4, 0.5))])
def test_an_interruption_before_any_answer_leaves_one_variable(best, monkeypatch):
    """A vector with more than k variables, as methods have them on their way, is no answer."""

    def interrupted(operator, cardinality, options):
        options.progress.best = best
        raise KeyboardInterrupt

    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.solve_truncated_power", interrupted)
    matrix = small_matrix(np.random.default_rng(5), 9, "gram")
    with pytest.raises(SolveInterrupted) as stopped:
        se.solve_exact(matrix, 3)
    result = stopped.value.result
    assert result.support.tolist() == [int(matrix.diagonal().argmax())]
    assert result.value == pytest.approx(matrix.diagonal().max())
    assert result.certificate.lower_bound <= brute_force(matrix, 3) <= result.certificate.upper_bound


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**900])
def test_scales_at_which_squares_leave_the_range(factor):
    """The search runs on a scaled copy; the values of its iterates are handed out in the caller's units."""
    matrix = small_matrix(np.random.default_rng(5), 9, "gram")
    plain, scaled = se.solve_exact(matrix, 3), se.solve_exact(matrix * factor, 3)
    assert scaled.support.tolist() == plain.support.tolist()
    assert scaled.value / factor == pytest.approx(plain.value)
    np.testing.assert_allclose(scaled.history / factor, plain.history, rtol=1e-9)
    assert scaled.certificate.optimal
