"""Row sums in float32: never below those in float64, also after weights changed, and shared by cardinalities."""

import numpy as np
import pytest

from sparseigen.certificates import rough_rows, scaled_rows
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rough_rows import RoughRows, find_rough_rows
from sparseigen.certificates.rounding import achieved_value
from sparseigen.operators import as_operator
from sparseigen.operators.build import covariance
from sparseigen.operators.contract import SparseVector

SIZE, SAMPLES, K = 90, 12, 7


@pytest.fixture(autouse=True)
def small_matrices_too(monkeypatch):
    monkeypatch.setattr(rough_rows, "SMALLEST", 0)


def pose(operator, cardinality=K):
    vector = SparseVector(np.arange(cardinality), np.full(cardinality, cardinality**-0.5))
    return BoundProblem(operator, cardinality, vector, achieved=achieved_value(operator, vector))


def draw(rng, scale=1.0):
    return scale * rng.standard_normal((SAMPLES, SIZE)) * np.exp(rng.standard_normal(SIZE))


@pytest.mark.parametrize("scale", [1.0, 1e90, 1e-90])
@pytest.mark.parametrize("held", [True, False])
def test_sums_of_data_are_never_too_small(rng, monkeypatch, scale, held):
    """Held or made again, of entries of any size: at least the exact sums, and close to them."""
    if not held:
        monkeypatch.setattr(rough_rows, "LARGEST_HELD", 10)
    problem = pose(covariance(draw(rng, scale)))
    rough = find_rough_rows(problem)
    assert rough is not None
    assert rough.held is held
    weights, rows = np.exp(rng.standard_normal(SIZE)), np.arange(SIZE)
    exact, _, _ = problem.row_sums(weights, rows)
    for _ in range(2):  # the second time from good guesses
        found = rough.bound_sums(weights, rows, K - 1)
        assert (found >= exact).all()
        np.testing.assert_allclose(found, exact, rtol=1e-3)


def test_a_given_matrix_is_rounded_once(rng):
    """Of a symmetric matrix that is no product of data."""
    matrix = rng.standard_normal((SIZE, SIZE))
    problem = pose(as_operator(matrix + matrix.T))
    weights, rows = np.exp(rng.standard_normal(SIZE)), np.array([3, 4, 80])
    found = RoughRows(problem).bound_sums(weights, rows, K - 1)
    exact, _, _ = problem.row_sums(weights, rows)
    assert (found >= exact).all()
    np.testing.assert_allclose(found, exact, rtol=1e-4)


def test_changed_weights_bring_sums_up_to_date(rng):
    """Some weights up, some down: the bounds hold and stay close; what was left out stays unknown."""
    problem = pose(covariance(draw(rng)))
    rough, rows = RoughRows(problem), np.arange(5, SIZE)
    weights = np.exp(rng.standard_normal(SIZE))
    assert rough.list_changes(weights, K - 1) is None
    rough.bound_sums(weights, rows, K - 1)
    assert rough.list_changes(weights, K) is None
    changed = np.array([2, 11, 30, 31])
    moved = weights.copy()
    moved[changed] *= [1.5, 3.0, 0.5, 1.1]
    np.testing.assert_array_equal(rough.list_changes(moved, K - 1), changed)
    found = rough.change_sums(moved, changed, K - 1)
    exact, _, _ = problem.row_sums(moved, np.arange(SIZE))
    assert np.isinf(found[:5]).all()
    assert (found[5:] >= exact[5:]).all()
    np.testing.assert_allclose(found[5:], exact[5:], rtol=0.05)
    assert len(rough.list_changes(moved, K - 1)) == 0


def test_infinite_weights_prove_nothing(rng):
    """Weights beyond the range of float32."""
    rough = RoughRows(pose(covariance(draw(rng))))
    assert np.isinf(rough.bound_sums(np.full(SIZE, 1e30), np.arange(3), 2)).all()
    assert (rough.bound_sums(np.ones(SIZE), np.arange(3), 0) == 0.0).all()


def test_problems_of_one_matrix_share_the_copy(rng):
    """At another cardinality the same float32 matrix serves."""
    problem = pose(covariance(draw(rng)))
    assert problem.vector is not None
    other = problem.at(K + 2, problem.vector, 1.0, np.inf)
    assert find_rough_rows(other) is find_rough_rows(problem)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_rows_that_are_made_again_prove_what_held_ones_do(rng, monkeypatch, k):
    """The bound of both ways lies above the answer, and weights that are raised alone do about as well."""
    operator = covariance(draw(rng))
    value = scaled_rows.scaled_row_bound(pose(operator, k))
    monkeypatch.setattr(rough_rows, "LARGEST_HELD", 10)
    problem = pose(operator, k)
    again = scaled_rows.scaled_row_bound(problem)
    assert problem.achieved <= again <= 1.5 * value
    assert problem.achieved <= value


def test_costly_passes_are_not_made(rng, monkeypatch):
    """Where one pass over the rows would take too long, there are no rough rows."""
    monkeypatch.setattr(rough_rows, "LARGEST_HELD", 10)
    monkeypatch.setattr(rough_rows, "MOST_WORK", 100.0)
    assert find_rough_rows(pose(covariance(draw(rng)))) is None
