"""Sparse matrices that lie about themselves are refused before any kernel follows their indices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
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


def test_sparse_matrices_that_contradict_themselves() -> None:
    matrix = sp.coo_array(np.eye(3))
    matrix.data = np.ones(2)
    with pytest.raises(errors.InputError, match=r"X has 2 values, 3 row and 3 column numbers|not a consistent coo"):
        check_sparse(matrix, "X")
    for offsets in ([0], [0, 1, 2]):
        diagonal = sp.dia_array(np.eye(3) + np.eye(3, k=1))
        diagonal.offsets = np.array(offsets, dtype=np.int32)
        with pytest.raises(errors.InputError, match="X is not a consistent dia matrix: its values and their"):
            check_sparse(diagonal, "X")
    listed = sp.lil_array(np.eye(3))
    listed.rows[1] = [0, 1, 2]
    with pytest.raises(errors.InputError, match="X is not a consistent lil matrix: its values and their"):
        check_sparse(listed, "X")
