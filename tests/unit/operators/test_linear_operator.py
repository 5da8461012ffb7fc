"""SciPy's LinearOperator wherever a matrix is: the dense matrix's answers, or a sentence that says why not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import sparseigen as se
from sparseigen import errors
from sparseigen.operators import from_linear_operator
from tests.brute_force import brute_force, small_matrix


def by_products(matrix, dtype=np.float64) -> LinearOperator:
    return LinearOperator(matrix.shape, matvec=lambda v: matrix @ v, dtype=dtype)


@pytest.fixture(params=["gram", "indefinite"])
def matrix(request, rng):
    return small_matrix(rng, 12, request.param)


@pytest.mark.parametrize("which", ["largest", "smallest"])
def test_same_answers_as_the_dense_matrix(matrix, which) -> None:
    linear = by_products(matrix)
    for operator in (linear, aslinearoperator(matrix), from_linear_operator(linear, matrix.diagonal())):
        found, expected = (se.sparse_eigenvector(a, 4, which=which) for a in (operator, matrix))
        assert found.value == pytest.approx(expected.value)
        np.testing.assert_array_equal(found.support, expected.support)
        assert found.certificate.relative_gap == pytest.approx(expected.certificate.relative_gap, abs=1e-6)
    sign = 1.0 if which == "largest" else -1.0
    best = sign * brute_force(sign * matrix, 4)
    certificate = se.sparse_eigenvector(linear, 4, which=which).certificate
    assert certificate.lower_bound <= best <= certificate.upper_bound


@pytest.mark.filterwarnings("ignore::sparseigen.errors.IndefiniteWarning")  # one of the matrices is
def test_every_function_takes_one(matrix) -> None:
    linear = by_products(matrix)
    assert se.solve_exact(linear, 3).certificate.optimal
    assert se.upper_bound(linear, 3).upper_bound >= brute_force(matrix, 3)
    np.testing.assert_allclose(
        se.cardinality_path(linear, [1, 3, 6]).values, se.cardinality_path(matrix, [1, 3, 6]).values
    )
    found = [result.vector for result in se.sparse_components(linear, [3, 2], certify=False)]
    expected = [result.vector for result in se.sparse_components(matrix, [3, 2], certify=False)]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)
    np.testing.assert_allclose(se.explained_variance(linear, found), se.explained_variance(matrix, found))
    low, high = se.restricted_norm(linear, 3)
    assert low <= max(brute_force(matrix, 3), brute_force(-matrix, 3)) <= high
    assert bool(se.verify(se.sparse_eigenvector(matrix, 3), linear))


def test_where_data_are_asked_for(matrix) -> None:
    for wrong in (by_products(matrix), from_linear_operator(by_products(matrix)), se.covariance(matrix)):
        with pytest.raises(
            errors.UnsupportedOperatorError, match=r"which stands for a matrix; covariance.* takes data"
        ):
            se.covariance(wrong)
    path = se.cardinality_path(matrix @ matrix, range(1, 13), certify=False)
    held_out = matrix.T @ matrix + np.eye(12)
    assert path.suggest("held-out", held_out=by_products(held_out)) == path.suggest("held-out", held_out=held_out)


def test_parts_of_the_contract(matrix) -> None:
    operator = from_linear_operator(by_products(matrix))
    np.testing.assert_allclose(operator.to_dense(), matrix)
    np.testing.assert_array_equal(operator.diagonal(), matrix.diagonal())
    indices = np.array([2, 5], dtype=np.int64)
    np.testing.assert_allclose(operator.apply_support(indices, np.array([1.0, -2.0])), matrix[:, 2] - 2 * matrix[:, 5])
    np.testing.assert_allclose(operator.submatrix(indices, indices), matrix[np.ix_(indices, indices)])


def test_precision_of_the_products(rng) -> None:
    matrix = small_matrix(rng, 12, "gram").astype(np.float32)
    found = se.sparse_eigenvector(by_products(matrix, np.float32), 4)
    assert found.settings["dtype"] == "float32"
    exact = brute_force(matrix.astype(np.float64), 4)
    assert found.certificate.lower_bound <= exact <= found.certificate.upper_bound
    whole = by_products(np.array([[2, 1], [1, 3]]), np.int64)
    assert se.sparse_eigenvector(whole, 2).value == pytest.approx(np.linalg.eigvalsh([[2.0, 1.0], [1.0, 3.0]])[-1])


@pytest.mark.parametrize("scale", [1e-280, 1e280])
def test_extreme_scales(scale) -> None:
    matrix = se.datasets.load_pitprops().matrix * scale
    found = se.sparse_eigenvector(by_products(matrix), 5)
    assert found.value / scale == pytest.approx(3.406154946789761)


def test_large_ones_need_their_diagonal(rng) -> None:
    factor = rng.standard_normal((10, 5000))
    linear = LinearOperator(
        (5000, 5000), matvec=lambda v: factor.T @ (factor @ v), matmat=lambda v: factor.T @ (factor @ v), dtype=float
    )
    with pytest.raises(errors.UnsupportedOperatorError, match=r"5000 products; .*from_linear_operator\(linear, diag"):
        se.sparse_eigenvector(linear, 5)
    found = se.sparse_eigenvector(from_linear_operator(linear, (factor**2).sum(axis=0)), 5, certify=False)
    assert found.value == pytest.approx(se.sparse_eigenvector(sp.csr_array(factor.T @ factor), 5, certify=False).value)


@pytest.mark.parametrize(
    ("linear", "error", "message"),
    [
        (by_products(np.triu(np.ones((4, 4)))), errors.NotSymmetricError, "not symmetric: u'Av and v'Au differ"),
        (by_products(np.ones((3, 4))), errors.ShapeError, "shape 3 x 4; it must be square"),
        (by_products(np.eye(3) * 1j, complex), errors.DtypeError, "dtype complex128; it must be real"),
        (by_products(np.eye(3) * np.nan), errors.NonFiniteError, "NaN or infinite"),
        (by_products(np.zeros((3, 3))), errors.ZeroMatrixError, "nothing to find"),
    ],
)
def test_refusals(linear, error, message) -> None:
    with pytest.raises(error, match=message):
        se.sparse_eigenvector(linear, 2)


@pytest.mark.parametrize(
    ("diagonal", "error", "message"),
    [
        (np.ones(4), errors.InputError, r"diagonal\[1\] is 1, but the product with unit vector 1 says 2"),
        (np.ones(3), errors.ShapeError, "vector of length 4"),
        (["a"] * 4, errors.DtypeError, "real numbers"),
        ([1.0, 2.0, np.nan, 4.0], errors.NonFiniteError, "finite"),
    ],
)
def test_diagonals_that_are_not_the_matrix_s(diagonal, error, message) -> None:
    with pytest.raises(error, match=message):
        from_linear_operator(by_products(np.diag([1.0, 2.0, 3.0, 4.0])), diagonal)


def test_a_wrong_diagonal_is_found_when_its_column_is_read(rng) -> None:
    matrix = small_matrix(rng, 12, "gram")
    diagonal = matrix.diagonal().copy()
    diagonal[2] *= 0.5
    operator = from_linear_operator(by_products(matrix), diagonal)  # not among the columns looked at first
    for solve in (se.sparse_eigenvector, se.upper_bound, se.solve_exact):
        with pytest.raises(errors.InputError, match=r"diagonal\[2\] is .* but the product with unit vector 2 says"):
            solve(operator, 3)


def test_products_written_for_vectors_alone(matrix) -> None:
    shift = np.arange(12.0)
    shifted = LinearOperator((12, 12), matvec=lambda v: v @ matrix + shift * v, dtype=float)  # not for shape (p, 1)
    expected = se.sparse_eigenvector(matrix + np.diag(shift), 4)
    found = se.sparse_eigenvector(shifted, 4)
    assert found.value == pytest.approx(expected.value)
    np.testing.assert_array_equal(found.support, expected.support)


def test_products_that_are_not_real(matrix) -> None:
    for wrong in (lambda v: matrix @ v + 1j, lambda v: np.array(["a"] * 12)):
        with pytest.raises(errors.DtypeError, match=r"a product of the LinearOperator has dtype .*; it must be real"):
            se.sparse_eigenvector(LinearOperator((12, 12), matvec=wrong, dtype=float), 4)


def test_only_linear_operators() -> None:
    with pytest.raises(errors.UnsupportedOperatorError, match=r"expected a scipy.sparse.linalg.LinearOperator, got nd"):
        from_linear_operator(np.eye(3))


def test_a_rough_diagonal_widens_the_bracket(matrix) -> None:
    """A diagonal right to nine digits is accepted; what is proven with it must allow for the others."""
    rough = from_linear_operator(by_products(matrix), matrix.diagonal() * (1.0 - 4e-9))
    for cardinality in (1, 4):
        certificate = se.sparse_eigenvector(rough, cardinality).certificate
        assert certificate.lower_bound <= brute_force(matrix, cardinality) <= certificate.upper_bound
