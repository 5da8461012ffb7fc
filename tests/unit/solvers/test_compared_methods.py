"""Every method through the one interface, and each one's own promise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import OptionError, UnsupportedOperatorError
from sparseigen.kernels.eigen import warm_eigenpair
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers import SOLVERS, SolverOptions
from sparseigen.solvers.eigenpairs import SupportBlock, leading_eigenvectors
from sparseigen.solvers.elastic_net import follow_lasso_path, solve_elastic_net_block
from sparseigen.solvers.generalized_power import _check_not_empty
from sparseigen.solvers.greedy import greedy_path
from sparseigen.solvers.thresholding import _threshold
from sparseigen.solvers.warm_path import _Climber

METHODS = sorted(SOLVERS)


@pytest.fixture
def data(rng):
    data = rng.standard_normal((40, 15))
    data[:, 3:8] += 3.0 * rng.standard_normal((40, 1))
    return data


def operators(data):
    table = np.where(np.abs(data) > 0.3, data, 0.0)
    return {
        "matrix": as_operator(np.cov(data.T)),
        "data": se.covariance(data),
        "sparse data": se.covariance(sp.csr_matrix(table)),
        "deflated": se.covariance(data).deflated(np.eye(15)[0]),
    }


@pytest.mark.parametrize("kind", ["matrix", "data", "sparse data", "deflated"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_every_operator(data, method, kind) -> None:
    operator = operators(data)[kind]
    result = se.sparse_eigenvector(operator, 5, method=method, certify=False)
    assert len(result.support) <= 5
    assert np.linalg.norm(result.vector) == pytest.approx(1.0)
    assert result.value == pytest.approx(result.vector @ operator.to_dense() @ result.vector)
    assert result.solver == method
    assert set(result.support) == {3, 4, 5, 6, 7}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cardinality", [1, 15])
def test_smallest_and_largest_cardinality(data, method, cardinality) -> None:
    matrix = np.cov(data.T)
    result = se.sparse_eigenvector(matrix, cardinality, method=method, certify=False)
    best = matrix.diagonal().max() if cardinality == 1 else np.linalg.eigvalsh(matrix)[-1]
    assert result.value <= best * (1.0 + 1e-12)
    assert result.value >= (0.99 if cardinality == 15 else 0.3) * best


@pytest.mark.parametrize("method", METHODS)
def test_answers_do_not_depend_on_the_scale_of_the_matrix(data, method) -> None:
    matrix = np.cov(data.T)
    one, other = (se.sparse_eigenvector(c * matrix, 4, method=method, certify=False) for c in (1.0, 1e6))
    np.testing.assert_allclose(one.vector, other.vector, atol=1e-6)


def test_unknown_method_options_are_named() -> None:
    with pytest.raises(OptionError, match=r"names 'gama'.*Allowed: 'gamma', 'relative', 'weights'"):
        se.sparse_eigenvector(np.eye(3), 2, method="gpower-l1", method_options={"gama": 0.1})
    with pytest.raises(OptionError, match="must be a dict"):
        se.sparse_eigenvector(np.eye(3), 2, method="gpower-l1", method_options=[0.1])


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0", "rsvd", "spca"])
def test_covariance_methods_refuse_indefinite_matrices(method) -> None:
    with pytest.raises(UnsupportedOperatorError, match=f"method='{method}' is defined for covariance"):
        se.sparse_eigenvector(np.diag([1.0, -1.0, 0.5]), 2, method=method)
    with pytest.raises(UnsupportedOperatorError, match="Methods for every symmetric matrix: backward, dspca"):
        se.sparse_eigenvector(np.eye(3), 2, method=method, which="smallest")


def gpower_on_data(data, gamma, penalty):
    """Algorithms 2 and 3 of Journée et al. as printed, on the data themselves."""
    norms = np.linalg.norm(data, axis=0)
    z = data[:, norms.argmax()] / norms.max()
    for _ in range(2000):
        images = data.T @ z
        if penalty == "l1":
            weights = np.sign(images) * np.maximum(np.abs(images) - gamma, 0.0)
        else:
            weights = images * (images**2 > gamma)
        z = data @ weights
        z /= np.linalg.norm(z)
    return np.flatnonzero(weights)


@pytest.mark.parametrize("penalty", ["l1", "l0"])
@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.6])
def test_gpower_on_the_operator_is_gpower_on_the_data(data, penalty, gamma) -> None:
    centred = (data - data.mean(axis=0)) / np.sqrt(39.0)
    norm = np.linalg.norm(centred, axis=0).max()
    expected = gpower_on_data(centred, gamma * (norm if penalty == "l1" else norm**2), penalty)
    result = se.sparse_eigenvector(
        se.covariance(data), 15, method=f"gpower-{penalty}", certify=False, rtol=1e-12, method_options={"gamma": gamma}
    )
    np.testing.assert_array_equal(result.support, expected)


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0"])
def test_gpower_never_exceeds_the_cardinality_even_on_ties(method) -> None:
    matrix = np.ones((6, 6))  # every penalty keeps all variables or none
    result = se.sparse_eigenvector(matrix, 2, method=method, certify=False)
    assert len(result.support) == 2
    assert result.value == pytest.approx(2.0)
    assert result.settings["truncated_from"] == 6


def test_gpower_penalties_are_checked(data) -> None:
    operator = se.covariance(data)
    for options, match in [({"gamma": 1.0}, "must be below 1"), ({"gamma": -0.1}, "finite and >= 0")]:
        with pytest.raises(OptionError, match=match):
            se.sparse_eigenvector(operator, 5, method="gpower-l1", method_options=options)
    with pytest.raises(OptionError, match="a list of 2"):
        se.sparse_components(
            operator, [5, 5], method="gpower-l1", deflation="block", method_options={"gamma": [0.1, 0.2, 0.3]}
        )


def test_lasso_path_meets_the_optimality_conditions(rng) -> None:
    data = rng.standard_normal((30, 12))
    gram, target, ridge = data.T @ data, data.T @ rng.standard_normal(30), 0.5
    for level in (0.2, 2.0, 8.0):
        found = follow_lasso_path(as_operator(gram), target, ridge, level, 12)
        slope = target - gram @ found - ridge * found
        active = found != 0.0
        np.testing.assert_allclose(slope[active], level * np.sign(found[active]), atol=1e-8)
        assert (np.abs(slope[~active]) <= level * (1 + 1e-9)).all()
    assert np.count_nonzero(follow_lasso_path(as_operator(gram), target, ridge, 0.0, 4)) <= 4


def test_elastic_net_solution_is_a_fixed_point(data) -> None:
    operator = as_operator(np.cov(data.T))
    options = SolverOptions(extra={"penalty": [1.0, 0.5], "ridge": 0.1})
    first, second = solve_elastic_net_block(operator, [15, 15], options)
    assert len(first.vector.indices) < 15
    assert len(second.vector.indices) < 15
    with pytest.raises(OptionError, match="leaves nothing of component 1"):
        solve_elastic_net_block(operator, [15], SolverOptions(extra={"penalty": 1e6}))


def test_full_greedy_adds_the_best_variable_each_time(data) -> None:
    matrix = np.cov(data.T)
    chosen: list[int] = []
    for vector, value in greedy_path(as_operator(matrix), 6, greedy="full"):
        entered = set(vector.indices.tolist()) - set(chosen)
        if chosen:
            values = [
                np.linalg.eigvalsh(matrix[np.ix_([*chosen, j], [*chosen, j])])[-1] for j in range(15) if j not in chosen
            ]
            assert value == pytest.approx(max(values))
        chosen += sorted(entered)
    assert len(chosen) == 6


def test_approximate_greedy_follows_its_definition(data) -> None:
    matrix = np.cov(data.T)
    chosen = [int(matrix.diagonal().argmax())]
    for vector, value in greedy_path(as_operator(matrix), 15):
        np.testing.assert_array_equal(vector.indices, sorted(chosen))
        values, vectors = np.linalg.eigh(matrix[np.ix_(chosen, chosen)])
        assert value == pytest.approx(values[-1])
        scores = np.abs(matrix[:, chosen] @ vectors[:, -1])
        scores[chosen] = -1.0
        chosen.append(int(scores.argmax()))


def test_dspca_bound_holds_and_is_close(data) -> None:
    matrix = np.cov(data.T)[:10, :10]
    best = max(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in combinations(range(10), 3))
    result = se.sparse_eigenvector(matrix, 3, method="dspca", certify=False)
    assert result.value <= best * (1.0 + 1e-12)
    assert best <= result.settings["dual_bound"] <= 1.1 * best


def test_dspca_refuses_large_matrices() -> None:
    with pytest.raises(UnsupportedOperatorError, match="up to 1000 variables, got 1001"):
        se.sparse_eigenvector(sp.identity(1001), 3, method="dspca")


def test_pca_with_all_variables_is_pca(data) -> None:
    matrix = np.cov(data.T)
    result = se.sparse_eigenvector(matrix, 15, method="pca", certify=False)
    assert result.value == pytest.approx(np.linalg.eigvalsh(matrix)[-1])


def test_threshold_is_at_least_pca_cut_to_the_same_variables(data) -> None:
    cut, refitted = (se.sparse_eigenvector(np.cov(data.T), 4, method=m, certify=False) for m in ("pca", "threshold"))
    np.testing.assert_array_equal(cut.support, refitted.support)
    assert refitted.value >= cut.value


@pytest.mark.parametrize("thresholding", ["soft", "hard"])
def test_rsvd_penalty_and_degree_of_sparsity(data, thresholding) -> None:
    operator = se.covariance(data)
    options = {"thresholding": thresholding}
    by_degree = se.sparse_eigenvector(operator, 5, method="rsvd", certify=False, method_options=options)
    assert len(by_degree.support) == 5
    by_penalty = se.sparse_eigenvector(
        operator, 15, method="rsvd", certify=False, method_options=options | {"penalty": 1.0}
    )
    assert set(by_penalty.support) == {3, 4, 5, 6, 7}
    with pytest.raises(OptionError, match="leaves nothing"):
        se.sparse_eigenvector(operator, 5, method="rsvd", method_options={"penalty": 1e9})


def test_warm_eigenpair_equals_lapack(rng) -> None:
    matrix = rng.standard_normal((80, 80))
    matrix = matrix + matrix.T
    values, vectors = np.linalg.eigh(matrix)
    for start in (vectors[:, -1] + 0.1 * rng.standard_normal(80), rng.standard_normal(80), vectors[:, 0]):
        vector, value = warm_eigenpair(matrix, start)
        assert value == pytest.approx(values[-1], rel=1e-12)
        assert abs(vector @ vectors[:, -1]) == pytest.approx(1.0, abs=1e-10)


def test_warm_eigenpair_leaves_an_uncoupled_block(rng) -> None:
    matrix = np.diag(np.r_[np.linspace(1.0, 2.0, 39), 3.0])
    start = np.r_[np.zeros(38), 1.0, 0.0]
    assert warm_eigenpair(matrix, start)[1] == pytest.approx(3.0, rel=1e-12)


def test_support_block_is_the_submatrix_wherever_it_moves(rng) -> None:
    matrix = rng.standard_normal((20, 20))
    matrix = matrix + matrix.T
    block = SupportBlock(as_operator(matrix), 12)
    for _ in range(30):
        indices = np.sort(rng.choice(20, size=rng.integers(1, 13), replace=False)).astype(np.int64)
        block.move_to(indices)
        assert sorted(block.order.tolist()) == indices.tolist()
        np.testing.assert_array_equal(block.matrix, matrix[np.ix_(block.order, block.order)])


def test_ridge_is_one_number(data) -> None:
    with pytest.raises(OptionError, match=r"ridge=\[0.1, 0.2\] must be one number >= 0"):
        se.sparse_eigenvector(np.cov(data.T), 4, method="spca", method_options={"ridge": [0.1, 0.2]})


def test_path_takes_answers_from_larger_and_smaller_cardinalities(rng) -> None:
    """A poor point between good neighbours is replaced, whichever side they are on."""
    matrix = 0.1 * np.eye(8)
    matrix[2:6, 2:6] += 1.0
    for good, poor, sweep in ((4, 3, "_sweep_down"), (3, 4, "_sweep_up")):
        climber = _Climber(as_operator(matrix), [3, 4])
        climber.climb(good, np.arange(2, 2 + good), np.ones(good))
        climber.best[poor] = (SparseVector(np.array([0, 1, 7, 6][:poor]), np.full(poor, poor**-0.5)), 0.1)
        assert getattr(climber, sweep)(1)
        assert climber.best[poor][1] == pytest.approx(poor + 0.1)
        assert not getattr(climber, sweep)(1)


def test_block_gpower_names_the_component_that_is_left_empty() -> None:
    block = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(OptionError, match=r"gamma=0.5 leaves nothing of component 2; lower it"):
        _check_not_empty(block, np.array([0.25, 0.5, 0.75]))
    _check_not_empty(block[:, :1], np.array([0.25]))


def test_dspca_accepts_as_many_variables_as_its_message_says(data, monkeypatch) -> None:
    monkeypatch.setattr("sparseigen.solvers.semidefinite.LARGEST_SIZE", 6)
    assert se.sparse_eigenvector(np.cov(data[:, :6].T), 2, method="dspca").value > 0.0
    with pytest.raises(UnsupportedOperatorError, match="accepts up to 6 variables, got 7"):
        se.sparse_eigenvector(np.cov(data[:, :7].T), 2, method="dspca")


def test_leading_eigenvectors_of_large_matrices_come_from_products(data, monkeypatch) -> None:
    operator = as_operator(np.cov(data.T))
    wanted = np.linalg.eigh(operator.to_dense())[1][:, ::-1][:, :3]
    monkeypatch.setattr("sparseigen.solvers.eigenpairs.LARGEST_DECOMPOSED", 4)
    monkeypatch.setattr(type(operator), "to_dense", lambda self: pytest.fail("the matrix is too large to be formed"))
    found = leading_eigenvectors(operator, 3)
    np.testing.assert_allclose(np.abs(found.T @ wanted), np.eye(3), atol=1e-7)


def test_soft_thresholding_shrinks_by_nothing_where_all_variables_are_kept() -> None:
    images = np.array([0.3, -0.4, 1.2])
    np.testing.assert_allclose(_threshold(images, 3, None, "soft").weights, images / np.linalg.norm(images))
    np.testing.assert_allclose(_threshold(images, 2, None, "soft").weights, np.array([-0.1, 0.9]) / 0.82**0.5)
