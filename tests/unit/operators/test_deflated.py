"""Deflations against their formulas, and the errors that they add."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import IndefiniteWarning, RangeError, StartError
from sparseigen.operators import as_operator
from sparseigen.operators.deflated import DEFLATIONS, LowRankUpdated, project_out
from sparseigen.operators.deflated_data import DeflatedData
from tests.common.entries import everything, within
from tests.common.operators import OPERATORS


def _projected(matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
    project = np.eye(len(x)) - np.outer(x, x)
    return project @ matrix @ project


FORMULAS = {
    "projection": _projected,
    "hotelling": lambda matrix, x: matrix - (x @ matrix @ x) * np.outer(x, x),
    "schur": lambda matrix, x: matrix - np.outer(matrix @ x, matrix @ x) / (x @ matrix @ x),
}


@pytest.mark.parametrize("name", ["dense", "data", "sparse-data", "memmap"])
@pytest.mark.parametrize("deflation", sorted(FORMULAS))
def test_deflation_equals_the_formula(deflation: str, name: str, rng: np.random.Generator) -> None:
    factor = rng.standard_normal((15, 8))
    expected = factor.T @ factor / 15
    operator = OPERATORS[name](factor)
    for _ in range(3):
        x = rng.standard_normal(8) * (rng.random(8) < 0.6)
        x[0] = 1.0
        x /= np.linalg.norm(x)
        operator = DEFLATIONS[deflation](operator, x * 5.0)
        expected = FORMULAS[deflation](expected, x)
        if deflation == "projection":
            assert np.abs(operator.block_apply(x[:, None])).max() < 1e-12
    np.testing.assert_allclose(operator.to_dense(), expected, atol=1e-12)
    np.testing.assert_allclose(operator.diagonal(), np.diag(expected), atol=1e-12)
    chosen, weights = np.array([0, 3, 5], dtype=np.int64), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(operator.apply_support(chosen, weights), expected[:, chosen] @ weights, atol=1e-11)
    np.testing.assert_allclose(operator.columns(chosen), expected[:, chosen], atol=1e-12)
    as_data = name == "data" and deflation != "hotelling"
    assert isinstance(operator, DeflatedData if as_data else LowRankUpdated)
    assert operator.describe()["components_taken_out"] == 3
    assert operator.describe()["deflation"] == deflation
    assert np.isfinite(operator.negative_part) == (name != "dense" and deflation != "hotelling")


def test_deflation_copies_no_matrix(rng: np.random.Generator) -> None:
    matrix = np.cov(rng.standard_normal((20, 30)).T)
    operator = as_operator(matrix)
    twice = operator.deflated(np.eye(30)[0]).deflated(np.eye(30)[1])
    assert isinstance(twice, LowRankUpdated)
    assert twice.base is operator
    assert np.shares_memory(twice.base.matrix, matrix)  # type: ignore[attr-defined]
    assert twice.left.shape == (30, 4)
    assert np.shares_memory(operator.shifted(1.0).base.matrix, matrix)  # type: ignore[attr-defined]


def test_deflation_refuses_zero() -> None:
    with pytest.raises(StartError, match=r"non-zero vector of length 3, got shape \(3,\), norm 0.0"):
        as_operator(np.eye(3)).deflated(np.zeros(3))


def test_deflation_counts_the_rounding_of_its_own_sums(rng):
    data = rng.standard_normal((30, 8))
    deflated = project_out(se.covariance(data), rng.standard_normal(8))
    centred = data.astype(np.longdouble) - data.astype(np.longdouble).mean(axis=0)
    left = deflated.left.astype(np.longdouble)
    exact = centred.T @ centred / 29 + left @ deflated.middle.astype(np.longdouble) @ left.T
    assert within(deflated, exact)
    assert float(deflated.entry_errors().max()) < 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_deflation_of_denormal_numbers_counts_what_underflows(seed):

    rng = np.random.default_rng(seed)
    matrix = np.ldexp(rng.integers(-60, 60, (6, 6)).astype(float), -1074)
    vector = np.zeros(6)
    vector[rng.choice(6, 3, replace=False)] = rng.standard_normal(3)
    deflated = as_operator(matrix + matrix.T).deflated(vector / np.linalg.norm(vector))

    def fractions(array):
        return [[Fraction(float(number)) for number in row] for row in array]

    base, left, middle = fractions(matrix + matrix.T), fractions(deflated.left), fractions(deflated.middle)
    found, errors = fractions(deflated.accurate_columns(everything(6))), deflated.entry_errors()
    inner = range(len(middle))
    for i in range(6):
        for j in range(6):
            exact = base[i][j] + sum(left[i][a] * middle[a][b] * left[j][b] for a in inner for b in inner)
            allowed = Fraction(float(errors[i])) * Fraction(float(errors[j]))
            assert (found[i][j] - exact) ** 2 <= allowed


def test_a_component_taken_out_twice_is_taken_out_once(rng):
    factor = rng.standard_normal((15, 6))
    vector = np.array([0.6, 0.0, 0.8, 0.0, 0.0, 0.0])
    deflate = DEFLATIONS["orthogonal-hotelling"]
    once = deflate(as_operator(factor.T @ factor), vector)
    assert deflate(once, vector) is once
    assert deflate(once, -3.0 * vector) is once


@pytest.fixture
def matrix(rng):
    data = rng.standard_normal((30, 12))
    return data.T @ data


def explicit(matrix, vectors, name):
    """The deflations as written in Mackey's paper, on the formed matrix."""
    directions = []
    for x in vectors:
        if name == "projection":
            rest = np.eye(len(x)) - np.outer(x, x)
            matrix = rest @ matrix @ rest
        elif name == "hotelling":
            matrix = matrix - (x @ matrix @ x) * np.outer(x, x)
        elif name == "schur":
            matrix = matrix - np.outer(matrix @ x, matrix @ x) / (x @ matrix @ x)
        else:
            q = x - sum((d @ x) * d for d in directions) if directions else x
            q = q / np.linalg.norm(q)
            directions.append(q)
            matrix = matrix - (q @ matrix @ q) * np.outer(q, q)
    return matrix


@pytest.mark.parametrize("name", sorted(DEFLATIONS))
def test_deflation_equals_the_formed_matrix(matrix, rng, name) -> None:
    vectors = rng.standard_normal((3, 12)) * (rng.random((3, 12)) < 0.5)
    vectors[:, 0] = 1.0
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    operator = as_operator(matrix)
    for x in vectors:
        operator = DEFLATIONS[name](operator, x)
    np.testing.assert_allclose(operator.to_dense(), explicit(matrix, vectors, name), atol=1e-10 * matrix.max())


def test_deflating_a_huge_matrix_is_refused():
    with pytest.raises(RangeError, match=r"deflation squares products of size 1e[+]290"):
        as_operator(np.diag([1e290, 1.0])).deflated(np.array([1.0, 0.0]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("deflation", ["projection", "schur"])
def test_what_a_change_leaves_of_a_covariance_is_as_semidefinite_as_it_says(seed, deflation):
    """The lowest eigenvalue of the matrix as stored is no lower than `negative_part`, which is tiny."""
    rng = np.random.default_rng(seed)
    operator = OPERATORS["sparse-data"](rng.standard_normal((9, 12)))
    for _ in range(3):
        x = rng.standard_normal(12) * (rng.random(12) < 0.4)
        x[int(rng.integers(12))] = 1.0
        operator = DEFLATIONS[deflation](operator, x)
    assert isinstance(operator, LowRankUpdated)
    lowest = float(np.linalg.eigvalsh(operator.to_dense())[0])
    assert -lowest <= operator.negative_part + 1e-14
    assert 0.0 < operator.negative_part < 1e-8 * operator.magnitude


def test_a_component_without_variance_is_projected_out_and_said():
    operator = as_operator(np.diag([2.0, -1.0, 0.0]))
    for place in (1, 2):
        x = np.eye(3)[place]
        with pytest.warns(IndefiniteWarning, match=r"the component has x'Ax = .*, so there is nothing to regress on"):
            left = DEFLATIONS["schur"](operator, x)
        np.testing.assert_array_equal(left.to_dense(), operator.deflated(x).to_dense())
        assert left.describe()["deflation"] == "projection"


def test_a_matrix_that_is_no_covariance_is_projected_and_said():
    """Regression would leave a variance of minus a thousand: (Ax)_i^2 is more than A_ii x'Ax."""
    operator, x = as_operator(np.array([[0.001, 1.0], [1.0, 0.001]])), np.array([1.0, 0.0])
    with pytest.warns(IndefiniteWarning, match="the matrix is not positive semidefinite"):
        left = DEFLATIONS["schur"](operator, x)
    np.testing.assert_array_equal(left.to_dense(), operator.deflated(x).to_dense())


def test_nothing_is_said_of_covariances(rng, recwarn):
    for name in ("dense", "data", "sparse-data"):
        operator = OPERATORS[name](rng.standard_normal((6, 10)))
        for _ in range(5):
            operator = DEFLATIONS["schur"](operator, se.sparse_eigenvector(operator, 3, certify=False).vector)
    assert not [warning for warning in recwarn if issubclass(warning.category, IndefiniteWarning)]
