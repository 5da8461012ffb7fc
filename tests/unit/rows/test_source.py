"""Blocks of rows that the caller gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from tests.unit.rows.sources import N, P

BAD_BLOCKS = {
    "a generator": (lambda data: iter([data]), (N, P), errors.OptionError, "only once"),
    "no shape": (lambda data: lambda: [data], None, errors.OptionError, "needs shape="),
    "too few rows": (lambda data: [data[:9]], (N, P), errors.ShapeError, "gave 9 rows where"),
    "too many rows": (lambda data: [data, data], (N, P), errors.ShapeError, "more than 90 rows"),
    "wrong width": (lambda data: [data[:40], data[40:, :5]], (N, P), errors.ShapeError, r"block 1 has shape \(50, 5\)"),
    "nothing": (lambda data: [], (N, P), errors.ShapeError, "gave no block"),
    "not arrays": (lambda data: lambda: 3, (N, P), errors.OptionError, "iterable of arrays, got int"),
    "mixed": (lambda data: [data[:40], sp.csr_array(data[40:])], (N, P), errors.InputError, "block 1 is not"),
}


@pytest.mark.parametrize("case", BAD_BLOCKS)
def test_bad_blocks_are_refused(case, data):
    make, shape, error, match = BAD_BLOCKS[case]
    with pytest.raises(error, match=match):
        se.covariance(make(data), shape=shape)


def test_options_for_passes_are_refused_for_data_in_memory(data):
    with pytest.raises(errors.OptionError, match="memory_limit is for data read in passes"):
        se.covariance(data, memory_limit="1GB")


def test_an_error_of_the_caller_s_function_is_passed_on(data):
    calls = []

    def blocks():
        yield data[:50]
        calls.append(1)
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        se.covariance(blocks, shape=(N, P))
    assert calls


def test_blocks_with_repeated_entries_are_summed_in_a_copy() -> None:
    block = sp.csr_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    operator = se.covariance([block, block], shape=(4, 2))
    np.testing.assert_allclose(operator.to_dense(), np.cov(np.vstack([block.toarray()] * 2).T))
    assert block.nnz == 3
