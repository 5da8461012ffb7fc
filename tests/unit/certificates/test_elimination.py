"""Bounds of nodes, variables removed, and bounds on those that remain."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates import UPPER_BOUNDS
from sparseigen.certificates.elimination import Node, Tree, bound_node, reduced_bound
from sparseigen.certificates.penalised_dual import penalised_bound
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.scaled_rows import scaled_row_bound, starting_weights
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.search_tree import make_children
from tests.brute_force import brute_force, small_matrix


def test_variables_that_remain_get_bounds_of_their_own():
    """The reduced bound is below what probing alone proves, and the method's name says which bound won."""
    rng = np.random.default_rng(1)
    data = rng.standard_normal((60, 30))
    data[:, :8] += 0.8 * rng.standard_normal((60, 1))
    operator = as_operator(np.cov(data.T))
    found = se.sparse_eigenvector(operator, 5, start="auto")
    vector = SparseVector(found.support, found.vector[found.support])
    problem = BoundProblem(operator, 5, vector, achieved=achieved_value(operator, vector))
    tree = Tree(problem.dense, problem.diagonal, 5, problem.margin)
    root = Node(np.arange(30), 0, starting_weights(problem), np.inf, np.full(30, np.inf))
    root = bound_node(tree, root, problem.achieved * (1.0 + problem.target_gap), 12)
    assert 5 < len(root.members) < 30
    assert problem.achieved < reduced_bound(problem) < 0.99 * root.bound
    assert min(scaled_row_bound(problem), penalised_bound(problem)) > (1.0 + 1e-3) * problem.achieved
    assert found.certificate.method in UPPER_BOUNDS


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
