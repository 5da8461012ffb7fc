"""Removal in groups: no support above the cutoff loses a variable, rows outside lie where they are said to."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates import group_removal
from sparseigen.certificates.group_removal import (
    GroupTest,
    Reduction,
    _Rows,
    proves_below,
    remove_groups,
    surround_closely,
)
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.split_rows import Surroundings
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from tests.brute_force import KINDS, small_matrix

SIZE = 9


@pytest.fixture(params=["held", "not held"])
def memory(request, monkeypatch):
    if request.param == "not held":
        monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 3)


def pose(matrix, cardinality):
    """The problem with a good answer, and every support's value in its scale."""
    operator = as_operator(matrix)
    supports = list(combinations(range(len(matrix)), cardinality))
    factor = 2.0 ** -float(np.frexp(np.abs(matrix).max())[1])  # LAPACK at ordinary scales
    values = [np.linalg.eigvalsh(matrix[np.ix_(s, s)] * factor)[-1] / factor for s in supports]
    best = np.array(supports[int(np.argmax(values))], dtype=np.int64)
    weights = np.linalg.eigh(matrix[np.ix_(best, best)] * factor)[1][:, -1]
    problem = BoundProblem(operator, cardinality, SparseVector(best, weights), achieved=max(values))
    return problem, supports, np.array([problem.scale_value(value) for value in values])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cardinality", range(2, SIZE))
@pytest.mark.parametrize("heavy", [3, 6, SIZE])
def test_no_support_above_the_cutoff_loses_a_variable(kind, cardinality, heavy, memory):
    matrix = small_matrix(np.random.default_rng(3 * cardinality), SIZE, kind)
    problem, supports, values = pose(matrix, cardinality)
    slack = 1e-9 * max(abs(values).max(), 1e-9)
    for share in (1.0, 0.8, 0.3):
        cutoff = float(np.quantile(values, share)) + slack
        around = surround_closely(problem, heavy, cutoff)
        reduction = Reduction(problem, around)
        assert reduction.lower(10) >= values.max() - 1e-12 * max(abs(values.max()), 1e-9)
        alive = set(reduction.find_survivors(cutoff).tolist())
        for support, value in zip(supports, values, strict=True):
            assert value <= cutoff or alive.issuperset(support)


def test_much_is_removed_where_the_answer_stands_out(rng, memory):
    data = rng.standard_normal((30, 60)) * np.linspace(3.0, 0.3, 60)
    result = se.solve_exact(se.covariance(data), 4)
    vector = SparseVector(result.support, result.vector[result.support])
    problem = BoundProblem(se.covariance(data), 4, vector, achieved=result.value)
    cutoff = problem.achieved * (1.0 + 1e-6)
    reduction = Reduction(problem, surround_closely(problem, 20, cutoff - problem.margin))
    assert reduction.lower(100) >= problem.achieved
    assert len(reduction.find_survivors(cutoff)) < 30
    assert set(result.support) <= set(reduction.find_survivors(0.999 * problem.achieved).tolist())


def test_nothing_is_removed_by_rows_above_the_cutoff(rng, memory, monkeypatch):
    problem, _, values = pose(small_matrix(rng, SIZE, "gram"), 3)
    reduction = Reduction(problem, surround_closely(problem, 3, values.max()))
    everything = list(range(SIZE))
    assert reduction.find_survivors(float(np.median(values)) * 0.1).tolist() == everything
    # What lies outside is larger than what is heavy: the rows there alone say so.
    matrix = np.diag([1.0, 1.0, 3.0, 3.0])
    upside_down = Surroundings(np.array([0, 1]), np.ones(4), 3.0 / 4.0)
    question = BoundProblem(as_operator(matrix), 2)
    assert Reduction(question, upside_down).find_survivors(0.5).tolist() == [0, 1, 2, 3]
    monkeypatch.setattr(group_removal, "MOST_PRODUCTS", 1)
    assert reduction.find_survivors(10.0 * values.max()).tolist() == everything


def test_rows_outside_lie_below_the_level_or_what_is_said(rng, memory):
    matrix = small_matrix(rng, 40, "gram")
    result = se.sparse_eigenvector(matrix, 5)
    vector = SparseVector(result.support, result.vector[result.support])
    problem = BoundProblem(as_operator(matrix), 5, vector, achieved=result.value)
    for count in (5, 10, 20, 40):
        around = surround_closely(problem, count, problem.achieved)
        outside = np.setdiff1d(np.arange(40), around.heavy)
        assert len(around.heavy) >= count
        products = np.abs(np.ldexp(matrix, -problem.exponent)) * around.weights
        np.fill_diagonal(products, 0.0)
        sums = np.sort(products, axis=1)[:, -4:].sum(axis=1)
        rows = (problem.diagonal + sums / around.weights)[outside]
        assert (rows <= around.outer).all()


def test_sums_brought_up_to_date_are_never_too_small(rng):
    matrix = small_matrix(rng, 30, "indefinite")
    problem = BoundProblem(as_operator(matrix), 6)
    weights = rng.uniform(0.1, 1.0, 30)
    rows = _Rows(problem, weights)
    assert rows.form(-np.inf)
    for raised in ([3, 4], [4, 9], [0, 9]):
        rows.raise_weights(np.array(raised), np.array([1.5, 3.0]))
        assert rows.form(-np.inf)
        assert rows.known.all()
        fresh = _Rows(problem, rows.weights)
        assert fresh.form(-np.inf)
        assert (rows.values >= fresh.values - 1e-12).all()
    assert rows.raised.tolist() == [0, 3, 4, 9]
    rows.raise_weights(np.arange(20), np.full(20, 2.0))
    assert not rows.known.any()


def test_no_time_no_rows(rng, monkeypatch):
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 3)
    problem = BoundProblem(se.covariance(rng.standard_normal((12, 30))), 4)
    problem.deadline = 0.0
    assert surround_closely(problem, 5, 1.0) is None


def test_a_matrix_lies_below_its_largest_eigenvalue_and_a_little():
    square = np.random.default_rng(0).standard_normal((50, 50))
    matrix = (square + square.T) / 2.0
    largest = float(np.linalg.eigvalsh(matrix)[-1])
    diagonal = matrix.diagonal().copy()
    assert proves_below(matrix, diagonal, largest * (1.0 + 1e-9))
    assert not proves_below(matrix, diagonal, largest * (1.0 - 1e-13))
    assert not proves_below(matrix, diagonal, float(diagonal.max()))


class Counting(GroupTest):
    """Groups of even numbers alone can be removed."""

    tried = 0

    def lies_below(self, group):
        self.tried += 1
        return bool((group % 2 == 0).all())


def test_halves_are_tried_until_nothing_gives(monkeypatch):
    empty = np.empty((0, 0))
    test = Counting(empty, empty[0:0].ravel(), empty.ravel(), empty, np.empty(0, dtype=np.int64), 1.0)
    order = np.r_[np.arange(0, 64, 2), np.arange(1, 64, 2)]
    assert remove_groups(test, order).tolist() == list(range(1, 64, 2))
    monkeypatch.setattr(group_removal, "BARREN", 2)
    test.tried = 0
    assert remove_groups(test, order[::-1]).tolist() == list(range(64))
    assert test.tried == 2
    assert remove_groups(test, order, out_of_time=lambda: True).tolist() == list(range(64))


def test_a_wider_and_a_narrower_split_go_on_from_the_one_before(rng, memory):
    data = rng.standard_normal((30, 60)) * np.linspace(2.0, 1.0, 60)
    result = se.sparse_eigenvector(se.covariance(data), 5)
    vector = SparseVector(result.support, result.vector[result.support])
    problem = BoundProblem(se.covariance(data), 5, vector, achieved=result.value)
    reduction = Reduction(problem, surround_closely(problem, 15, problem.achieved))
    first = reduction.lower(30)
    reduction.widen(10)
    assert len(reduction.around.heavy) >= 15
    reduction.widen(40)
    assert len(reduction.around.heavy) == max(40, len(reduction.around.heavy))
    assert problem.achieved <= reduction.lower(0) <= first * (1.0 + 1e-12)
    assert reduction.lower(30) <= first
    reduction.widen(60)
    assert reduction.around.outer == -np.inf
    kept = np.unique(np.concatenate([result.support, np.arange(0, 60, 2)]))
    question = BoundProblem(se.covariance(data).restricted(kept), 5, None, achieved=result.value)
    narrower = reduction.restricted(question, kept)
    assert question.achieved * (1.0 - 1e-12) <= narrower.lower(0)
    assert question.unscale_bound(narrower.lower(10)) <= problem.unscale_bound(first) * (1.0 + 1e-12)
    apart = Reduction(problem, surround_closely(problem, 15, problem.achieved))
    others = np.setdiff1d(np.arange(60), apart.around.heavy)
    if len(others):
        assert apart.restricted(BoundProblem(se.covariance(data).restricted(others), 5), others) is None


def test_a_split_that_stalls_takes_more_heavy_variables(rng, monkeypatch):
    """Noise, of which a few heavy variables say little: with more of them the bound falls, and still holds."""
    operator = se.covariance(rng.standard_normal((40, 120)))
    result = se.sparse_eigenvector(operator, 4, certify=False)
    vector = SparseVector(result.support, result.vector[result.support])
    problem = BoundProblem(operator, 4, vector, achieved=result.value)
    monkeypatch.setattr("sparseigen.certificates.split_rows.FEWEST", 20)
    asked = []
    widen = Reduction.widen
    monkeypatch.setattr(Reduction, "widen", lambda self, count: (asked.append(count), widen(self, count))[1])
    wide, _ = group_removal.split_and_search(problem, 4.0e9, 0.0)
    assert asked[0] == 40
    monkeypatch.setattr(group_removal, "LAPS", 2)
    narrow, _ = group_removal.split_and_search(problem, 4.0e9, 0.0)
    assert problem.achieved <= wide < narrow


@pytest.mark.parametrize(
    ("work", "wider"), [(1e12, 200), (0.0, 0), (24 * 120.0 * 150**2, 150), (24 * 120.0 * 120**2, 0)]
)
def test_heavy_variables_are_at_most_doubled_and_never_by_little(work, wider):
    held = SimpleNamespace(size=1000, holds_matrix=True)
    assert group_removal._widened(100, held, work) == wider


def test_rows_of_matrices_that_are_not_held_keep_to_their_memory():
    entries = group_removal.WIDER_ENTRIES
    for size, wider in ((entries // 150, 150), (entries // 120, 0), (1000, 200)):
        assert group_removal._widened(100, SimpleNamespace(size=size, holds_matrix=False), 1e12) == wider
