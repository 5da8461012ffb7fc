"""Compressed rows in AnnData files that do not fit together."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from tests.unit.rows.sources import VALUES, rows_of, write_h5ad


def test_a_damaged_sparse_file_is_refused(tmp_path, data):
    h5py = pytest.importorskip("h5py")
    for part, place, value in (("indices", 5, 99), ("indptr", 3, 0)):
        write_h5ad(tmp_path / "x.h5ad", data)
        with h5py.File(tmp_path / "x.h5ad", "r+") as file:
            file["X"][part][place] = value
        with pytest.raises(errors.InputError, match="damaged"):
            se.covariance(tmp_path / "x.h5ad")


def damaged_csr(path: Path, **parts: np.ndarray) -> None:
    matrix = sp.csr_array(VALUES)
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["shape"], group.attrs["encoding-type"] = matrix.shape, "csr_matrix"
        for name in ("data", "indices", "indptr"):
            group[name] = parts.get(name, getattr(matrix, name))


def test_compressed_rows_that_do_not_fit_together(tmp_path: Path) -> None:
    path = tmp_path / "x.h5ad"
    whole = sp.csr_array(VALUES)
    damaged_csr(path)
    np.testing.assert_array_equal(rows_of(path), VALUES)
    for parts, message in (
        ({"indptr": whole.indptr[:-1]}, r"\(4,\) row pointers do not fit 4 rows"),
        ({"indptr": whole.indptr.astype(float)}, r"\(5,\) row pointers do not fit 4 rows"),
        ({"indptr": whole.indptr + 1}, "its row pointers do not fit 4 rows"),
        ({"data": whole.data[:-1]}, "10 values, 11 indices, 11 expected"),
        ({"indices": whole.indices - 1}, r"column indices outside 0\.\.2"),
    ):
        damaged_csr(path, **parts)
        with pytest.raises(errors.InputError, match=f"x.h5ad:X is damaged: {message}"):
            rows_of(path)
