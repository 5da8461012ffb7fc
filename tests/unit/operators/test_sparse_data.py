"""The covariance of sparse data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import covariance, sparse_eigenvector
from tests.common.entries import everything, within


def test_sparse_data_stay_sparse(rng: np.random.Generator) -> None:
    data = sp.csr_array(sp.random(400, 3000, density=0.01, random_state=rng))
    operator = covariance(data, scale=False)
    assert operator.variables.nnz == data.nnz  # type: ignore[attr-defined]
    result = sparse_eigenvector(operator, 10, start="max-variance", certify=False)
    dense = covariance(data.toarray())
    reference = sparse_eigenvector(dense, 10, start="max-variance", certify=False)
    assert tuple(result.support) == tuple(reference.support)
    assert result.value == pytest.approx(reference.value, rel=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("density", [0.01, 0.6])
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_sparse_data_by_either_product(density, scale, dtype, layout, rng):
    import scipy.sparse as sp

    data = sp.random(400, 60, density=density, format="lil", dtype=dtype, random_state=7)
    data[:, 3] = 5.0 + rng.standard_normal((400, 1))  # far from zero: uncentred products cancel
    data[0, :] = 1.0  # no column is constant
    data = data.asformat(layout)
    before = data.copy()
    operator = se.covariance(data, scale=scale)
    exact = data.toarray().astype(np.longdouble)
    exact -= exact.mean(axis=0)
    if scale:
        exact /= np.sqrt((exact**2).sum(axis=0) / 399)
    assert within(operator, exact.T @ exact / 399)
    met = operator._sample_lengths[operator.variables.indices].sum()
    assert bool(6 * met < operator.variables.nnz * 60) == (density < 0.1)  # both ways are taken by these tests
    assert (data != before).nnz == 0


@pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")
def test_sparse_columns_whose_uncentred_squares_overflow():
    import scipy.sparse as sp

    data = sp.random(300, 50, density=0.02, format="lil", dtype=np.float64, random_state=1)
    data[:, 0] = 1e153  # the sum of its squares overflows, its variance does not
    data[0, 0] = 1.0000001e153
    operator = se.covariance(data.tocsr())
    assert operator._sample_lengths[operator.variables.indices].sum() * 6 < operator.variables.nnz * 50
    assert np.isfinite(operator.accurate_columns(everything(50))).all()
    data[:, 0] = 1e155
    with pytest.raises(se.errors.NonFiniteError, match="overflow"):
        se.covariance(data.tocsr())


def test_repeated_entries_of_sparse_columns_are_summed_in_a_copy():
    given = sp.csc_array((np.array([1.0, 2.0, 4.0, 3.0]), np.array([0, 0, 2, 1]), np.array([0, 3, 4])), shape=(3, 2))
    dense = given.toarray()
    np.testing.assert_allclose(se.covariance(given).to_dense(), np.cov(dense.T))
    assert given.nnz == 4
    assert given.data.tolist() == [1.0, 2.0, 4.0, 3.0]


def test_entries_between_two_sets_of_variables_come_in_pieces(rng, monkeypatch) -> None:
    operator = covariance(sp.csr_array(sp.random(60, 50, density=0.2, random_state=rng)))
    rows, columns = np.array([3, 4, 40]), np.array([1, 2, 3, 7, 9])
    whole = operator.to_dense()[np.ix_(rows, columns)]
    for entries in (1, 100, 1 << 20):
        monkeypatch.setattr("sparseigen.operators.sparse_data.FORM_ENTRIES", entries)
        np.testing.assert_allclose(operator.submatrix(rows, columns), whole, rtol=1e-12, atol=1e-15)
