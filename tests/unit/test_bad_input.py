"""Bad input gets a typed error that says what, got, allowed and next; the message is pinned by its rendered values."""

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

from sparseigen import covariance, errors, sparse_eigenvector

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
    ("constant column", data_with(0, 0, 0.0) * [1, 0, 1], {"scale": True}, errors.ConstantColumnError, "column 1"),
    (
        "constant sparse column",
        sp.csr_array(data_with(0, 0, 0.0) * [1, 0, 1]),
        {"scale": True},
        errors.ConstantColumnError,
        "1 column is constant, the first is column 1",
    ),
    (
        "constant named column",
        pd.DataFrame({"a": [1.0, 2.0], "flat": [5.0, 5.0]}),
        {"scale": True},
        errors.ConstantColumnError,
        "column 1 ('flat')",
    ),
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


BAD_ARGUMENTS: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    (
        "zero",
        {"cardinality": 0},
        errors.CardinalityError,
        "cardinality=0 must be between 1 and the number of variables (3)",
    ),
    ("negative", {"cardinality": -1}, errors.CardinalityError, "cardinality=-1 must be between"),
    ("too many", {"cardinality": 4}, errors.CardinalityError, "cardinality=4 must be between 1"),
    (
        "float",
        {"cardinality": 2.0},
        errors.CardinalityError,
        "cardinality=2.0 must be a whole number (int), got float. Use 2",
    ),
    ("bool", {"cardinality": True}, errors.CardinalityError, "got bool"),
    ("text", {"cardinality": "2"}, errors.CardinalityError, "got str"),
    (
        "more than candidates",
        {"cardinality": 2, "candidates": [1]},
        errors.CardinalityError,
        "number of candidates (1)",
    ),
    ("which", {"which": "middle"}, errors.OptionError, "which='middle' is not known. Allowed: 'largest', 'smallest'"),
    ("method", {"method": "magic"}, errors.OptionError, "method='magic' is not known. Allowed: "),
    ("start", {"start": "nowhere"}, errors.OptionError, "start='nowhere' is not known. Allowed: 'auto', 'backward'"),
    ("polish", {"polish": "wax"}, errors.OptionError, "polish='wax' is not known. Allowed: 'solve', 'swap', None"),
    ("start length", {"start": [1.0, 2.0]}, errors.StartError, "shape (2,); it must be a vector of length 3"),
    ("start zero", {"start": np.zeros(3)}, errors.StartError, "start is the zero vector"),
    ("start nan", {"start": [1.0, np.nan, 0.0]}, errors.NonFiniteError, "start has 1 NaN"),
    ("start text", {"start": ["a", "b", "c"]}, errors.DtypeError, "start has dtype <U1"),
    (
        "start negative",
        {"start": [-1.0, 0, 0], "nonnegative": True},
        errors.StartError,
        "start has no positive entry",
    ),
    ("start off", {"start": [1.0, 0, 0], "candidates": [1, 2]}, errors.OptionError, "start is zero on all candidates"),
    ("rtol", {"rtol": -1e-3}, errors.OptionError, "rtol=-0.001 must be a finite number >= 0"),
    ("atol", {"atol": "small"}, errors.OptionError, "atol='small' must be a number >= 0, got str"),
    ("iterations", {"max_iterations": 0}, errors.OptionError, "max_iterations=0 must be a whole number >= 1"),
    ("rng", {"rng": "lucky"}, errors.OptionError, "rng='lucky' must be None"),
    ("nonnegative", {"nonnegative": 1}, errors.OptionError, "nonnegative=1 must be True or False"),
    ("callback", {"on_iteration": 3}, errors.OptionError, "on_iteration=3 must be a function"),
    ("certify", {"certify": "yes"}, errors.OptionError, "certify='yes' must be True or False"),
    ("candidates range", {"candidates": [3]}, errors.OptionError, "candidates holds index 3; indices run from 0 to 2"),
    ("candidates empty", {"candidates": []}, errors.OptionError, "candidates is empty"),
    ("candidates mask", {"candidates": [True, False]}, errors.ShapeError, "mask of length 2"),
    ("candidates names", {"candidates": ["a"]}, errors.OptionError, "has no names"),
    ("candidates float", {"candidates": [0.5]}, errors.DtypeError, "candidates has dtype float64"),
    ("candidates shape", {"candidates": [[0, 1]]}, errors.ShapeError, "candidates has 2 dimensions"),
]


@pytest.mark.parametrize(("what", "options", "error", "message"), BAD_ARGUMENTS, ids=[row[0] for row in BAD_ARGUMENTS])
def test_bad_argument(what: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        sparse_eigenvector(GOOD, **({"cardinality": 1} | options))


def test_unknown_candidate_name() -> None:
    frame = pd.DataFrame(GOOD, columns=["a", "b", "c"])
    with pytest.raises(errors.OptionError, match="candidates names 'z', which is not a variable"):
        sparse_eigenvector(frame, 1, candidates=["z"])


def test_memmap_with_nan_names_the_place(tmp_path: Path) -> None:
    data = np.memmap(tmp_path / "x.bin", dtype=np.float64, mode="w+", shape=(4, 3))
    data[:] = data_with(3, 2, np.nan)
    with pytest.raises(errors.NonFiniteError, match="row 3, column 2"):
        covariance(data)


def test_errors_are_the_built_ins_callers_expect() -> None:
    assert issubclass(errors.CardinalityError, ValueError)
    assert issubclass(errors.UnsupportedOperatorError, TypeError)
    assert issubclass(errors.MissingDependencyError, ImportError)
    assert issubclass(errors.DtypeError, TypeError)
    assert issubclass(errors.SolveInterrupted, KeyboardInterrupt)


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
