"""Numbers that broke a promise once. Each was found by `make fuzz`, and is kept small here."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from fuzzing.carriers import Foreign
from fuzzing.truth import Truth
from sparseigen.errors import NonFiniteError, RangeError, ZeroMatrixError
from sparseigen.graphs.bounds import UpperBounds
from sparseigen.graphs.model import IntegerGraph
from sparseigen.operators import as_operator


def check_bracket(certificate, truth, k):
    assert truth.is_upper_bound(certificate.upper_bound, k)[0]
    assert truth.is_reached(certificate.lower_bound, k)[0]


# --- data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_variances_of_blocks_keep_their_digits_far_from_zero(rows, rng):
    """Merging blocks by their rounded means lost as many digits as the mean has: certificates were wrong."""
    data = 1.0 + rng.standard_normal((12, 4)) * 1e-10
    blocks = [data[begin : begin + rows] for begin in range(0, len(data), rows)]
    truth = Truth.of_data(data, center=True, scale=False, ddof=1)
    operator = se.covariance(blocks, shape=data.shape)
    for k in range(1, 5):
        check_bracket(se.sparse_eigenvector(operator, k).certificate, truth, k)
    exact = np.array([row[i] / truth.weights[0] for i, row in enumerate(truth.numbers)])
    np.testing.assert_allclose(operator.diagonal(), exact, rtol=1e-11)


@pytest.mark.parametrize("factor", [1e36, 1e-44])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda data: [data[:4], data[4:]]])
def test_float32_data_whose_products_leave_its_range_are_refused(form, factor, rng):
    data = (rng.standard_normal((9, 3)) * factor).astype(np.float32)
    given = form(data)
    with pytest.raises(RangeError, match="float32 and its standard deviations go from"):
        se.covariance(given, **({"shape": data.shape} if isinstance(given, list) else {}))
    assert se.sparse_eigenvector(se.covariance(data.astype(np.float64)), 2).certificate is not None


def test_scales_that_underflow_are_refused(rng):
    with pytest.raises(RangeError, match="its squares underflow, so scale=True cannot divide by it"):
        se.covariance(rng.standard_normal((9, 3)) * 1e-160, scale=True)
    with pytest.raises(ZeroMatrixError, match="vary so little that squares underflow"):
        se.covariance(rng.standard_normal((9, 3)) * 1e-170)


def test_sparse_data_without_entries_are_refused():
    with pytest.raises(ZeroMatrixError, match="the covariance is zero"):
        se.covariance(sp.csr_array((5, 3)))


# --- matrices -----------------------------------------------------------------------------------------------------

SHAPE = np.array([[3.0, -1.0, 0.5], [-1.0, 2.0, 0.25], [0.5, 0.25, -1.0]])


@pytest.mark.parametrize("scale", [1e-322, 1e-310, 1e-200, 1e160, 1e305])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, Foreign])
def test_every_function_takes_matrices_of_extreme_scale(form, scale):
    matrix = SHAPE * scale
    truth, given = Truth.of_matrix(matrix), form(matrix)
    for k in (1, 2, 3):
        check_bracket(se.sparse_eigenvector(given, k).certificate, truth, k)
        check_bracket(se.upper_bound(given, k), truth, k)
        check_bracket(se.solve_exact(given, k).certificate, truth, k)
    for result in se.cardinality_path(given, [1, 2, 3]):
        check_bracket(result.certificate, truth, result.cardinality)


def test_lapack_gives_up_on_a_huge_entry_and_the_path_does_not():
    failing = 0
    for seed in range(120):
        square = np.random.default_rng(seed).standard_normal((5, 5))
        matrix = np.triu(square) + np.triu(square, 1).T
        matrix[0, 3] = matrix[3, 0] = 1e290
        try:
            np.linalg.eigh(matrix)
        except np.linalg.LinAlgError:
            failing += 1
            assert se.cardinality_path(matrix, [1, 5]).values[1] == pytest.approx(1e290)
    assert failing < 120  # most often none: it depends on the LAPACK at hand


def test_a_path_of_a_huge_matrix_has_its_values(rng):
    square = rng.standard_normal((6, 6))
    plain = se.cardinality_path(square @ square.T, range(1, 7), certify=False)
    huge = se.cardinality_path(np.ldexp(square @ square.T, 900), range(1, 7), certify=False)
    np.testing.assert_allclose(np.ldexp(huge.values, -900), plain.values, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.7e38, 1e-40])
def test_float32_matrices_of_extreme_scale_are_exact_in_float64(scale):
    matrix = (SHAPE / 3.0 * scale).astype(np.float32)
    assert as_operator(matrix).dtype == np.float64
    check_bracket(se.sparse_eigenvector(matrix, 2).certificate, Truth.of_matrix(matrix), 2)


def test_averaging_a_huge_matrix_does_not_overflow():
    matrix = np.array([[1.2e308, 1e290], [1e290 * (1 + 1e-15), 2.0]])
    check_bracket(se.sparse_eigenvector(matrix, 2).certificate, Truth.of_matrix(matrix), 2)


def test_averaging_denormal_numbers_is_part_of_the_margin():
    smallest = np.nextafter(0.0, 1.0)
    matrix = np.array([[0.0, 2e10 * smallest], [(2e10 + 1) * smallest, 0.0]])
    check_bracket(se.sparse_eigenvector(matrix, 2).certificate, Truth.of_matrix(matrix), 2)


def test_zero_columns_beside_the_largest_diagonal_entry_do_not_stop_the_default():
    matrix = np.diag([0.0, -1.0, -2.0])
    result = se.sparse_eigenvector(matrix, 1)
    assert result.value == 0.0
    assert se.upper_bound(matrix, 2).upper_bound >= 0.0


def test_nonnegative_loadings_of_a_negative_matrix_are_a_single_variable():
    matrix = -np.ones((4, 4)) - np.diag([3.0, 2.0, 1.0, 2.0])
    result = se.sparse_eigenvector(matrix, 2, nonnegative=True)
    assert result.support.tolist() == [2]
    assert result.value == -2.0
    hollow = np.ones((3, 3)) - np.eye(3)
    assert se.sparse_eigenvector(hollow, 2, which="smallest", nonnegative=True).value == 0.0


def test_a_huge_entry_among_the_others_is_none_of_the_candidates_business(rng):
    matrix = np.zeros((6, 6))
    square = rng.standard_normal((5, 5))
    matrix[:5, :5] = square + square.T
    matrix[5, 5] = 1e290
    for which in ("largest", "smallest"):
        plain = se.sparse_eigenvector(matrix[:5, :5], 2, which=which)
        among = se.sparse_eigenvector(matrix, 2, which=which, candidates=range(5))
        assert among.value == pytest.approx(plain.value, rel=1e-12)
    exact = se.solve_exact(as_operator(matrix).restricted(np.arange(5)), 2)
    check_bracket(exact.certificate, Truth.of_matrix(matrix[:5, :5]), 2)


def test_deflating_a_huge_matrix_is_refused():
    with pytest.raises(RangeError, match=r"deflation squares products of size 1e[+]290"):
        as_operator(np.diag([1e290, 1.0])).deflated(np.array([1.0, 0.0]))


def test_what_a_deflation_leaves_of_a_matrix_of_rank_one_is_refused():
    operator = as_operator(np.diag([1.0, 0.0])).deflated(np.array([1.0, 0.0]))
    with pytest.raises(ZeroMatrixError, match="every column of the matrix is zero"):
        se.upper_bound(operator, 1)


# --- graphs -------------------------------------------------------------------------------------------------------


def bracket_of(graph, k, **options):
    result = se.densest_k_subgraph(sp.csr_array(graph), k, **options)
    return result, Fraction(result.certificate.lower_bound), Fraction(result.certificate.upper_bound)


def test_densities_that_are_no_floats_are_bracketed_and_still_proven():
    """A third was rounded to the nearest float, at both ends alike: one of them was wrong."""
    path = np.diag([1, 1], 1) + np.diag([1, 1], -1)
    result, low, high = bracket_of(path, 3)
    assert low <= Fraction(4, 3) <= high
    assert low < high
    assert result.certificate.optimal
    assert result.certificate.relative_gap < 3e-16
    assert not se.densest_k_subgraph(sp.csr_array(np.ones((6, 6)) - np.eye(6)), 3).certificate.upper_bound > 2.0


def test_a_gap_of_one_unit_is_not_called_optimal_however_large_the_numbers():
    bounds = object.__new__(UpperBounds)
    bounds.names, bounds.which, bounds.values = ["pairs"], np.zeros(3, dtype=int), np.array([0, 0, 2**55 + 1])
    bounds.graph = IntegerGraph(None, None, 1.0, True)
    assert not bounds.certificate(3, 2**55).optimal
    assert bounds.certificate(3, 2**55 + 1).optimal


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e300])
def test_graphs_with_extreme_weights(scale):
    weights = np.array([[0.0, 0.3, 0.1], [0.3, 0.0, 0.7], [0.1, 0.7, 0.0]]) * scale
    _, low, high = bracket_of(weights, 2)
    assert low <= Fraction(weights[1, 2]) <= high


def test_weights_whose_sum_overflows_are_refused():
    with pytest.raises(NonFiniteError, match="their sum overflows"):
        se.densest_k_subgraph(sp.csr_array((np.ones((4, 4)) - np.eye(4)) * 1e308), 2)


def test_small_weights_beside_a_huge_one_keep_their_size():
    """Rounded up to whole units, three weights of 1e-16 used to count as three units of the huge one."""
    weights = np.zeros((5, 5))
    weights[0, 1] = weights[1, 0] = 1e20
    weights[2:, 2:] = 1e-16 * (1.0 - np.eye(3))
    result, low, _ = bracket_of(weights, 3, candidates=[2, 3, 4])
    assert result.density == pytest.approx(2e-16)
    assert low <= Fraction(6) * Fraction(1e-16) / 3


def test_averages_of_rounded_weights_are_rounded_twice():
    """Both directions were rounded up by a unit, and half of that was allowed for."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        weights = rng.random((6, 6)) * 10.0 ** rng.uniform(-18.0, 0.0, (6, 6))
        result, low, high = bracket_of(weights, 3)
        chosen = np.flatnonzero(result.indicator)
        inside = [Fraction(float(weights[i, j])) for i in chosen for j in chosen if i != j]
        assert low <= sum(inside) / 3 <= high


def test_integers_beyond_the_floats_are_rounded_up():
    weights = np.zeros((4, 4), dtype=np.int64)
    weights[0, 1] = weights[1, 0] = 2**60 + 1
    weights[2, 3] = weights[3, 2] = 2**60 - 1
    _, low, high = bracket_of(weights, 2)
    assert low <= 2**60 + 1 <= high


@pytest.mark.parametrize("size", [5, 6, 7])
def test_weights_near_the_smallest_number_are_divided_without_a_warning(size):
    weights = np.triu(np.full((size, size), 3e-310), 1)
    weights[0, 1] = 3.1e-310
    _, low, high = bracket_of(weights + weights.T, 2)
    assert low <= Fraction(3.1e-310) <= high
