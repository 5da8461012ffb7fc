"""Routes that ordinary data do not take, each compared with the matrix itself."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from fuzzing.carriers import Foreign
from sparseigen.errors import NonFiniteError, UnsupportedOperatorError, ZeroMatrixError
from sparseigen.operators import as_operator
from sparseigen.operators.deflated import DEFLATIONS
from sparseigen.operators.matrix import summed
from sparseigen.solve.eigenvector import check_solver


class WithBlocks(Foreign):
    """One that multiplies blocks by itself."""

    blocks = 0

    def block_apply(self, block):
        self.blocks += 1
        return self.matrix @ block


@pytest.fixture
def in_blocks(rng):
    """Data given in two blocks of rows, and their covariance."""
    data = rng.standard_normal((20, 30))
    return se.covariance([data[:12], data[12:]], shape=(20, 30)), np.cov(data.T)


def test_a_foreign_objects_own_block_product_is_used(rng):
    matrix = rng.standard_normal((6, 6))
    matrix = matrix + matrix.T
    block = rng.standard_normal((6, 3))
    for given in (Foreign(matrix), WithBlocks(matrix)):
        np.testing.assert_allclose(as_operator(given).block_apply(block), matrix @ block)
    assert given.blocks == 1


def test_a_component_taken_out_twice_is_taken_out_once(rng):
    factor = rng.standard_normal((15, 6))
    vector = np.array([0.6, 0.0, 0.8, 0.0, 0.0, 0.0])
    deflate = DEFLATIONS["orthogonal-hotelling"]
    once = deflate(as_operator(factor.T @ factor), vector)
    assert deflate(once, vector) is once
    assert deflate(once, -3.0 * vector) is once


def test_repeated_entries_of_sparse_columns_are_summed_in_a_copy():
    given = sp.csc_array((np.array([1.0, 2.0, 4.0, 3.0]), np.array([0, 0, 2, 1]), np.array([0, 3, 4])), shape=(3, 2))
    dense = given.toarray()
    np.testing.assert_allclose(se.covariance(given).to_dense(), np.cov(dense.T))
    assert given.nnz == 4
    assert given.data.tolist() == [1.0, 2.0, 4.0, 3.0]


def test_blocks_remembered_are_forgotten_and_found_again(in_blocks):
    """More than are remembered: each is still the one asked for."""
    operator, matrix = in_blocks
    pairs = [np.array([i, j]) for i in range(30) for j in range(i + 1, 30)][:300]
    for pair in [*pairs, pairs[0], pairs[-1]]:
        np.testing.assert_allclose(operator.submatrix(pair), matrix[np.ix_(pair, pair)], atol=1e-12)
    made = operator.passes_made
    operator.submatrix(pairs[-1])
    assert operator.passes_made == made  # the last ones are at hand


def test_runs_that_share_passes_say_how_they_ended(in_blocks):
    operator, matrix = in_blocks
    few = operator.truncated_power_block([3, 5], rtol=0.0, atol=0.0, max_iterations=2)
    assert [(run.ended, run.n_iterations, len(run.history)) for run in few] == [("iteration_limit", 2, 3)] * 2
    many = operator.truncated_power_block([3, 5], rtol=1e-9, atol=0.0, max_iterations=500)
    for cardinality, run in zip((3, 5), many, strict=True):
        assert run.ended == "value_stalled"
        assert len(run.indices) == cardinality
        block = matrix[np.ix_(run.indices, run.indices)]
        assert run.weights @ block @ run.weights == pytest.approx(run.history[-1])
        assert all(np.diff(run.history) >= -1e-12)


def test_blocks_whose_sums_overflow_are_refused():
    """Every entry is finite, and nothing can be computed from them."""
    block = np.full((2, 3), 1.5e308)
    for given in (block, sp.csr_array(block)):
        with pytest.raises(NonFiniteError, match=r"divide .* by a constant"):
            se.covariance([given, given], shape=(4, 3))


def test_products_made_in_parts_are_the_whole(rng, monkeypatch):
    left, right = rng.standard_normal((9, 3)), rng.standard_normal((9, 4))
    monkeypatch.setattr(
        "sparseigen.operators.matrix.parts", lambda count, cost: [slice(0, 4), slice(4, 5), slice(5, 9)]
    )
    np.testing.assert_allclose(summed(left, right), left.T @ right)


def test_what_a_solver_lacks_is_named():
    with pytest.raises(UnsupportedOperatorError, match=r"solver 'pathspca' needs SimpleNamespace.columns.*: none\."):
        check_solver("pathspca", SimpleNamespace(), nonnegative=False)
    able = SimpleNamespace(to_dense=None)
    with pytest.raises(UnsupportedOperatorError, match=r"that accept this operator: backward, dspca\."):
        check_solver("tpower", able, nonnegative=False)


def test_dspca_refuses_a_matrix_of_zeros():
    with pytest.raises(ZeroMatrixError, match="nothing to find"):
        se.sparse_eigenvector(Foreign(np.zeros((4, 4))), 2, method="dspca")
