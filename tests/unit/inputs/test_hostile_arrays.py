"""Arrays that lie about themselves: the public functions refuse them before any kernel follows their indices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors, kernels
from sparseigen.checks.sparse import check_sparse

SHAPE = (8, 8)


def good() -> sp.csr_array:
    values = np.random.default_rng(0).random(SHAPE)
    values[values < 0.5] = 0.0
    return sp.csr_array(values + values.T)


def bad_index(matrix, value):
    matrix.indices[3] = value


def bad_start(matrix, value):
    matrix.indptr[2] = value


LIES = {
    "index far outside": lambda m: bad_index(m, 2**30),
    "index just outside": lambda m: bad_index(m, 8),
    "negative index": lambda m: bad_index(m, -1),
    "row start far outside": lambda m: bad_start(m, 2**30),
    "row starts go down": lambda m: bad_start(m, 40),
    "negative row start": lambda m: bad_start(m, -3),
    "values too short": lambda m: setattr(m, "data", m.data[:2]),
    "indices too short": lambda m: setattr(m, "indices", m.indices[:2]),
    "row starts too short": lambda m: setattr(m, "indptr", m.indptr[:3]),
    "no row starts": lambda m: setattr(m, "indptr", m.indptr[:0]),
    "float indices": lambda m: setattr(m, "indices", m.indices.astype(float)),
}


CALLS = {
    "covariance": lambda m: se.covariance(m),
    "sparse_eigenvector": lambda m: se.sparse_eigenvector(m, 2),
    "upper_bound": lambda m: se.upper_bound(m, 2),
    "blocks": lambda m: se.covariance([m, m], shape=(16, 8)),
    "densest_k_subgraph": lambda m: se.densest_k_subgraph(m, 2),
    "density_curve": lambda m: se.density_curve(m, [2]),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_lies_are_refused(lie: str, call: str, form: str) -> None:
    matrix = good().asformat(form)
    LIES[lie](matrix)
    with pytest.raises(errors.InputError):
        CALLS[call](matrix)


@pytest.mark.parametrize("call", CALLS)
def test_coordinates_that_lie(call: str) -> None:
    matrix = good().tocoo()
    matrix.coords[0][1] = 10**6
    with pytest.raises(errors.InputError, match="1000000"):
        CALLS[call](matrix)


@pytest.mark.parametrize("form", ["bsr", "dia", "lil", "dok", "coo", "csc", "csr"])
def test_every_format_is_read_alike(form: str) -> None:
    expected = se.covariance(good().toarray()).to_dense()
    np.testing.assert_allclose(se.covariance(good().asformat(form)).to_dense(), expected)


def test_what_a_matrix_remembers_of_itself_is_not_believed() -> None:
    matrix = good()
    assert matrix.has_canonical_format
    expected = se.sparse_eigenvector(good(), 3).value
    for row in range(8):  # unsorted now, and it does not know
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        matrix.indices[part] = matrix.indices[part][::-1].copy()
        matrix.data[part] = matrix.data[part][::-1].copy()
    assert se.sparse_eigenvector(matrix, 3).value == pytest.approx(expected)
    before = matrix.indices.copy()
    assert se.densest_k_subgraph(matrix, 3).weight == pytest.approx(se.densest_k_subgraph(good(), 3).weight)
    np.testing.assert_array_equal(matrix.indices, before)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_matrix_without_entries(form: str) -> None:
    with pytest.raises(errors.ZeroMatrixError, match="the covariance is zero"):
        se.covariance(sp.csr_array((5, 3)).asformat(form))


def test_one_dimension_is_refused() -> None:
    with pytest.raises(errors.ShapeError, match="2 dimensions"):
        check_sparse(sp.coo_array(np.ones(3)), "X")


@pytest.mark.skipif(kernels.active.NAME == "numpy", reason="there is no extension")
def test_bindings_refuse_what_would_walk_out_of_memory() -> None:
    compiled = kernels._compiled
    starts, columns, values = np.array([0, 2, 1000]), np.array([0, 1]), np.ones(2)
    out, rows, weights = np.zeros(2), np.array([1]), np.ones(1)
    with pytest.raises(ValueError, match="row starts"):
        compiled.sparse_row_dots(starts, columns, values, np.ones(2), out)
    with pytest.raises(ValueError, match="row starts"):
        compiled.sparse_combine_rows(starts, columns, values, rows, weights, out)
    with pytest.raises(ValueError, match="lengths"):
        compiled.sparse_combine_rows(starts[:0], columns, values, rows, weights, out)
    halves = np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(2)
    with pytest.raises(ValueError, match="row starts"):
        compiled.sparse_transpose(starts, columns, values, *halves)
    with pytest.raises(ValueError, match="lengths"):
        compiled.sparse_transpose(np.array([0, 1, 1]), columns, values, *halves)
    for outside in (-1, 2, 10**9):
        with pytest.raises(ValueError, match="column index"):
            compiled.sparse_transpose(np.array([0, 1, 2]), np.array([0, outside]), values, *halves)
    with pytest.raises(ValueError, match="row index"):
        compiled.combine_rows(np.eye(2), np.array([5]), weights, out)
    for bad in ([0, 9, 2], [0, -5, 2], [1, 1, 2]):
        graph = (np.array(bad), np.array([0, 1], dtype=np.int32), np.zeros(0, dtype=np.int64))
        with pytest.raises(ValueError, match="row starts"):
            compiled.graph_add_rows(*graph, np.array([0, 1]), 1, np.zeros(2, dtype=np.int64))
        with pytest.raises(ValueError, match="row starts"):
            compiled.graph_is_symmetric(*graph)
    with pytest.raises(TypeError):
        compiled.row_dots(np.eye(2, dtype=object), np.ones(2), out)
    stream, format_ = np.zeros(4, dtype=np.uint8), np.array([4, 6, 7, 4, -3, 1, 0, 1, 1, 3])
    with pytest.raises(ValueError, match="out of range"):
        compiled.decode_webgraph(stream, 0, format_, 0, 4, np.zeros(5, dtype=np.int64), np.zeros(6, dtype=np.int32))
