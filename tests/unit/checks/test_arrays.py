"""Matrices and data: what is refused says what, got, allowed and next; what is taken is never written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import sparseigen as se
from fuzzing.truth import Truth
from sparseigen import covariance, errors, sparse_eigenvector
from sparseigen.operators import as_operator
from tests.common.checks import check_bracket

GOOD = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])


def matrix_with(i: int, j: int, value: float) -> np.ndarray:
    matrix = GOOD.copy()
    matrix[i, j] = value
    return matrix


BAD_MATRICES: list[tuple[str, Any, type[Exception], str]] = [
    ("not square", np.ones((2, 3)), errors.ShapeError, r"shape (2, 3); it must be square. For data"),
    ("one dimension", np.ones(3), errors.ShapeError, "shape (3,); it must be square"),
    ("three dimensions", np.ones((2, 2, 2)), errors.ShapeError, "shape (2, 2, 2)"),
    ("empty", np.empty((0, 0)), errors.ShapeError, "empty (shape (0, 0))"),
    ("not symmetric", matrix_with(0, 2, 0.25), errors.NotSymmetricError, "(0, 2) and (2, 0) differ by 0.25"),
    ("nan", matrix_with(1, 1, np.nan), errors.NonFiniteError, "1 NaN or infinite value, the first at row 1, column 1"),
    ("inf", matrix_with(2, 0, np.inf), errors.NonFiniteError, "1 NaN or infinite value, the first at row 2, column 0"),
    ("object", GOOD.astype(object), errors.DtypeError, "dtype object; it must hold real numbers"),
    ("text", np.array([["a", "b"], ["b", "a"]]), errors.DtypeError, "dtype <U1"),
    ("complex", GOOD.astype(complex), errors.DtypeError, "complex (complex128)"),
    ("integer overflow", np.array([[2**53 + 1, 0], [0, 1]]), errors.IntegerOverflowError, "9007199254740993"),
    ("zero", np.zeros((3, 3)), errors.ZeroMatrixError, "the matrix is zero"),
    ("sparse zero", sp.csr_array((3, 3)), errors.ZeroMatrixError, "the matrix is zero"),
    ("sparse not square", sp.csr_array((2, 3)), errors.ShapeError, "shape (2, 3)"),
    (
        "sparse not symmetric",
        sp.csr_array(matrix_with(0, 2, 0.25)),
        errors.NotSymmetricError,
        "differ by 0.25 (largest entry 3)",
    ),
    ("sparse nan", sp.csr_array(matrix_with(1, 2, np.nan)), errors.NonFiniteError, "at row 1, column 2"),
    ("a path", "matrix.csv", errors.UnsupportedOperatorError, "got str"),
    ("a function", len, errors.UnsupportedOperatorError, "got builtin_function_or_method"),
    (
        "named nan",
        pd.DataFrame(matrix_with(1, 1, np.nan), columns=["a", "b", "c"]),
        errors.NonFiniteError,
        "column 1 ('b')",
    ),
]


@pytest.mark.parametrize(("what", "matrix", "error", "message"), BAD_MATRICES, ids=[row[0] for row in BAD_MATRICES])
def test_bad_matrix(what: str, matrix: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        sparse_eigenvector(matrix, 1)


def data_with(i: int, j: int, value: float) -> np.ndarray:
    data = np.arange(12.0).reshape(4, 3) ** 2
    data[i, j] = value
    return data


BAD_DATA: list[tuple[str, Any, dict[str, Any], type[Exception], str]] = [
    ("one sample", np.ones((1, 3)), {}, errors.TooFewSamplesError, "1 sample; a covariance needs at least 2"),
    ("no samples", np.empty((0, 3)), {}, errors.ShapeError, "empty (shape (0, 3))"),
    ("one dimension", np.ones(3), {}, errors.ShapeError, "1 dimensions"),
    ("nan", data_with(2, 1, np.nan), {}, errors.NonFiniteError, "row 2, column 1; all must be finite. Drop those rows"),
    ("sparse inf", sp.csr_array(data_with(2, 1, np.inf)), {}, errors.NonFiniteError, "row 2, column 1"),
    ("constant", np.ones((4, 3)), {}, errors.ZeroMatrixError, "all columns are constant"),
    ("nearly constant", np.array([[1e9], [1e9 + 1e-6]]), {"scale": True}, errors.ConstantColumnError, "all 1 columns"),
    ("overflow", np.array([[1e300, 0], [-1e300, 1]]), {}, errors.NonFiniteError, "squares overflow"),
    ("integer overflow", np.array([[2**60, 0], [1, 1]]), {}, errors.IntegerOverflowError, "1152921504606846976"),
    ("complex", np.ones((4, 3), complex), {}, errors.DtypeError, "complex"),
    ("object", np.ones((4, 3), object), {}, errors.DtypeError, "dtype object"),
    (
        "duplicate names",
        pd.DataFrame([[1.0, 2.0], [3.0, 5.0]], columns=["a", "a"]),
        {},
        errors.DuplicateNamesError,
        "1 repeated column names, the first is 'a'",
    ),
    ("text column", pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), {}, errors.DtypeError, "the first is 'b'"),
    ("polars text", pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), {}, errors.DtypeError, "the first is 'b'"),
    ("polars gap", pl.DataFrame({"a": [1.0, None, 2.0]}), {}, errors.NonFiniteError, "row 1, column 0 ('a')"),
    ("ddof too large", data_with(0, 0, 0.0), {"ddof": 4}, errors.OptionError, "ddof=4 leaves no degrees of freedom"),
    ("ddof negative", data_with(0, 0, 0.0), {"ddof": -1}, errors.OptionError, "ddof=-1 must be a whole number"),
    ("center", data_with(0, 0, 0.0), {"center": "yes"}, errors.OptionError, "center='yes' must be True or False"),
]


@pytest.mark.parametrize(("what", "data", "options", "error", "message"), BAD_DATA, ids=[row[0] for row in BAD_DATA])
def test_bad_data(what: str, data: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        covariance(data, **options)


def test_memmap_with_nan_names_the_place(tmp_path: Path) -> None:
    data = np.memmap(tmp_path / "x.bin", dtype=np.float64, mode="w+", shape=(4, 3))
    data[:] = data_with(3, 2, np.nan)
    with pytest.raises(errors.NonFiniteError, match="row 3, column 2"):
        covariance(data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 9.0], [3.0, 1.0, 2.0], [7.0, 0.0, 1.0]]),
        lambda: np.asfortranarray([[1.0, 2.0, 4.0], [0.0, 1.0, 9.0], [3.0, 1.0, 2.0], [7.0, 0.0, 1.0]]),
    ],
)
@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}, {"center": False, "scale": True}])
def test_input_is_never_written(make: Callable[[], np.ndarray], options: dict[str, Any]) -> None:
    data = make()
    before = data.copy()
    data.flags.writeable = False
    for value in (data, sp.csr_array(data), sp.csc_array(data)):
        result = sparse_eigenvector(covariance(value, **options), 2)
        assert result.value > 0
    np.testing.assert_array_equal(data, before)


def test_wide_data_works() -> None:
    data = np.random.default_rng(0).standard_normal((5, 40))
    result = sparse_eigenvector(covariance(data), 4)
    assert len(result.support) == 4
    assert result.value > np.var(data, axis=0, ddof=1).max()


def test_rounding_asymmetry_is_averaged_and_said() -> None:
    matrix = matrix_with(0, 1, 1.0 + 1e-13)
    result = sparse_eigenvector(matrix, 2)
    assert result.settings["symmetrised"] is True
    assert sparse_eigenvector(GOOD, 2).settings["symmetrised"] is False


def test_values_so_large_that_sums_overflow() -> None:
    """Every entry is finite, and nothing can be computed from them."""
    with pytest.raises(
        errors.NonFiniteError, match="holds values so large that sums overflow; divide it by a constant"
    ):
        se.covariance(np.full((3, 2), 1e308))
    with pytest.raises(errors.NonFiniteError, match="so large that their squares overflow; divide X by a constant"):
        se.covariance(np.array([[1e200, 1.0], [-1e200, 2.0], [0.0, 1.0]]))


SHAPE = np.array([[3.0, -1.0, 0.5], [-1.0, 2.0, 0.25], [0.5, 0.25, -1.0]])


@pytest.mark.parametrize("scale", [1.7e38, 1e-40])
def test_float32_matrices_of_extreme_scale_are_exact_in_float64(scale):
    matrix = (SHAPE / 3.0 * scale).astype(np.float32)
    assert as_operator(matrix).dtype == np.float64
    check_bracket(se.sparse_eigenvector(matrix, 2).certificate, Truth.of_matrix(matrix), 2)


def test_averaging_a_huge_matrix_does_not_overflow():
    matrix = np.array([[1.2e308, 1e290], [1e290 * (1 + 1e-15), 2.0]])
    check_bracket(se.sparse_eigenvector(matrix, 2).certificate, Truth.of_matrix(matrix), 2)


def test_averaging_denormal_numbers_is_part_of_the_margin():
    smallest = np.nextafter(0.0, 1.0)
    matrix = np.array([[0.0, 2e10 * smallest], [(2e10 + 1) * smallest, 0.0]])
    check_bracket(se.sparse_eigenvector(matrix, 2).certificate, Truth.of_matrix(matrix), 2)
