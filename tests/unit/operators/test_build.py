"""From a caller's object to an operator."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from fuzzing.carriers import Foreign
from sparseigen import covariance, sparse_eigenvector
from sparseigen.errors import DtypeError, DuplicateNamesError, ShapeError
from sparseigen.operators import as_operator
from tests.unit.operators.mapped import map_data


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}, {"ddof": 0}, {"scale": True, "ddof": 0}])
@pytest.mark.parametrize("form", ["array", "fortran", "csr", "csc", "memmap", "pandas", "polars", "int"])
def test_covariance_equals_numpy(form: str, options: dict[str, bool], tmp_path: Path, rng: np.random.Generator) -> None:
    data = rng.integers(-4, 9, (20, 7)).astype(float) + np.arange(7)
    data[rng.random((20, 7)) < 0.3] = 0.0
    forms = {
        "array": lambda: data,
        "fortran": lambda: np.asfortranarray(data),
        "csr": lambda: sp.csr_matrix(data),
        "csc": lambda: sp.csc_array(data),
        "memmap": lambda: map_data(data, tmp_path),
        "pandas": lambda: pd.DataFrame(data, columns=list("abcdefg")),
        "polars": lambda: pl.DataFrame({c: data[:, i] for i, c in enumerate("abcdefg")}),
        "int": lambda: data.astype(np.int32),
    }
    centred = data - data.mean(axis=0) if options.get("center", True) else data
    expected = centred.T @ centred / (20 - options.get("ddof", 1))
    if options.get("scale"):
        deviations = np.sqrt(np.diag(expected))
        expected = expected / np.outer(deviations, deviations)
    operator = covariance(forms[form](), **options)  # type: ignore[arg-type]
    np.testing.assert_allclose(operator.to_dense(), expected, atol=1e-11)
    np.testing.assert_allclose(operator.columns(np.arange(7)), expected, atol=1e-11)
    np.testing.assert_allclose(
        operator.block_apply(np.arange(7.0)[:, None])[:, 0], expected @ np.arange(7.0), atol=1e-10
    )
    np.testing.assert_allclose(operator.diagonal(), np.diag(expected), atol=1e-11)


def test_names_travel_to_the_result(rng: np.random.Generator) -> None:
    data = rng.standard_normal((20, 4)) * [1, 5, 1, 5]
    for frame in (
        pd.DataFrame(data, columns=["age", "height", "shoe", "weight"]),
        pl.DataFrame({name: data[:, i] for i, name in enumerate(["age", "height", "shoe", "weight"])}),
    ):
        result = sparse_eigenvector(covariance(frame), 2)
        assert set(result.loadings) == {"height", "weight"}
        assert result.to_dict()["names"] == ["height", "weight"]
        assert "height" in result._repr_html_()


def test_pandas_sparse_and_nullable_frames() -> None:
    dense = pd.DataFrame({"a": [1.0, 0.0, 2.0], "b": [0.0, 0.0, 3.0]})
    as_sparse = dense.astype(pd.SparseDtype("float64", 0.0))
    nullable = dense.astype("Float64")
    for frame in (as_sparse, nullable):
        np.testing.assert_allclose(covariance(frame).to_dense(), np.cov(dense.to_numpy().T), atol=1e-14)


class WithBlocks(Foreign):
    """One that multiplies blocks by itself."""

    blocks = 0

    def block_apply(self, block):
        self.blocks += 1
        return self.matrix @ block


def test_a_foreign_objects_own_block_product_is_used(rng):
    matrix = rng.standard_normal((6, 6))
    matrix = matrix + matrix.T
    block = rng.standard_normal((6, 3))
    for given in (Foreign(matrix), WithBlocks(matrix)):
        np.testing.assert_allclose(as_operator(given).block_apply(block), matrix @ block)
    assert given.blocks == 1


def test_names_can_be_given(rng: np.random.Generator) -> None:
    data = rng.standard_normal((20, 3))
    for form in (data, sp.csr_array(data), [data[:10], data[10:]]):
        options = {"shape": data.shape} if isinstance(form, list) else {}
        operator = covariance(form, names=["a", "b", "c"], **options)
        assert set(sparse_eigenvector(operator, 2).loadings) < {"a", "b", "c"}
    with pytest.raises(ShapeError, match="names has 2 entries for 3 variables; give one per variable"):
        covariance(data, names=["a", "b"])
    with pytest.raises(DuplicateNamesError, match="the first is 'a'"):
        covariance(data, names=["a", "a", "b"])


def test_tables_as_text_are_read_whole(tmp_path: Path, rng: np.random.Generator) -> None:
    data = rng.standard_normal((12, 3))
    frame = pd.DataFrame(data, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    operator = covariance(tmp_path / "t.csv")
    np.testing.assert_allclose(operator.to_dense(), np.cov(data.T))
    assert operator.names == ("a", "b", "c")
    frame.assign(kind="x").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(
        DtypeError, match=r"column 'kind': 'x' is not a number; .* read the file with pandas, drop it there"
    ):
        covariance(tmp_path / "t.csv")


def test_a_module_that_another_thread_is_importing_is_no_reason_to_fail(rng, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.sparse.linalg", ModuleType("scipy.sparse.linalg"))
    assert covariance(rng.standard_normal((5, 3))).size == 3
