"""Branching, and answers that the search itself finds."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates.elimination import Node
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.search_tree import make_children
from tests.brute_force import brute_force, small_matrix


def test_a_forced_variable_leaves_one_child():
    """Only row 0 is above the cutoff: every better support holds variable 0."""
    node = Node(np.arange(4, dtype=np.int64), 0, np.ones(4), 3.0, np.array([3.0, 1.0, 1.0, 1.0]))
    (taken,) = make_children(node, 2.0)
    assert taken.n_inside == 1
    assert taken.members[0] == 0


def test_a_node_without_a_row_above_the_cutoff_branches_on_any_variable():
    node = Node(np.arange(4, dtype=np.int64), 1, np.array([1.0, 0.2, 0.9, 0.3]), 3.0, np.array([3.0, 1.0, 1.0, 1.0]))
    taken, left = make_children(node, 2.0)
    assert taken.members.tolist() == [0, 2, 1, 3]
    assert taken.n_inside == 2
    assert left.members.tolist() == [0, 1, 3]
    assert left.n_inside == 1


def test_an_answer_found_late_is_taken(monkeypatch, bounds_alone):
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
