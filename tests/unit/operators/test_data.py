"""The covariance of dense data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import covariance
from sparseigen.operators.data import DenseData
from sparseigen.operators.matrix import DenseSymmetric


def test_column_major_data_are_not_copied(rng: np.random.Generator) -> None:
    data = np.asfortranarray(rng.standard_normal((9, 6)))
    operator = covariance(data, center=False)
    assert np.shares_memory(operator.variables, data)  # type: ignore[attr-defined]
    assert operator.variables.flags.c_contiguous  # type: ignore[attr-defined]
    assert not np.shares_memory(covariance(data, center=False, scale=True).variables, data)  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")
def test_large_means_do_not_hurt(rng: np.random.Generator) -> None:
    data = rng.standard_normal((50, 12)) + 1e7
    expected = np.cov((data - 1e7).T)
    for form in (data, sp.csr_array(data)):
        np.testing.assert_allclose(covariance(form).to_dense(), expected, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(covariance(form).diagonal(), np.diag(expected), rtol=1e-7)


def test_gram_matrix_is_formed_only_where_it_pays(rng: np.random.Generator) -> None:
    small, wide = covariance(rng.standard_normal((30, 50))), covariance(rng.standard_normal((5, 3000)))
    assert isinstance(small.prepared_for(600), DenseSymmetric)
    assert isinstance(small.prepared_for(4), DenseData)
    assert isinstance(wide.prepared_for(600), DenseData)


def test_factor_reproduces_the_covariance(rng):
    operator = se.covariance(rng.standard_normal((5, 12)))
    rows = operator.factor_rows(slice(None))
    assert rows.shape == (12, operator.factor_rank) == (12, 5)
    assert np.allclose(rows @ rows.T, operator.to_dense(), rtol=1e-13, atol=1e-13)
    assert se.covariance(rng.standard_normal((20, 12))).factor_rank == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_block_is_as_accurate_as_columns(rng, dtype):
    operator = se.covariance(rng.standard_normal((30, 12)).astype(dtype))
    rows, columns = np.array([1, 4, 9]), np.array([0, 4])
    block = operator._accurate_block(rows, columns)
    assert block.dtype == np.float64
    errors = np.sqrt(np.outer(operator.entry_errors()[rows], operator.entry_errors()[columns]))
    assert (np.abs(block - operator.accurate_columns(columns)[rows]) <= 2.0 * errors).all()
