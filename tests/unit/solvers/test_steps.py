"""Single steps of the methods against their definitions, and what they report on their way."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import as_operator
from sparseigen.operators.contract import PowerRun, SparseVector
from sparseigen.solvers.eigenpairs import best_on_support, leading_eigenvectors, lower_end, warm_eigenpair
from sparseigen.solvers.elastic_net import LARGEST_SAME, SAME, _next_exit, _same_level, follow_lasso_path
from sparseigen.solvers.generalized_power import _pivots
from sparseigen.solvers.greedy import GREEDY


@pytest.fixture
def data(rng):
    data = rng.standard_normal((40, 15))
    data[:, 3:8] += 3.0 * rng.standard_normal((40, 1))
    return data


def test_all_eigenvectors_are_left_to_lapack_whatever_the_size(data, monkeypatch) -> None:
    """Lanczos cannot give all of them, nor all but one."""
    operator = as_operator(np.cov(data.T))
    wanted = np.linalg.eigh(operator.to_dense())[1][:, ::-1]
    monkeypatch.setattr("sparseigen.solvers.eigenpairs.LARGEST_DECOMPOSED", 4)
    for count in (14, 15):
        found = leading_eigenvectors(operator, count)
        np.testing.assert_allclose(np.abs(found.T @ wanted[:, :count]), np.eye(count), atol=1e-10)


def test_rsvd_reports_its_sparse_vectors_only(data) -> None:
    """The start is the dense eigenvector, which is no answer; every later iterate is one, and is heard of."""
    heard = []
    result = se.sparse_eigenvector(
        np.cov(data.T), 4, method="rsvd", certify=False, on_iteration=lambda *step: heard.append(step)
    )
    assert len(heard) == result.n_iterations - 1 == len(result.history) - 1 >= 1
    assert all(0 < np.count_nonzero(vector) <= 4 for _, vector, _ in heard)
    assert [value for *_, value in heard] == pytest.approx(result.history[1:])


@pytest.mark.parametrize("method", ["pca", "threshold"])
def test_loadings_of_the_leading_eigenvector_take_one_step(data, method) -> None:
    heard = []
    result = se.sparse_eigenvector(
        np.cov(data.T), 4, method=method, certify=False, on_iteration=lambda *step: heard.append(step)
    )
    assert result.n_iterations == len(result.history) == len(heard) == 1
    assert result.stop_reason is se.results.StopReason.COMPLETED
    np.testing.assert_allclose(np.abs(heard[0][1]), np.abs(result.vector))


def test_lanczos_from_the_start_is_for_large_supports_of_any_sign_only(rng, monkeypatch) -> None:
    matrix = rng.standard_normal((12, 12))
    operator = as_operator(matrix + matrix.T)
    start = SparseVector(np.arange(12), np.full(12, 12**-0.5))
    warm = "sparseigen.solvers.eigenpairs.warm_eigenpair"
    top = np.linalg.eigvalsh(operator.to_dense())[-1]
    with monkeypatch.context() as patch:
        patch.setattr(warm, lambda *_: pytest.fail("LAPACK solves small problems"))
        assert best_on_support(operator, start)[1] == pytest.approx(top, rel=1e-13)
    monkeypatch.setattr("sparseigen.solvers.eigenpairs.LARGEST_DIRECT", 4)
    signed, value = best_on_support(operator, start)
    assert value == pytest.approx(top, rel=1e-10)
    assert signed.weights.min() < 0.0 < signed.weights.max()
    positive, value = best_on_support(operator, start, nonnegative=True)
    assert positive.weights.min() >= 0.0
    assert start.weights @ operator.to_dense() @ start.weights <= value < top


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0"])
def test_gpower_takes_the_better_of_the_patterns_beside_a_cardinality_it_skips(method) -> None:
    """One variable of large variance, then four that enter together: penalties leave one or five, never three."""
    matrix = np.ones((5, 5))
    matrix[0] = matrix[:, 0] = 0.5 * 2.0**0.5
    matrix[0, 0] = 2.0
    result = se.sparse_eigenvector(matrix, 3, method=method, certify=False)
    assert result.settings["truncated_from"] == 5
    assert result.value == pytest.approx(3.0)  # one variable alone has 2


def polar(block):
    left, _, right = np.linalg.svd(block, full_matrices=False)
    return left @ right


@pytest.mark.parametrize("weights", ["decreasing", [1.0, 0.4]])
@pytest.mark.parametrize("penalty", ["l1", "l0"])
def test_block_gpower_is_the_papers_on_the_data(rng, penalty, weights) -> None:
    """Algorithms 4 and 5 as printed, with weights that differ; the pattern is theirs."""
    data = rng.standard_normal((40, 12))
    data[:, :4] += 3.0 * rng.standard_normal((40, 1))
    data[:, 4:8] += 2.0 * rng.standard_normal((40, 1))
    centred = (data - data.mean(axis=0)) / np.sqrt(39.0)
    norm = np.linalg.norm(centred, axis=0).max()
    gamma = np.array([0.2, 0.04]) * (norm if penalty == "l1" else norm**2)
    mu = np.array([1.0, 0.5 if weights == "decreasing" else 0.4])
    first = int(np.linalg.norm(centred, axis=0).argmax())
    rest = centred - np.outer(centred[:, first], centred[:, first] @ centred) / (centred[:, first] @ centred[:, first])
    z = polar(centred[:, [first, int(np.linalg.norm(rest, axis=0).argmax())]])
    for _ in range(500):
        images = centred.T @ z * mu
        if penalty == "l1":
            shrunk = np.sign(images) * np.maximum(np.abs(images) - gamma, 0.0)
        else:
            shrunk = images * (images**2 > gamma)
        z = polar(centred @ (shrunk * mu))
    found = se.sparse_components(
        se.covariance(data), [12, 12], method=f"gpower-{penalty}", deflation="block", rtol=1e-12,
        method_options={"gamma": [0.2, 0.04], "weights": weights}, certify=False,
    )  # fmt: skip
    for result, column in zip(found, shrunk.T, strict=True):
        assert 0 < len(result.support) < 12
        np.testing.assert_array_equal(result.support, np.flatnonzero(column))


def test_default_starts_include_the_papers_where_some_variances_are_zero(data) -> None:
    matrix = np.zeros((16, 16))
    matrix[:15, :15] = np.cov(data.T)
    tried = se.sparse_eigenvector(matrix, 4, certify=False).settings["starts_tried"]
    assert {"max-variance", "top-k-variance", "warm"} <= set(tried)


def test_loadings_stay_nonnegative_where_lanczos_would_be_followed_by_lapack(rng, monkeypatch) -> None:
    for module in ("eigenpairs", "truncated_power"):
        monkeypatch.setattr(f"sparseigen.solvers.{module}.LARGEST_DIRECT", 4)
    matrix = rng.standard_normal((14, 14))
    matrix = matrix @ matrix.T
    free = se.sparse_eigenvector(matrix, 8, certify=False)
    assert free.vector.min() < 0.0
    best = np.linalg.eigvalsh(matrix[np.ix_(free.support, free.support)])[-1]
    assert free.value == free.history[-1] == pytest.approx(best, rel=1e-14)
    positive = se.sparse_eigenvector(matrix, 8, certify=False, nonnegative=True)
    assert positive.vector.min() >= 0.0
    assert positive.value == pytest.approx(positive.vector @ matrix @ positive.vector)


def test_block_starts_are_the_pivots_of_a_qr_decomposition(rng) -> None:
    from scipy.linalg import qr

    factor = 0.03 * rng.standard_normal((20, 8)) * np.linspace(0.5, 2.0, 8)  # variances below one
    block = _pivots(as_operator(factor.T @ factor), 5)
    np.testing.assert_array_equal(block.argmax(axis=0), qr(factor, pivoting=True, mode="r")[1][:5])
    np.testing.assert_array_equal(np.sort(block, axis=0)[-1], 1.0)
    assert np.count_nonzero(block) == 5


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_lower_end_from_products_is_just_below_the_smallest_eigenvalue(scale, monkeypatch) -> None:
    monkeypatch.setattr("sparseigen.solvers.eigenpairs.LARGEST_DENSE", 4)
    values = scale * np.r_[-3.0, np.linspace(-1.0, 5.0, 30)]
    assert -3.02 * scale <= lower_end(as_operator(np.diag(values))) <= -3.0 * scale * (1.0 - 1e-4)
    monkeypatch.setattr("sparseigen.solvers.eigenpairs.LARGEST_DENSE", 40)
    assert -3.0 * scale * (1.0 + 1e-11) <= lower_end(as_operator(np.diag(values))) < -3.0 * scale


def test_a_start_that_leads_nowhere_is_cut_to_its_largest_entries() -> None:
    start = np.array([0.0, 0.0, 0.1, -0.9, 0.4])
    result = se.sparse_eigenvector(
        np.diag([2.0, 1.0, 0.0, 0.0, 0.0]), 2, start=start, polish=None, certify=False
    )  # A x = 0
    assert result.stop_reason is se.results.StopReason.FIXED_POINT
    np.testing.assert_allclose(np.abs(result.vector), np.array([0.0, 0.0, 0.0, 0.9, 0.4]) / 0.97**0.5)


def correlated(rng):
    """Variables leave again, and correlations outside grow faster than the level falls."""
    return rng.standard_normal((15, 10)) + 3.0 * rng.standard_normal((15, 1)) * rng.standard_normal(10)


def duplicated(rng):
    """Pairs come and go at the same level."""
    return np.repeat(rng.standard_normal((15, 5)), 2, axis=1)


def whole_numbers(rng):
    """Levels coincide."""
    return rng.integers(-1, 2, (15, 10)).astype(float)


@pytest.mark.parametrize("table", [correlated, duplicated, whole_numbers])
def test_lasso_path_of_variables_that_come_and_go_together(table) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data = table(rng)
        gram, target = data.T @ data, data.T @ rng.integers(-2, 3, 15).astype(float)
        for level in (0.05, 0.5, 2.0):
            found = follow_lasso_path(as_operator(gram), target, 0.1, level, 10)
            slope = target - gram @ found - 0.1 * found
            active = found != 0.0
            np.testing.assert_allclose(slope[active], level * np.sign(found[active]), atol=1e-7)
            assert (np.abs(slope[~active]) <= level * (1 + 1e-7)).all()


def test_lasso_path_with_more_ties_than_variables_allowed() -> None:
    np.testing.assert_allclose(
        follow_lasso_path(as_operator(np.eye(3)), np.array([1.0, 1.0, 0.5]), 0.0, 0.2, 3), [0.8, 0.8, 0.3]
    )
    found = follow_lasso_path(as_operator(np.ones((6, 6))), np.ones(6), 0.1, 0.0, 3)
    np.testing.assert_allclose(found, [1.0 / 3.1] * 3 + [0.0] * 3)
    result = se.sparse_eigenvector(np.ones((6, 6)), 3, method="spca", certify=False)
    assert result.value == pytest.approx(3.0)
    assert result.stop_reason == "value_stalled"


@pytest.mark.parametrize("seed", range(8))
def test_rounding_does_not_choose_among_ties(seed: int) -> None:
    noise = 1.0 + 1e-14 * np.random.default_rng(seed).standard_normal(6)
    found = follow_lasso_path(as_operator(np.ones((6, 6))), noise, 0.1, 0.0, 3)
    assert np.flatnonzero(found).tolist() == [0, 1, 2]


def test_levels_are_the_same_to_what_rounding_leaves() -> None:
    assert _same_level(np.diag([1e-8, 1e-8])) == SAME
    nearly = _same_level(np.ones((3, 3)) + 1e-6 * np.eye(3))
    assert 1e-9 < nearly < 1e-7
    for dependent in (np.ones((2, 2)), np.diag([1.0, 0.0])):
        assert _same_level(dependent) == LARGEST_SAME


def test_a_coefficient_that_does_not_move_never_leaves() -> None:
    still, moving = np.array([0.5, -0.2]), np.array([0.0, -0.1])
    assert _next_exit(still, moving, 3.0, np.array([False, False])) == (1, 2.0)
    assert _next_exit(still, moving, 3.0, np.array([False, True]))[1] == 0.0
    assert _next_exit(still, moving, 1.9, np.array([False, False]))[1] == 0.0
    assert _next_exit(still, moving, 2.0, np.array([False, False])) == (1, 2.0)  # two leave at the same level


def test_warm_eigenpair_without_a_start_is_lapacks(rng) -> None:
    matrix = rng.standard_normal((40, 40))
    matrix = matrix + matrix.T
    assert warm_eigenpair(matrix, np.zeros(40))[1] == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-13)


def test_an_operators_own_loop_is_used_where_nothing_has_to_be_watched(data, monkeypatch) -> None:
    matrix = np.cov(data.T)
    operator, asked = se.covariance(data), []
    monkeypatch.setattr(type(operator), "prepared_for", lambda self, n_products: self)

    def own(self, indices, weights, cardinality, **options):
        asked.append(options)
        return PowerRun(np.array([4, 5]), np.array([0.6, 0.8]), [1.0, 2.0], "value_stalled", 1)

    monkeypatch.setattr(type(operator), "truncated_power_run", own)
    options = {"start": "max-variance", "polish": None, "certify": False, "max_iterations": 700}
    result = se.sparse_eigenvector(operator, 2, **options)
    assert len(asked) == 1
    assert asked[0]["max_iterations"] == 700
    assert (result.stop_reason, result.support.tolist()) == (se.results.StopReason.VALUE_STALLED, [4, 5])
    heard = []
    watched = se.sparse_eigenvector(operator, 2, on_iteration=lambda *step: heard.append(step), **options)
    assert len(asked) == 1
    assert len(heard) == watched.n_iterations >= 1
    assert watched.value == pytest.approx(watched.vector @ matrix @ watched.vector)


def test_paths_of_supports_too_large_for_dense_problems(data, monkeypatch) -> None:
    """Large k x k problems are solved from products; the answers are those of the dense route."""
    matrix = np.cov(data.T)
    dense = se.cardinality_path(matrix, [2, 6, 8], certify=False)
    for module in ("eigenpairs", "warm_path"):
        monkeypatch.setattr(f"sparseigen.solvers.{module}.LARGEST_DENSE_PROBLEM", 4)
    products = se.cardinality_path(matrix, [2, 6, 8], certify=False)
    np.testing.assert_allclose(products.values, dense.values, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_full_greedy_scores_are_the_eigenvalues_of_the_enlarged_blocks(data, scale) -> None:
    matrix = scale * np.cov(data.T)
    chosen = [4, 9, 1]
    _, vectors = np.linalg.eigh(matrix[np.ix_(chosen, chosen)])
    scores = GREEDY["full"](matrix[:, chosen], matrix.diagonal(), chosen, vectors[:, -1])
    for j in set(range(15)) - set(chosen):
        block = matrix[np.ix_([*chosen, j], [*chosen, j])]
        assert scores[j] == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-10)


def test_settings_name_the_start_where_there_was_a_choice(data) -> None:
    matrix = np.cov(data.T)
    one = se.sparse_eigenvector(matrix, 4, start="max-variance", certify=False).settings
    assert one["start"] == "max-variance"
    assert not {"start_used", "starts_tried"} & one.keys()
    many = se.sparse_eigenvector(matrix, 4, certify=False).settings
    assert many["start_used"] in many["starts_tried"]


@pytest.mark.parametrize("method", ["gpower-l1", "gpower-l0"])
def test_gpower_reports_unit_vectors_and_their_values(data, method) -> None:
    matrix, heard = np.cov(data.T), []
    options = {"method_options": {"gamma": 0.2}, "certify": False}
    result = se.sparse_eigenvector(matrix, 15, method=method, on_iteration=lambda *s: heard.append(s), **options)
    assert len(heard) == len(result.history) >= 3
    for _, vector, _ in heard:
        assert np.linalg.norm(vector) == pytest.approx(1.0)
    for (_, vector, _), value in zip(heard[:-2], result.history[1:-1], strict=True):
        assert value == pytest.approx(vector @ matrix @ vector)  # what a step found is measured in the next one


@pytest.mark.parametrize("seed", range(5))
def test_nonnegative_weights_on_a_support_are_a_stationary_point(seed) -> None:
    """No product raises them: A w equals the value times w where w is positive, and is not positive elsewhere."""
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((8, 8)) * 0.3
    operator = as_operator(matrix @ matrix.T + np.eye(8) * 0.1)
    start = SparseVector(np.arange(8), np.full(8, 8**-0.5))
    found, value = best_on_support(operator, start, nonnegative=True)
    image = operator.to_dense() @ found.weights
    inside = found.weights > 1e-6
    np.testing.assert_allclose(image[inside], value * found.weights[inside], atol=1e-5 * value)
    assert (image[~inside] <= 1e-5 * value).all()


@pytest.mark.parametrize("seed", range(6))
def test_without_polishing_every_start_is_carried_on_until_it_settles(seed) -> None:
    """Whichever start wins, its vector is the leading eigenvector of its variables."""
    matrix = np.cov(np.random.default_rng(seed).standard_normal((20, 30)), rowvar=False)
    result = se.sparse_eigenvector(matrix, 6, polish=None, rtol=1e-13, max_iterations=5000, certify=False)
    best = np.linalg.eigvalsh(matrix[np.ix_(result.support, result.support)])[-1]
    assert result.value == pytest.approx(best, rel=1e-8)
