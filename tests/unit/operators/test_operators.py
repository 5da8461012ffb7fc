"""Every operator answers the contract like the dense matrix it stands for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from sparseigen import covariance, sparse_eigenvector
from sparseigen.errors import StartError, UnsupportedOperatorError
from sparseigen.operators import as_operator
from sparseigen.operators.data import DenseData
from sparseigen.operators.deflated import DEFLATIONS, LowRankUpdated
from sparseigen.operators.matrix import DenseSymmetric
from sparseigen.operators.wrapped import scaled
from tests.common.operators import OPERATORS, SINGLE_PRECISION


@pytest.mark.parametrize("name", sorted(OPERATORS | SINGLE_PRECISION))
def test_contract(name: str, rng: np.random.Generator) -> None:
    factor = rng.standard_normal((15, 10)) * rng.uniform(0.5, 2.0, 10)
    factor[rng.random((15, 10)) < 0.4] = 0.0
    matrix = factor.T @ factor / 15
    operator = (OPERATORS | SINGLE_PRECISION)[name](factor)
    tolerance = 1e-5 if name in SINGLE_PRECISION else 1e-12
    chosen = np.array([1, 4, 7], dtype=np.int64)
    weights = np.array([0.6, -0.3, 0.2])
    assert operator.size == 10
    pairs = {
        "diagonal": (operator.diagonal(), np.diag(matrix)),
        "apply_support": (operator.apply_support(chosen, weights), matrix[:, chosen] @ weights),
        "columns": (operator.columns(chosen), matrix[:, chosen]),
        "submatrix": (operator.submatrix(chosen), matrix[np.ix_(chosen, chosen)]),
        "block_apply": (operator.block_apply(np.eye(10)[:, :4]), matrix[:, :4]),
        "crossed": (operator.submatrix(np.array([1, 4, 8]), np.array([0, 4])), matrix[np.ix_([1, 4, 8], [0, 4])]),
        "to_dense": (operator.to_dense(), matrix),
        "shifted": (operator.shifted(0.7).to_dense(), matrix + 0.7 * np.eye(10)),
        "negated": (scaled(operator, -1.0).to_dense(), -matrix),
        "restricted": (operator.restricted(chosen).to_dense(), matrix[np.ix_(chosen, chosen)]),
        "prepared": (operator.prepared_for(10**6).to_dense(), matrix),
    }
    for what, (ours, expected) in pairs.items():
        np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance, err_msg=what)
    indices, values = operator.apply_top(chosen, weights, 3)
    full = matrix[:, chosen] @ weights
    assert set(indices) == set(np.argsort(-np.abs(full))[:3])
    np.testing.assert_allclose(values, full[indices], rtol=tolerance * 10)
    assert not operator.diagonal().flags.writeable


def _projected(matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
    project = np.eye(len(x)) - np.outer(x, x)
    return project @ matrix @ project


FORMULAS = {
    "projection": _projected,
    "hotelling": lambda matrix, x: matrix - (x @ matrix @ x) * np.outer(x, x),
    "schur": lambda matrix, x: matrix - np.outer(matrix @ x, matrix @ x) / (x @ matrix @ x),
}


@pytest.mark.parametrize("name", ["dense", "data", "sparse-data", "memmap"])
@pytest.mark.parametrize("deflation", sorted(FORMULAS))
def test_deflation_equals_the_formula(deflation: str, name: str, rng: np.random.Generator) -> None:
    factor = rng.standard_normal((15, 8))
    expected = factor.T @ factor / 15
    operator = OPERATORS[name](factor)
    for _ in range(3):
        x = rng.standard_normal(8) * (rng.random(8) < 0.6)
        x[0] = 1.0
        x /= np.linalg.norm(x)
        operator = DEFLATIONS[deflation](operator, x * 5.0)
        expected = FORMULAS[deflation](expected, x)
        if deflation == "projection":
            assert np.abs(operator.block_apply(x[:, None])).max() < 1e-12
    np.testing.assert_allclose(operator.to_dense(), expected, atol=1e-12)
    np.testing.assert_allclose(operator.diagonal(), np.diag(expected), atol=1e-12)
    chosen, weights = np.array([0, 3, 5], dtype=np.int64), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(operator.apply_support(chosen, weights), expected[:, chosen] @ weights, atol=1e-11)
    np.testing.assert_allclose(operator.columns(chosen), expected[:, chosen], atol=1e-12)
    assert isinstance(operator, LowRankUpdated)


def test_deflation_copies_no_matrix(rng: np.random.Generator) -> None:
    matrix = np.cov(rng.standard_normal((20, 30)).T)
    operator = as_operator(matrix)
    twice = operator.deflated(np.eye(30)[0]).deflated(np.eye(30)[1])
    assert isinstance(twice, LowRankUpdated)
    assert twice.base is operator
    assert np.shares_memory(twice.base.matrix, matrix)  # type: ignore[attr-defined]
    assert twice.left.shape == (30, 4)
    assert np.shares_memory(operator.shifted(1.0).base.matrix, matrix)  # type: ignore[attr-defined]


def test_deflation_refuses_zero() -> None:
    with pytest.raises(StartError, match=r"non-zero vector of length 3, got shape \(3,\), norm 0.0"):
        as_operator(np.eye(3)).deflated(np.zeros(3))


@pytest.mark.parametrize("order", ["C", "F"])
def test_symmetric_matrix_is_not_copied(order: str, rng: np.random.Generator) -> None:
    matrix = np.array(np.cov(rng.standard_normal((9, 6)).T), order=order)
    assert np.shares_memory(as_operator(matrix).matrix, matrix)  # type: ignore[attr-defined]


def test_column_major_data_are_not_copied(rng: np.random.Generator) -> None:
    data = np.asfortranarray(rng.standard_normal((9, 6)))
    operator = covariance(data, center=False)
    assert np.shares_memory(operator.variables, data)  # type: ignore[attr-defined]
    assert operator.variables.flags.c_contiguous  # type: ignore[attr-defined]
    assert not np.shares_memory(covariance(data, center=False, scale=True).variables, data)  # type: ignore[attr-defined]


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
        "memmap": lambda: _memmap(tmp_path, data),
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


def _memmap(folder: Path, data: np.ndarray) -> np.memmap:
    mapped = np.memmap(folder / "x.bin", dtype=data.dtype, mode="w+", shape=data.shape)
    mapped[:] = data
    return mapped


@pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")
def test_large_means_do_not_hurt(rng: np.random.Generator) -> None:
    data = rng.standard_normal((50, 12)) + 1e7
    expected = np.cov((data - 1e7).T)
    for form in (data, sp.csr_array(data)):
        np.testing.assert_allclose(covariance(form).to_dense(), expected, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(covariance(form).diagonal(), np.diag(expected), rtol=1e-7)


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


def test_sparse_data_stay_sparse(rng: np.random.Generator) -> None:
    data = sp.csr_array(sp.random(400, 3000, density=0.01, random_state=rng))
    operator = covariance(data, scale=False)
    assert operator.variables.nnz == data.nnz  # type: ignore[attr-defined]
    result = sparse_eigenvector(operator, 10, start="max-variance", certify=False)
    dense = covariance(data.toarray())
    reference = sparse_eigenvector(dense, 10, start="max-variance", certify=False)
    assert tuple(result.support) == tuple(reference.support)
    assert result.value == pytest.approx(reference.value, rel=1e-10)


def test_gram_matrix_is_formed_only_where_it_pays(rng: np.random.Generator) -> None:
    small, wide = covariance(rng.standard_normal((30, 50))), covariance(rng.standard_normal((5, 3000)))
    assert isinstance(small.prepared_for(600), DenseSymmetric)
    assert isinstance(small.prepared_for(4), DenseData)
    assert isinstance(wide.prepared_for(600), DenseData)


def test_too_large_to_form_is_refused() -> None:
    wide = covariance(np.random.default_rng(0).standard_normal((3, 5000)))
    with pytest.raises(UnsupportedOperatorError, match=r"5000 x 5000 matrix would need 0.2 GiB; .* up to size 4096"):
        wide.to_dense()


def test_repr_is_one_line() -> None:
    assert repr(as_operator(np.eye(3))) == "<DenseSymmetric 3 x 3 float64>"


def test_pandas_sparse_and_nullable_frames() -> None:
    dense = pd.DataFrame({"a": [1.0, 0.0, 2.0], "b": [0.0, 0.0, 3.0]})
    as_sparse = dense.astype(pd.SparseDtype("float64", 0.0))
    nullable = dense.astype("Float64")
    for frame in (as_sparse, nullable):
        np.testing.assert_allclose(covariance(frame).to_dense(), np.cov(dense.to_numpy().T), atol=1e-14)
