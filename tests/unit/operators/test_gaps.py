"""Missing values filled with means: in memory, sparse, in blocks, and what results say of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import NonFiniteError, OptionError
from sparseigen.operators.gaps import FilledRows, Gaps, check_missing, find_gaps
from tests.unit.operators.mapped import map_data


@pytest.fixture
def holed(rng):
    data = rng.standard_normal((30, 6)) + np.arange(6.0)
    data[rng.random(data.shape) < 0.15] = np.nan
    return data


def _fill(data):
    return np.where(np.isnan(data), np.nanmean(data, axis=0), data)


@pytest.mark.parametrize("scale", [False, True])
def test_filled_data_are_the_same_everywhere(holed, tmp_path, scale):
    wanted = np.cov(_fill(holed).T) if not scale else np.corrcoef(_fill(holed).T)
    for given in (holed, map_data(holed, tmp_path), sp.csr_array(holed)):
        operator = se.covariance(given, missing="mean", scale=scale)
        np.testing.assert_allclose(operator.to_dense(), wanted, atol=1e-12)
        assert find_gaps(operator).counts.tolist() == np.isnan(holed).sum(axis=0).tolist()


def test_the_callers_data_stay_as_they_are(holed):
    copy = holed.copy()
    se.covariance(holed, missing="mean")
    np.testing.assert_array_equal(holed, copy)


def test_zeros_that_are_not_stored_are_values(rng):
    data = sp.random_array((40, 5), density=0.4, rng=rng, format="csr")
    data.data[::5] = np.nan
    operator = se.covariance(data, missing="mean")
    np.testing.assert_allclose(operator.to_dense(), np.cov(_fill(data.toarray()).T), atol=1e-12)


def test_results_say_how_much_was_missing(holed):
    names = [f"v{i}" for i in range(6)]
    result = se.sparse_eigenvector(se.covariance(holed, missing="mean", names=names), 2)
    shares = result.settings["missing_shares"]
    assert shares == {names[i]: pytest.approx(np.isnan(holed[:, i]).mean()) for i in result.support}
    found = se.sparse_components(se.covariance(holed, missing="mean"), [2, 2])
    assert all(set(r.settings["missing_shares"]) == {str(i) for i in r.support} for r in found)
    whole = se.sparse_eigenvector(se.covariance(_fill(holed), missing="mean"), 2)
    assert "missing_shares" not in whole.settings


def test_one_more_pass_finds_the_means(holed, tmp_path):
    plain, filled = (se.covariance(map_data(x, tmp_path), missing="mean") for x in (_fill(holed), holed))
    assert filled.passes_made == plain.passes_made == 2
    assert filled.describe()["passes"] == 2


def test_the_default_refuses_and_names_the_option(holed, tmp_path):
    for given in (holed, map_data(holed, tmp_path)):
        with pytest.raises(NonFiniteError, match=r"fill the gaps: missing='mean' takes the mean of each column\."):
            se.covariance(given)


def test_infinite_values_are_no_gaps(holed):
    holed[3, 2] = np.inf
    with pytest.raises(NonFiniteError, match=r"X has 1 NaN or infinite value, the first at row 3, column 2"):
        se.covariance(holed, missing="mean")


def test_a_variable_without_a_value_is_refused(holed, tmp_path):
    holed[:, 4] = np.nan
    message = r"column 4 has no value at all \(1 such variable\), so there is no mean to fill in; remove it\."
    for given in (holed, map_data(holed, tmp_path)):
        with pytest.raises(NonFiniteError, match=message):
            se.covariance(given, missing="mean")


def test_wrong_wishes_are_refused():
    with pytest.raises(OptionError, match=r"missing='median' is not known. Allowed: 'error', 'mean'"):
        check_missing("median")
    loaders = [lambda: np.eye(3)]
    with pytest.raises(OptionError, match=r"missing='mean' is for data in memory and files, not for data in partit"):
        se.covariance(loaders, missing="mean")


def test_a_filled_source_is_not_the_source(holed, tmp_path):
    from sparseigen.rows.files import as_row_source

    source = as_row_source(map_data(holed, tmp_path), dataset=None, shape=None)
    assert FilledRows(source).fingerprint() == f"{source.fingerprint()} filled with means"
    assert Gaps(np.array([0, 2]), 4).describe() == {"missing": "mean", "missing_values": 2}
    assert Gaps(np.zeros(2, dtype=np.int64), 4).describe() == {}
