"""Operators made of another one."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import as_operator
from sparseigen.operators.contract import LARGEST_PLAIN_EXPONENT, scale_exponent
from sparseigen.operators.wrapped import scaled
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
    assert within(scaled(operator, -1.0), -exact)


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
    wrapped.together([lambda i=i: wrapped.apply_support(np.array([i]), np.ones(1)) for i in range(5)])
    assert base.passes_made == before + 1


@pytest.mark.parametrize("exponent", [-300, -10, 0, 250, 300])
def test_the_scale_of_a_search_is_a_power_of_two_beyond_the_plain_range(exponent):
    magnitude = 0.75 * 2.0**exponent
    assert scale_exponent(magnitude) == (exponent if abs(exponent) > LARGEST_PLAIN_EXPONENT else 0)
    matrix = as_operator(np.diag([magnitude, magnitude / 3.0]))
    assert find_search_unit(matrix, "smallest") == -(2.0 ** -scale_exponent(magnitude))
    assert scaled(matrix, 1.0) is matrix
    twice = scaled(scaled(matrix.shifted(magnitude), 2.0), -0.5)
    np.testing.assert_array_equal(twice.to_dense(), -matrix.shifted(magnitude).to_dense())
