"""Matrices that are too large to be held, limits met at every stage, and interruptions before the first answer."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates.elimination import Node
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.errors import SolveInterrupted
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.branch_and_bound import find_survivors
from sparseigen.solvers.search_tree import make_children
from tests.brute_force import brute_force, small_matrix


@pytest.fixture
def operator(rng):
    """Columns of decreasing size: a few of them are all that matters."""
    return se.covariance(rng.standard_normal((12, 20)) * np.linspace(3.0, 0.1, 20))


@pytest.fixture
def not_held(monkeypatch):
    """Matrices of more than five variables are not held by certificates; the search holds up to twelve."""
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 5)
    for module in ("branch_and_bound",):
        monkeypatch.setattr(f"sparseigen.solvers.{module}.LARGEST_MATERIALISED", 12)


def nothing_proven(problem, effort):
    return np.inf, "none"


def test_search_after_presolve_from_blocks(rng, not_held, monkeypatch):
    operator = se.covariance(rng.standard_normal((40, 20)) * np.linspace(3.0, 0.1, 20))
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.smallest_bound", nothing_proven)
    best = brute_force(operator.to_dense(), 3)
    result = se.solve_exact(operator, 3)
    assert result.value == pytest.approx(best)
    assert result.certificate.lower_bound <= best <= result.certificate.upper_bound
    assert result.certificate.optimal
    assert result.stop_reason is se.StopReason.OPTIMAL
    assert result.certificate.method == "branch and bound"
    assert 3 < result.settings["presolved_size"] < 12


def test_too_many_variables_left_are_not_searched(rng, not_held, monkeypatch):
    """The bracket of the root stands, and the reason says that nothing was stopped by a limit."""
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.smallest_bound", nothing_proven)
    operator = se.covariance(rng.standard_normal((60, 20)))  # noise: probing removes next to nothing
    result = se.solve_exact(operator, 6)
    best = brute_force(operator.to_dense(), 6)
    assert result.settings["presolved_size"] > 12
    assert result.stop_reason is se.StopReason.COMPLETED
    assert result.certificate.method == "rows"
    assert result.settings["nodes"] == 0
    assert result.certificate.lower_bound <= best <= result.certificate.upper_bound


def test_presolve_alone_can_prove(not_held, monkeypatch):
    """One factor of uneven loadings: rows weighted by the answer are exact, rows as they are prove little."""
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.smallest_bound", nothing_proven)
    loadings = np.r_[4.0, 3.0, 2.0, np.zeros(9)]
    result = se.solve_exact(np.outer(loadings, loadings) + 0.1 * np.eye(12), 3, gap=1e-3)
    assert result.certificate.method == "presolve"
    assert result.settings["presolved_size"] == 0
    assert result.value == pytest.approx(29.1)
    assert result.value <= result.certificate.upper_bound <= 29.1 * (1.0 + 1e-3)


def test_presolve_removes_nothing_it_cannot_afford_to_look_at(operator, not_held, monkeypatch):
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.LARGEST_MATERIALISED", 5)
    best = se.solve_exact(operator, 3)
    problem = BoundProblem(operator, 3, SparseVector(best.support, best.vector[best.support]))
    cutoff = problem.scaled(0.999 * best.value)
    assert len(find_survivors(problem, cutoff, 4)) < 20
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.MOST_ROWS_ABOVE", 0)
    assert find_survivors(problem, cutoff, 4).tolist() == list(range(20))


def test_a_node_without_a_row_above_the_cutoff_branches_on_any_variable():
    node = Node(np.arange(4, dtype=np.int64), 1, np.array([1.0, 0.2, 0.9, 0.3]), 3.0, np.array([3.0, 1.0, 1.0, 1.0]))
    taken, left = make_children(node, 2.0)
    assert taken.members.tolist() == [0, 2, 1, 3]
    assert taken.n_inside == 2
    assert left.members.tolist() == [0, 1, 3]
    assert left.n_inside == 1


def test_time_is_over_before_the_search(monkeypatch):
    matrix = np.cov(np.random.default_rng(3).standard_normal((40, 60)), rowvar=False)
    result = se.solve_exact(matrix, 6, time_limit=1e-9)
    assert result.stop_reason is se.StopReason.TIME_LIMIT
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
    """The search runs on a scaled copy; its iterates' values are not the caller's, and are not handed out."""
    matrix = small_matrix(np.random.default_rng(5), 9, "gram")
    plain, scaled = se.solve_exact(matrix, 3), se.solve_exact(matrix * factor, 3)
    assert scaled.support.tolist() == plain.support.tolist()
    assert scaled.value / factor == pytest.approx(plain.value)
    assert scaled.history.tolist() == [scaled.value]
    assert scaled.certificate.optimal


def test_an_answer_found_late_is_taken(monkeypatch):
    """The heuristic is made to fail: the search finds the optimum by itself, and the bracket is about that answer."""
    from sparseigen.solvers import branch_and_bound as method

    def poor(operator, cardinality, options):
        outcome = method_solve(operator, cardinality, options)
        worst = np.sort(np.argsort(operator.diagonal())[:cardinality]).astype(np.int64)
        vector = SparseVector(worst, np.full(cardinality, cardinality**-0.5))
        return type(outcome)(vector, 0.0, outcome.stop_reason, 1, [0.0])

    method_solve = method.solve_truncated_power
    monkeypatch.setattr(method, "solve_truncated_power", poor)
    for kind in ("gram", "indefinite"):
        matrix = small_matrix(np.random.default_rng(7), 9, kind)
        result = se.solve_exact(matrix, 4)
        best = brute_force(matrix, 4)
        assert result.value == pytest.approx(best)
        assert result.certificate.lower_bound <= best * (1.0 + 1e-12)
        assert best * (1.0 - 1e-12) <= result.certificate.upper_bound
        assert result.certificate.method == "branch and bound"


def test_verification_searches_where_bounds_do_not_reach(monkeypatch):
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
    operator = se.operators.as_operator(matrix).negated()
    vector = SparseVector(result.support, result.vector[result.support])
    assert result.certificate.upper_bound == pytest.approx(-achieved_value(operator, vector))
