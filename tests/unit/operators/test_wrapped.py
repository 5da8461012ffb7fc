"""Operators made of another one."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import as_operator
from sparseigen.operators.contract import LARGEST_PLAIN_EXPONENT, scale_exponent
from sparseigen.operators.wrapped import ShiftedOperator, scale_operator
from sparseigen.solve.eigenvector import find_search_unit
from tests.common.entries import within


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wrappers_carry_the_errors_on(dtype, rng):
    data = (rng.standard_normal((40, 9)) + 7.0).astype(dtype)
    exact = data.astype(np.longdouble)
    exact -= exact.mean(axis=0)
    exact = exact.T @ exact / 39
    operator = se.covariance(data)
    assert within(operator, exact)
    chosen = np.array([1, 4, 8], dtype=np.int64)
    assert within(operator.restricted(chosen), exact[np.ix_(chosen, chosen)])
    assert within(operator.shifted(2.5), exact + 2.5 * np.eye(9, dtype=np.longdouble))
    assert within(scale_operator(operator, -1.0), -exact)


@pytest.mark.parametrize("how", ["shifted", "restricted", "deflated"])
def test_what_a_wrapper_does_not_change_is_the_bases(how, tmp_path, rng):
    np.save(tmp_path / "x.npy", rng.standard_normal((30, 20)))
    base = se.covariance(tmp_path / "x.npy")
    wrapped = {
        "shifted": lambda: base.shifted(1.5),
        "restricted": lambda: base.restricted(np.arange(20)),
        "deflated": lambda: base.deflated(np.eye(20)[3]),
    }[how]()
    assert wrapped.costs == base.costs
    assert wrapped.costs.runs_per_pass > 1
    assert wrapped.names == base.names
    assert wrapped.describe().items() >= {"operator": "ChunkedData", "center": True}.items()
    before = base.passes_made
    wrapped.run_together([lambda i=i: wrapped.apply_support(np.array([i]), np.ones(1)) for i in range(5)])
    assert base.passes_made == before + 1


@pytest.mark.parametrize("exponent", [-300, -10, 0, 250, 300])
def test_the_scale_of_a_search_is_a_power_of_two_beyond_the_plain_range(exponent):
    magnitude = 0.75 * 2.0**exponent
    assert scale_exponent(magnitude) == (exponent if abs(exponent) > LARGEST_PLAIN_EXPONENT else 0)
    matrix = as_operator(np.diag([magnitude, magnitude / 3.0]))
    assert find_search_unit(matrix, "smallest") == -(2.0 ** -scale_exponent(magnitude))
    assert scale_operator(matrix, 1.0) is matrix
    twice = scale_operator(scale_operator(matrix.shifted(magnitude), 2.0), -0.5)
    np.testing.assert_array_equal(twice.to_dense(), -matrix.shifted(magnitude).to_dense())


def test_forms_and_row_sums_of_wrapped_matrices_are_those_of_their_columns(rng):
    """What a wrapper takes from its base, against the contract's default, which looks at columns."""
    base = se.covariance(rng.standard_normal((6, 9)))
    chosen, weights, vector = np.array([0, 3, 4, 7]), rng.uniform(0.1, 1.0, 9), rng.standard_normal(3)
    wrapped = [
        base.shifted(0.7),
        scale_operator(base, -1.0),
        scale_operator(base, -1.0).shifted(-3.0),
        ShiftedOperator(base, multiplier=0.25, shift=1.0),
    ]
    for operator in [*wrapped, base.restricted(np.arange(9)), base.deflated(np.ones(9))]:
        matrix = operator.to_dense()
        for count in (0, 2, 8):
            sums, least, shortfall = operator.top_row_sums(chosen, weights, count)
            for place, row in enumerate(chosen):
                products = np.sort(np.delete(np.abs(matrix[row]) * weights, row))[::-1][:count]
                assert sums[place] == pytest.approx(products.sum(), rel=1e-12)
                assert least[place] == pytest.approx(products[-1] if count else 0.0, rel=1e-12)
            assert (shortfall <= 1e-300).all()
        form, error = operator.quadratic_form(chosen[:3], vector)
        exact = vector @ matrix[np.ix_(chosen[:3], chosen[:3])] @ vector
        assert abs(form - exact) <= error + 1e-14 * np.abs(matrix).sum()
        assert error <= 1e-13 * np.abs(matrix).sum()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_factors_whose_product_is_infinite_stay_apart(sign):
    """A matrix near 1e-90 is searched times 2**298; a block of it near 1e-320 takes 2**740 more."""
    matrix = np.diag([1e-90, 5e-320, 3e-90, 2e-319])
    twice = scale_operator(scale_operator(as_operator(matrix), sign * 2.0**298), 2.0**740)
    np.testing.assert_array_equal(twice.diagonal()[[1, 3]], sign * np.ldexp([5e-320, 2e-319], 1038))
    assert isinstance(
        scale_operator(scale_operator(as_operator(matrix), sign * 2.0**298), 2.0**8).base, type(as_operator(matrix))
    )
    for method in (se.solve_exact, se.sparse_eigenvector):
        certificate = method(matrix, 1, which="smallest").certificate
        assert 0.0 < certificate.lower_bound <= 5e-320 <= certificate.upper_bound < 1e-319


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_tiny_blocks_of_large_matrices_raise_no_warning():
    """What brings a block near 1e-291 to size one takes entries beside it out of range; they are not used."""
    matrix = np.diag([1e40, 1e-290, 2e40, 3e-291])
    matrix[3, 0] = matrix[0, 3] = 1e30
    certificate = se.sparse_eigenvector(matrix, 1, which="smallest").certificate
    assert certificate.lower_bound <= 3e-291 <= certificate.upper_bound < 3.1e-291


def test_a_scaled_matrix_keeps_its_factor_where_the_root_is_exact(rng):
    operator = se.covariance(rng.standard_normal((4, 9)))
    scaled = scale_operator(operator, 2.0**-300)
    assert scaled.factor_rank == operator.factor_rank == 4
    assert np.array_equal(scaled.factor_rows(slice(2, 5)), 2.0**-150 * operator.factor_rows(slice(2, 5)))
    for other in (scale_operator(operator, 2.0**-301), scale_operator(operator, -(2.0**-300)), scaled.shifted(1.0)):
        assert other.factor_rank == 0
        with pytest.raises(se.errors.UnsupportedOperatorError, match="ShiftedOperator has no factor at hand"):
            other.factor_rows(slice(None))
    assert [find_search_unit(scale_operator(operator, 2.0**power), "largest") for power in (300, 301)] == [
        2.0**-302,
        2.0**-304,
    ]
