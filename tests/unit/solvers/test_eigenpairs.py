"""Leading eigenpairs of operators, on all variables and on supports."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers import eigenpairs
from sparseigen.solvers.eigenpairs import (
    LARGEST_DIRECT,
    SupportBlock,
    _lanczos_on_support,
    best_on_support,
    leading_eigenvectors,
    lower_end,
)


def test_support_block_is_the_submatrix_wherever_it_moves(rng) -> None:
    matrix = rng.standard_normal((20, 20))
    matrix = matrix + matrix.T
    block = SupportBlock(as_operator(matrix), 12)
    for _ in range(30):
        indices = np.sort(rng.choice(20, size=rng.integers(1, 13), replace=False)).astype(np.int64)
        block.move_to(indices)
        assert sorted(block.order.tolist()) == indices.tolist()
        np.testing.assert_array_equal(block.matrix, matrix[np.ix_(block.order, block.order)])


def test_leading_eigenvectors_of_large_matrices_come_from_products(data, monkeypatch) -> None:
    operator = as_operator(np.cov(data.T))
    wanted = np.linalg.eigh(operator.to_dense())[1][:, ::-1][:, :3]
    monkeypatch.setattr("sparseigen.solvers.eigenpairs.LARGEST_DECOMPOSED", 4)
    monkeypatch.setattr(type(operator), "to_dense", lambda self: pytest.fail("the matrix is too large to be formed"))
    found = leading_eigenvectors(operator, 3)
    np.testing.assert_allclose(np.abs(found.T @ wanted), np.eye(3), atol=1e-7)


def test_leading_eigenvectors_of_few_samples_come_from_their_gram_matrix(rng, monkeypatch) -> None:
    data = rng.standard_normal((9, 300))
    operator = se.covariance(data)
    wanted = np.linalg.eigh(np.cov(data.T))[1][:, ::-1][:, :3]
    arpack = "sparseigen.solvers.eigenpairs.run_arpack"
    with monkeypatch.context() as patch:
        patch.setattr(arpack, lambda *_, **__: pytest.fail("no products are needed"))
        found = leading_eigenvectors(operator, 3)
    np.testing.assert_allclose(np.abs(found.T @ wanted), np.eye(3), atol=1e-10)
    # Centring leaves rank eight: a ninth eigenvector is not in the Gram matrix.
    assert leading_eigenvectors(operator, 9).shape == (300, 9)


def test_all_eigenvectors_are_left_to_lapack_whatever_the_size(data, monkeypatch) -> None:
    """Lanczos cannot give all of them, nor all but one."""
    operator = as_operator(np.cov(data.T))
    wanted = np.linalg.eigh(operator.to_dense())[1][:, ::-1]
    monkeypatch.setattr("sparseigen.solvers.eigenpairs.LARGEST_DECOMPOSED", 4)
    for count in (14, 15):
        found = leading_eigenvectors(operator, count)
        np.testing.assert_allclose(np.abs(found.T @ wanted[:, :count]), np.eye(count), atol=1e-10)


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


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_lower_end_from_products_is_just_below_the_smallest_eigenvalue(scale, monkeypatch) -> None:
    monkeypatch.setattr("sparseigen.solvers.eigenpairs.LARGEST_DENSE", 4)
    values = scale * np.r_[-3.0, np.linspace(-1.0, 5.0, 30)]
    assert -3.02 * scale <= lower_end(as_operator(np.diag(values))) <= -3.0 * scale * (1.0 - 1e-4)
    monkeypatch.setattr("sparseigen.solvers.eigenpairs.LARGEST_DENSE", 40)
    assert -3.0 * scale * (1.0 + 1e-11) <= lower_end(as_operator(np.diag(values))) < -3.0 * scale


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


def test_large_supports_are_solved_from_products(rng: np.random.Generator) -> None:
    data = rng.standard_normal((30, 1100))
    operator = as_operator(np.cov(data.T))
    start = SparseVector(np.arange(1100), np.full(1100, 1100**-0.5))
    vector, value = best_on_support(operator, start)
    assert value == pytest.approx(np.linalg.eigvalsh(np.cov(data.T))[-1], rel=1e-8)
    assert np.linalg.norm(vector.weights) == pytest.approx(1.0)


def test_lanczos_that_finds_nothing_keeps_the_start_with_length_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.sparse.linalg import ArpackNoConvergence

    def fail(*_: object, **__: object) -> None:
        raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((4, 0)))

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", fail)
    operator, start = (
        as_operator(np.diag(np.arange(1.0, 7.0))),
        SparseVector(np.arange(4), np.array([0.0, 3.0, 0.0, 4.0])),
    )
    vector, value = _lanczos_on_support(operator, start, nonnegative=False)
    np.testing.assert_allclose(vector.weights, [0.0, 0.6, 0.0, 0.8])
    assert value == pytest.approx(0.36 * 2.0 + 0.64 * 4.0)


def test_nonnegative_weights_on_supports_beyond_the_direct_size(rng: np.random.Generator) -> None:
    size = LARGEST_DIRECT + 10
    half = rng.standard_normal((size, size))
    operator = as_operator(half @ half.T)
    start = SparseVector(np.arange(size), np.full(size, size**-0.5))
    vector, value = best_on_support(operator, start, nonnegative=True)
    assert (vector.weights >= 0.0).all()
    assert value >= start.weights @ half @ half.T @ start.weights
    _, free = best_on_support(operator, start)
    assert free > value


def test_leading_eigenvectors_where_arpack_fails(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    factor = rng.standard_normal((2, 300)) * 10.0 ** np.linspace(0.0, 60.0, 300)
    operator = as_operator(factor.T @ factor)
    monkeypatch.setattr(eigenpairs, "run_arpack", lambda *_, **__: (np.empty(0), np.empty((300, 0))))
    vectors = eigenpairs.leading_eigenvectors(operator, 2)
    values = np.linalg.eigvalsh(factor @ factor.T)[::-1]
    reached = np.diag(vectors.T @ operator.block_apply(vectors))
    assert reached[0] == pytest.approx(values[0], rel=1e-12)
    assert np.abs(vectors.T @ vectors - np.eye(2)).max() < 1e-12


def test_leading_eigenvectors_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigenpairs, "run_arpack", lambda *_, **__: (np.empty(0), np.empty((300, 0))))
    matrix = np.zeros((300, 300))
    matrix[0, 1] = matrix[1, 0] = 1.0  # no power step leaves the start: the variable 2
    vectors = eigenpairs.leading_eigenvectors(as_operator(matrix), 3)
    assert np.abs(vectors.T @ vectors - np.eye(3)).max() < 1e-12
