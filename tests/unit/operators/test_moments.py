"""PrecisionWarning: given where numbers or sums have lost what varies, silent on ordinary data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from fuzzing.truth import Truth
from sparseigen.errors import ConstantColumnWarning, PrecisionWarning, RangeError, ZeroMatrixError
from tests.common.checks import check_bracket


@pytest.fixture
def data(rng):
    values = rng.standard_normal((60, 12))
    values[:, :4] += rng.standard_normal((60, 1))
    return values


FORMS = {
    "dense": lambda data: (data, {}),
    "sparse": lambda data: (sp.csr_array(data), {}),
    "blocks": lambda data: ([data[:25], data[25:]], {"shape": data.shape}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [False, True])
def test_float32_with_a_mean_of_a_million_deviations_is_warned_of(form, scale, data):
    given, options = FORMS[form]((data + 1e6).astype(np.float32))
    with pytest.warns(PrecisionWarning, match="12 of 12 columns are so far from zero that float32") as said:
        se.covariance(given, scale=scale, **options)
    assert "pass float64, or subtract a constant" in str(said[0].message)
    assert said[0].filename == __file__


def test_the_warning_names_the_column(data):
    data[:, 7] += 1e7
    frame = {f"gene {i}": column for i, column in enumerate(data.T.astype(np.float32))}
    pandas = pytest.importorskip("pandas")
    with pytest.warns(PrecisionWarning, match=r"1 of 12 columns .* column 7 \('gene 7'\) \(mean 1e\+07, standard dev"):
        se.covariance(pandas.DataFrame(frame))


def test_float64_has_digits_left_until_much_later(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        se.sparse_eigenvector(se.covariance(data + 1e6), 3)
    with pytest.warns(PrecisionWarning, match="float64 keeps hardly a digit"):
        se.covariance(data + 1e15)


def test_sums_of_uncentred_sparse_data_lose_digits_first(data):
    with pytest.warns(PrecisionWarning, match="can reach 0.00.* of the largest variance.*subtract a constant"):
        se.covariance(sp.csr_array(data + 2e5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        se.covariance(data + 2e5)
        se.covariance(sp.csr_array(data + 1e3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
def test_ordinary_data_are_silent(form, dtype, data, rng):
    """Standardised, counts, percentages, temperatures in kelvin, prices: nothing to say, at either end."""
    ordinary = [data, rng.poisson(3.0, (60, 12)), 50.0 + 10.0 * data, 293.0 + 0.5 * data, 1e4 * np.exp(data)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in ordinary:
            given, options = FORMS[form](np.asarray(values, dtype=dtype))
            operator = se.covariance(given, **options)
            for which in ("largest", "smallest"):
                found = se.sparse_eigenvector(operator, 4, which=which)
                assert found.certificate.lower_bound <= found.certificate.upper_bound
            assert np.isfinite(se.upper_bound(operator, 4).upper_bound)


def nearly_collinear(data, noise):
    """One variable is a hundredth of the sum of all others, up to the noise: an eigenvalue near zero."""
    values = data.copy()
    values[:, 0] = values[:, 1:].sum(axis=1) / 100.0 + noise * values[:, 0]
    return values


def test_a_gap_that_is_rounding_says_so(data):
    """The smallest eigenvalue of ill-conditioned float32 data: the certificate covers the rounding, and says why."""
    values = nearly_collinear(data[:, :4], 1e-7).astype(np.float32)
    with pytest.warns(PrecisionWarning, match="is rounding: certificates must allow for .* Pass the data as float64"):
        single = se.sparse_eigenvector(se.covariance(values), 4, which="smallest")
    truth = Truth.of_data(values, center=True, scale=False, ddof=1).negated()
    assert truth.is_upper_bound(-single.certificate.lower_bound, 4)[0]
    assert truth.is_reached(-single.certificate.upper_bound, 4)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        double = se.sparse_eigenvector(se.covariance(values.astype(np.float64)), 4, which="smallest")
    assert double.certificate.relative_gap < 1e-3 < single.certificate.relative_gap


@pytest.mark.parametrize("mean", [0.0, 1e3, 1e6, 1e7])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")
def test_certificates_are_about_the_exact_covariance_of_the_float32_numbers(mean, scale, data):
    values = (data[:, :6] + mean).astype(np.float32)
    truth = Truth.of_data(values, center=True, scale=scale, ddof=1)
    operator = se.covariance(values, scale=scale)
    for k in range(1, 7):
        proof = se.sparse_eigenvector(operator, k).certificate
        assert truth.is_upper_bound(proof.upper_bound, k)[0]
        assert truth.is_reached(proof.lower_bound, k)[0]
        assert proof.relative_gap < 0.2


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


@pytest.mark.parametrize("form", FORMS)
def test_constant_columns_are_left_out_of_scaled_data(form, data):
    """As StandardScaler tolerates them: they become zero, and the rest is what it would be without them."""
    data[:, 5], data[:, 7] = 3.7, 0.0
    given, options = FORMS[form](data)
    told = r"2 of 12 columns are constant and left out, as there is no scale: column 5, column 7\."
    with pytest.warns(ConstantColumnWarning, match=told) as said:
        operator = se.covariance(given, scale=True, **options)
    assert said[0].filename == __file__
    assert operator.diagonal().tolist() == [float(j not in (5, 7)) for j in range(12)]
    assert not operator.to_dense()[[5, 7]].any()
    others = np.delete(np.arange(12), [5, 7])
    alone = se.sparse_eigenvector(se.covariance(data[:, others], scale=True), 4)
    found = se.sparse_eigenvector(operator, 4)
    assert found.support.tolist() == others[alone.support].tolist()
    assert found.value == pytest.approx(alone.value, rel=1e-9)
    assert found.certificate.lower_bound <= found.value * (1.0 + 1e-12) <= found.certificate.upper_bound * (1.0 + 1e-12)
    assert se.verify(found, operator)


def test_estimators_keep_constant_columns_finite(data):
    data[:, 5] = 3.7
    with pytest.warns(ConstantColumnWarning):
        pca = se.SparsePCA(2, 3, scale=True).fit(data)
    assert pca.scale_[5] == 1.0
    assert pca.inverse_transform(pca.transform(data))[:, 5] == pytest.approx(3.7)
    by_matrix = se.SparsePCA(2, 3, scale=True).fit_covariance(np.cov(data.T))
    np.testing.assert_allclose(by_matrix.components_, pca.components_, atol=1e-8)


def test_margins_grow_where_the_predicted_deviation_of_counts_cancels(rng):
    """Filled gaps make sums inexact; near the mean 2 the deviation sqrt(m (1 - m/2)) loses what the mean has lost."""
    counts = 2.0 - rng.random((400, 3)) * np.array([1.0, 1e-2, 1e-4])
    operator = se.covariance(counts, scale="patterson")
    long = counts.astype(np.longdouble)
    means = long.mean(axis=0)
    scaled = (long - means) / np.sqrt(means * (1 - means / 2))
    exact = scaled.T @ scaled / (len(counts) - 1)
    margins = operator.entry_errors()
    assert (np.abs(operator.to_dense() - exact) <= np.sqrt(np.outer(margins, margins))).all()
    ordinary = se.covariance(counts[:, :1], scale="patterson").entry_errors()[0]
    lost = 2.0 * 400 * 2.0**-53 * 2.0 / float(2.0 - means[2])
    assert margins[0] - ordinary == pytest.approx(lost * operator.diagonal()[0], rel=1e-3)
