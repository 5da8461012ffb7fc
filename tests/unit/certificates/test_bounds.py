"""Each bound at its own claim: any weights, any dual points, any split prove a valid bound."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates import UPPER_BOUNDS, certify
from sparseigen.certificates.dual_points import dual_value, support_points
from sparseigen.certificates.elimination import Node, Tree, bound_node, reduced_bound
from sparseigen.certificates.factor import find_factor
from sparseigen.certificates.penalised_dual import ascend, neighbouring_forms
from sparseigen.certificates.portfolio import BoundSpec, smallest_bound
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.certificates.scaled_rows import scaled_row_values, starting_weights, trace_bound
from sparseigen.certificates.spectral import cholesky_defect, largest_eigenvalue_bound
from sparseigen.certificates.splitting import split_value, splits, splitting_bound
from sparseigen.errors import CardinalityError, OptionError
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from tests.brute_force import brute_force


def gram(rng, size=9, rank=5):
    rows = rng.standard_normal((size, rank))
    return rows @ rows.T


def test_any_weights_give_a_valid_row_bound(rng):
    matrix = rng.standard_normal((8, 8))
    matrix = matrix + matrix.T
    for cardinality in range(1, 9):
        problem = BoundProblem(as_operator(matrix), cardinality)
        optimum = brute_force(matrix, cardinality)
        for _ in range(20):
            bound, rows = scaled_row_values(problem, rng.random(8) + 1e-3)
            assert problem.unscaled(bound) >= optimum
            assert len(rows) == 8


def test_row_bound_with_the_perron_weights_is_the_eigenvalue(rng):
    matrix = np.abs(gram(rng, 6, 6))
    vector = np.abs(np.linalg.eigh(matrix)[1][:, -1])
    problem = BoundProblem(as_operator(matrix), 6)
    bound, _ = scaled_row_values(problem, vector)
    assert problem.unscaled(bound) == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-10)


def test_any_dual_points_give_a_valid_bound(rng):
    matrix = gram(rng)
    for cardinality in range(1, 10):
        problem = BoundProblem(as_operator(matrix), cardinality)
        factor = find_factor(problem)
        optimum = brute_force(matrix, cardinality)
        for scale in (0.0, 0.1, 1.0, 10.0):
            points = factor.rows + scale * rng.standard_normal(factor.rows.shape)
            assert problem.unscaled(dual_value(factor, points, cardinality)) >= optimum
        assert problem.unscaled(dual_value(factor, 0.0 * factor.rows, cardinality)) >= optimum


def test_closed_form_is_exact_on_a_planted_block():
    matrix = 0.01 * np.eye(12)
    matrix[:4, :4] += 1.0
    problem = BoundProblem(as_operator(matrix), 4)
    factor = find_factor(problem)
    direction = factor.rows[:4].sum(axis=0)
    direction /= np.linalg.norm(direction)
    shares = np.sort((factor.rows @ direction) ** 2)[::-1]
    points = support_points(factor.rows, direction, 0.5 * (shares[3] + shares[4]))
    assert problem.unscaled(dual_value(factor, points, 4)) == pytest.approx(4.01, rel=1e-9)


def test_ascent_tightens_and_never_crosses_its_limit(rng):
    matrix = gram(rng, 30, 6)
    problem = BoundProblem(as_operator(matrix), 5)
    factor = find_factor(problem)
    direction = np.linalg.svd(factor.rows)[2][0]
    shares = np.sort((factor.rows @ direction) ** 2)[::-1]
    steps = []
    for step in ascend(factor.rows, direction, 0.5 * (shares[4] + shares[5]), 5):
        steps.append(step)
        if len(steps) == 60:
            break
    best = min(step.bound for step in steps)
    assert best < steps[0].bound
    assert steps[-1].limit <= best * (1.0 + 1e-9)
    assert dual_value(factor, steps[-1].points, 5) == pytest.approx(steps[-1].bound, rel=1e-6)


def test_any_split_gives_a_valid_bound(rng):
    matrix = rng.standard_normal((8, 8))
    matrix = matrix + matrix.T
    optimum = brute_force(matrix, 3)
    problem = BoundProblem(as_operator(matrix), 3)
    for split in [np.zeros((8, 8)), problem.dense, *(0.3 * (s + s.T) for s in rng.standard_normal((5, 8, 8)))]:
        assert problem.unscaled(split_value(problem, split)) >= optimum
    first, *_, last = splits(problem.dense, 3)
    assert split_value(problem, last) < split_value(problem, first)


@pytest.mark.parametrize("size", [1, 2, 50, 200])
def test_eigenvalue_bound_is_above_and_close(size, rng):
    matrix = rng.standard_normal((size, size))
    matrix = matrix + matrix.T
    top = float(np.linalg.eigvalsh(matrix)[-1])
    bound = largest_eigenvalue_bound(matrix)
    assert top - 1e-13 * size <= bound <= top + 1e-9 * max(1.0, abs(top))
    assert largest_eigenvalue_bound(matrix, hopeless_above=top - 0.1) == np.inf


def test_failed_factorisation_proves_nothing():
    assert cholesky_defect(np.diag([1.0, -1e-3])) == np.inf


@pytest.mark.parametrize("size", [1, 127, 128, 129, 300])
def test_cholesky_by_panels_is_lapacks(size, rng):
    from sparseigen.certificates.spectral import _factorise

    half = rng.standard_normal((size, size))
    matrix = half @ half.T + np.eye(size)
    found = matrix.copy()
    assert _factorise(found)
    np.testing.assert_allclose(np.tril(found), np.linalg.cholesky(matrix), rtol=1e-9, atol=1e-9 * size)
    matrix[-1, -1] -= 1.01 / np.linalg.inv(matrix)[-1, -1]  # the last pivot is what tells
    assert not _factorise(matrix.copy())
    matrix[0, 0] = np.nan
    assert not _factorise(matrix)


def test_trace_bound_is_refused_where_it_does_not_hold():
    indefinite = np.array([[1.0, 5.0], [5.0, 1.0]])  # trace 2, eigenvalue 6
    assert trace_bound(BoundProblem(as_operator(indefinite), 2)) == np.inf
    problem = BoundProblem(as_operator(np.diag([3.0, 2.0, 1.0])), 2)
    assert problem.unscaled(trace_bound(problem)) == pytest.approx(5.0, rel=1e-12)


def test_achieved_value_is_below_the_quotient_of_any_length(rng):
    matrix = gram(rng)
    operator = as_operator(matrix)
    for scale in (1.0, 3.0, 1e-3):
        indices = np.array([0, 3, 5], dtype=np.int64)
        weights = rng.standard_normal(3) * scale
        exact = weights @ matrix[np.ix_(indices, indices)] @ weights / (weights @ weights)
        reached = achieved_value(operator, SparseVector(indices, weights))
        assert exact * (1.0 - 1e-13) <= reached < exact


@pytest.mark.parametrize("factor", [1e-305, 1e-200, 1.0, 1e200, 1e305])
def test_bounds_do_not_depend_on_units(factor, rng):
    matrix = gram(rng)
    certificate = se.upper_bound(matrix * factor, 3)
    plain = se.upper_bound(matrix, 3)
    assert certificate.upper_bound / factor == pytest.approx(plain.upper_bound, rel=1e-9)
    assert certificate.lower_bound / factor == pytest.approx(plain.lower_bound, rel=1e-9)


def test_efforts_are_ordered(rng):
    matrix = np.cov(rng.standard_normal((20, 30)), rowvar=False)
    cheap, default, tight = (se.upper_bound(matrix, 5, effort=effort) for effort in ("cheap", "default", "tight"))
    assert tight.upper_bound <= default.upper_bound <= cheap.upper_bound
    assert tight.relative_gap < 0.5 * cheap.relative_gap


@pytest.mark.parametrize("factor", [1.0, 1e300])
def test_zero_diagonal(factor, rng):
    """A graph: the size of the entries is not on the diagonal."""
    graph = np.triu(rng.random((30, 30)) < 0.3, 1) * factor
    certificate = se.upper_bound(graph + graph.T, 8)
    assert factor < certificate.lower_bound <= certificate.upper_bound < 8.0 * factor


def test_smallest_gets_a_lower_bound(rng):
    matrix = rng.standard_normal((8, 8))
    matrix = matrix + matrix.T
    certificate = se.sparse_eigenvector(matrix, 3, which="smallest").certificate
    optimum = -brute_force(-matrix, 3)
    assert certificate.lower_bound <= optimum <= certificate.upper_bound


def test_data_bound_equals_matrix_bound(rng):
    data = rng.standard_normal((12, 40)) @ np.diag(1.0 + rng.random(40))
    of_data, of_matrix = se.upper_bound(se.covariance(data), 4), se.upper_bound(np.cov(data, rowvar=False), 4)
    assert of_data.upper_bound == pytest.approx(of_matrix.upper_bound, rel=1e-9)


def test_blocks_when_the_matrix_is_too_large_to_hold(rng, monkeypatch):
    data = rng.standard_normal((15, 60)) * (1.0 + 3.0 * rng.random(60))
    operator = se.covariance(data)
    vector = se.sparse_eigenvector(operator, 3, certify=False)
    found = SparseVector(vector.support, vector.vector[vector.support])
    held = certify(operator, 3, found)
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 10)
    monkeypatch.setattr("sparseigen.operators.contract.BLOCK_ENTRIES", 7 * 60)
    assert BoundProblem(operator, 3).dense is None
    blocked = certify(operator, 3, found)
    assert blocked.lower_bound <= held.upper_bound
    assert blocked.upper_bound >= held.lower_bound
    assert blocked.relative_gap < 0.3


def test_errors_say_what_is_allowed():
    with pytest.raises(OptionError, match=r"effort='fast' is not known\. Allowed: 'cheap', 'default', 'tight'"):
        se.upper_bound(np.eye(3), 1, effort="fast")
    with pytest.raises(CardinalityError, match="cardinality=4 must be between 1 and the number of variables"):
        se.upper_bound(np.eye(3), 4)


def test_variables_that_remain_get_bounds_of_their_own():
    """The reduced bound is below what probing alone proves, and the method's name says which bound won."""
    rng = np.random.default_rng(1)
    data = rng.standard_normal((60, 30))
    data[:, :8] += 0.8 * rng.standard_normal((60, 1))
    operator = as_operator(np.cov(data.T))
    found = se.sparse_eigenvector(operator, 5)
    vector = SparseVector(found.support, found.vector[found.support])
    problem = BoundProblem(operator, 5, vector, achieved=achieved_value(operator, vector))
    tree = Tree(problem.dense, problem.diagonal, 5, problem.margin)
    root = Node(np.arange(30), 0, starting_weights(problem), np.inf, np.full(30, np.inf))
    root = bound_node(tree, root, problem.achieved * (1.0 + problem.target_gap), 12)
    assert 5 < len(root.members) < 30
    assert problem.achieved < reduced_bound(problem) < 0.99 * root.bound
    assert found.certificate.relative_gap > 1e-3
    assert found.certificate.method in UPPER_BOUNDS


@pytest.mark.parametrize("effort", ["cheap", "default", "tight"])
def test_an_effort_tries_its_own_bounds_and_takes_the_smallest(effort, monkeypatch):
    tried = []

    def returning(name, value):
        return lambda problem: tried.append(name) or value

    values = {name: 9.0 - place for place, name in enumerate(UPPER_BOUNDS)} | {"trace": 0.75}
    own = [name for name, spec in UPPER_BOUNDS.items() if effort in spec.efforts]
    table = {name: BoundSpec(returning(name, values[name]), spec.efforts) for name, spec in UPPER_BOUNDS.items()}
    monkeypatch.setattr("sparseigen.certificates.portfolio.UPPER_BOUNDS", table)
    problem = BoundProblem(as_operator(np.eye(3)), 2, achieved=0.5)
    upper, method = smallest_bound(problem, effort)
    assert tried == own
    assert method == "trace"
    assert 1.5 < upper < 1.5 * (1.0 + 1e-15)  # entries are scaled to one half
    problem = BoundProblem(as_operator(np.eye(3)), 2, achieved=1.5)  # what trace proves is reached
    tried.clear()
    assert smallest_bound(problem, effort)[1] == "trace"
    assert tried == own[: own.index("trace") + 1]


def test_a_bound_left_out_is_named_while_the_gap_is_open(monkeypatch):
    def left_out(problem):
        problem.left_out = "scaled rows left out: 3 columns of A"
        return 2.0

    def name(achieved, bound):
        monkeypatch.setattr("sparseigen.certificates.portfolio.UPPER_BOUNDS", {"rows": BoundSpec(bound, ("cheap",))})
        return smallest_bound(BoundProblem(as_operator(np.eye(3)), 2, achieved=achieved), "cheap")[1]

    assert name(1.0, left_out) == "rows (scaled rows left out: 3 columns of A)"
    assert name(4.0, left_out) == name(1.0, lambda problem: 2.0) == "rows"


def test_splitting_goes_on_while_the_bound_falls(rng):
    """What it returns is nearly the best that any of its splits proves."""
    matrix = np.cov(rng.standard_normal((10, 30)) * np.linspace(3.0, 1.0, 30), rowvar=False)
    problem = BoundProblem(as_operator(matrix), 4)
    every = [split_value(problem, split) for split in splits(problem.dense, 4)]
    bound = splitting_bound(problem)
    assert min(every) <= bound * (1.0 + 1e-12)
    assert bound < 1.0005 * min(every)
    assert every[0] > 1.002 * min(every)
    problem.achieved = 0.9 * bound  # a gap of a tenth is no reason to stop
    assert splitting_bound(problem) == bound
    problem.deadline = 0.0  # out of time: the first split stands
    assert splitting_bound(problem) >= bound
    assert splitting_bound(BoundProblem(as_operator(matrix), 30)) == np.inf


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("affordable", [4, 25, np.inf])
def test_indefinite_matrices_whose_columns_are_dear(affordable, factor, rng, monkeypatch):
    """The entries' size is known before any column is asked for; what is not asked for is said, and bounds hold."""
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_MATERIALISED", 5)
    matrix = rng.standard_normal((9, 9))
    matrix = (matrix + matrix.T) * (1.0 - np.eye(9)) * 1e5 * factor
    operator = as_operator(matrix)
    operator.affordable_columns = lambda: affordable
    problem = BoundProblem(operator, 3)
    assert problem.dense is None
    largest = float(np.abs(matrix).max())
    assert largest <= problem.scale <= 2.0 * largest
    found = se.sparse_eigenvector(matrix, 3, certify=False)
    certificate = certify(operator, 3, SparseVector(found.support, found.vector[found.support]))
    optimum = factor * brute_force(matrix / factor, 3)
    assert certificate.lower_bound <= optimum * (1.0 + 1e-12)
    assert certificate.upper_bound >= optimum * (1.0 - 1e-12)
    if affordable == 4:
        assert "left out" in certificate.method or certificate.upper_bound == np.inf
    else:
        assert certificate.upper_bound < 3.0 * optimum


def test_equal_variables_have_no_neighbouring_cardinality():
    """Any penalty keeps all of them or none: there is no closed form between."""
    rows = np.tile([0.3, 0.4], (12, 1))
    assert list(neighbouring_forms(rows, np.array([0.6, 0.8]), 5, 2.0)) == []


def test_neighbouring_cardinalities_prove_bounds_too(rng):
    matrix = gram(rng, 14, 4)
    problem = BoundProblem(as_operator(matrix), 5)
    factor = find_factor(problem)
    optimum = brute_force(matrix, 5)
    direction = np.linalg.svd(factor.rows)[2][0]
    forms = list(neighbouring_forms(factor.rows, direction, 5, np.inf))
    assert 1 <= len(forms) <= 4
    for form in forms:
        proven = dual_value(factor, form, 5)
        assert proven == pytest.approx(form.promise, rel=1e-6)
        assert problem.unscaled(proven) >= optimum


def test_room_for_a_certificate_is_asked_for_before_it_is_taken(monkeypatch):
    """The matrix, a copy to be factorised, and work space for sorting rows: three matrices of float64."""
    asked = []
    monkeypatch.setattr("sparseigen.certificates.problem.check_room", lambda *request: asked.append(request))
    BoundProblem(as_operator(np.eye(50)), 2)
    assert asked == [(3 * 8 * 50**2, "a certificate for 50 variables", "use certify=False")]
