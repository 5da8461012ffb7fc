"""Rows of zarr stores in AnnData's layout: dense, in compressed rows, and what gives no rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import InputError
from sparseigen.rows.files import open_rows
from tests.unit.io.test_zarr_stores import VALUES, write_store

pytest.importorskip("zarr")


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_rows_of_an_anndata_store_have_names(form: str, tmp_path: Path) -> None:
    path = write_store(tmp_path / "cells.zarr", form)
    source = open_rows(path, None)
    assert (source.shape, source.sparse, source.names[0]) == ((12, 5), form == "csr", "var0")
    operator = se.covariance(str(path))
    np.testing.assert_allclose(operator.to_dense(), np.cov(VALUES.T), atol=1e-12)
    assert source.fingerprint() == open_rows(path, None).fingerprint()


def test_columns_give_no_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cells.zarr:X is a group that gives no blocks of rows"):
        open_rows(write_store(tmp_path / "cells.zarr", "csc"), None)
