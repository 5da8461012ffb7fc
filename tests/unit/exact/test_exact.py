"""The exact search: presolve, brackets at any moment, limits, the method in the table of solvers."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates.elimination import Node, Tree, bound_node
from sparseigen.certificates.problem import BoundProblem
from sparseigen.errors import OptionError, SolveInterrupted
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.branch_and_bound import find_survivors
from sparseigen.solvers.search_tree import make_children
from tests.brute_force import brute_force, small_matrix


@pytest.fixture
def hard():
    """Noise, where the root bound leaves a wide gap."""
    return np.cov(np.random.default_rng(3).standard_normal((40, 60)), rowvar=False)


def test_every_support_of_a_node_is_below_its_bound(rng):
    matrix = small_matrix(rng, 9, "indefinite")
    tree = Tree(matrix, matrix.diagonal().copy(), 4, 0.0)
    members = np.array([2, 5, 0, 1, 3, 7, 8], dtype=np.int64)  # 2 and 5 are in, 4 and 6 are out
    node = bound_node(tree, Node(members, 2, np.ones(7), np.inf, np.full(7, np.inf)), -np.inf, 3)
    others = [0, 1, 3, 7, 8]
    best = max(
        np.linalg.eigvalsh(matrix[np.ix_([2, 5, a, b], [2, 5, a, b])])[-1] for a in others for b in others if a < b
    )
    assert node.bound >= best
    taken, left = make_children(node, -np.inf)
    assert (taken.n_inside, len(taken.members)) == (3, 7)
    assert (left.n_inside, len(left.members)) == (2, 6)
    assert sorted(taken.members) == sorted(members)


def test_a_forced_variable_leaves_one_child():
    """Only row 0 is above the cutoff: every better support holds variable 0."""
    node = Node(np.arange(4, dtype=np.int64), 0, np.ones(4), 3.0, np.array([3.0, 1.0, 1.0, 1.0]))
    (taken,) = make_children(node, 2.0)
    assert taken.n_inside == 1
    assert taken.members[0] == 0


def test_probing_keeps_every_better_support(rng):
    for seed in range(20):
        matrix = small_matrix(np.random.default_rng(seed), 10, "gram")
        best = brute_force(matrix, 3)
        tree = Tree(matrix, matrix.diagonal().copy(), 3, 0.0)
        members = np.arange(10, dtype=np.int64)
        node = bound_node(tree, Node(members, 0, np.ones(10), np.inf, np.full(10, np.inf)), 0.999 * best, 8)
        kept = node.members
        assert len(kept) >= 3
        assert brute_force(matrix[np.ix_(kept, kept)], 3) == pytest.approx(best)


def test_presolve_from_blocks_keeps_every_better_support(rng, monkeypatch):
    data = rng.standard_normal((12, 40)) * np.linspace(3.0, 0.1, 40)
    operator = se.covariance(data)
    result = se.solve_exact(operator, 3)
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 5)
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.LARGEST_MATERIALISED", 5)
    problem = BoundProblem(operator, 3, SparseVector(result.support, result.vector[result.support]))
    alive = find_survivors(problem, problem.scaled(0.999 * result.value), 4)
    assert len(alive) < 40
    assert set(result.support) <= set(alive.tolist())


def test_time_limit_returns_a_valid_bracket(hard):
    result = se.solve_exact(hard, 12, time_limit=0.05)
    assert result.stop_reason is se.StopReason.TIME_LIMIT
    assert result.certificate.lower_bound <= result.certificate.upper_bound
    assert result.certificate.relative_gap > 1e-6
    better = se.solve_exact(hard, 12, time_limit=2.0)
    assert better.certificate.upper_bound <= result.certificate.upper_bound
    assert better.settings["nodes"] > result.settings["nodes"]


def test_gap_stops_early(hard):
    result = se.solve_exact(hard, 4, gap=0.2)
    assert result.stop_reason is se.StopReason.GAP
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
def test_interruption_carries_a_valid_bracket(hard, calls):
    best = se.sparse_eigenvector(hard, 12, certify=False).value
    with pytest.raises(SolveInterrupted) as stopped:
        se.solve_exact(hard, 12, on_iteration=StopAfter(calls))
    result = stopped.value.result
    assert result.stop_reason is se.StopReason.INTERRUPTED
    assert result.certificate.lower_bound <= result.value * (1.0 + 1e-12)
    assert result.certificate.upper_bound >= best * (1.0 - 1e-12)
    assert np.isfinite(result.certificate.upper_bound)


def test_interruption_through_the_table_of_solvers(hard):
    with pytest.raises(SolveInterrupted) as stopped:
        se.sparse_eigenvector(hard, 12, method="exact", on_iteration=StopAfter(300))
    assert stopped.value.result.certificate.upper_bound > stopped.value.result.value


def test_brackets_only_narrow(hard):
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
