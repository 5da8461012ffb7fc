"""Objects that NumPy, pandas or scikit-learn would quietly turn into other numbers than the caller meant."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.io.columns import Table

WIDE = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant


needs_wide = pytest.mark.skipif(not WIDE, reason="longdouble is float64 on this platform")


CALLS = {
    "matrix": lambda values: se.sparse_eigenvector(values, 1),
    "covariance": lambda values: se.covariance(values),
    "exact": lambda values: se.solve_exact(values, 1),
    "bound": lambda values: se.upper_bound(values, 1),
    "graph": lambda values: se.densest_k_subgraph(values, 2),
    "estimator": lambda values: se.SparsePCA(cardinality=1).fit(values),
}


@pytest.mark.parametrize("call", CALLS)
def test_masked_entries_are_not_read_through_the_mask(call: str) -> None:
    values = np.ma.masked_array(np.ones((5, 5)) + np.diag(np.arange(5.0)), mask=np.eye(5))
    with pytest.raises(errors.NonFiniteError, match="5 masked entries"):
        CALLS[call](values)


def test_an_empty_mask_is_none(table) -> None:
    plain, masked = (se.sparse_eigenvector(se.covariance(values), 2) for values in (table, np.ma.masked_array(table)))
    assert plain.value == masked.value


def test_masks_of_vectors_and_new_data(table) -> None:
    matrix = table.T @ table
    with pytest.raises(errors.NonFiniteError, match="start has 1 masked entry"):
        se.sparse_eigenvector(matrix, 2, start=np.ma.masked_array(np.ones(5), mask=[1, 0, 0, 0, 0]))
    with pytest.raises(errors.NonFiniteError, match="candidates has 1 masked entry"):
        se.sparse_eigenvector(matrix, 2, candidates=np.ma.masked_array([0, 1, 2], mask=[1, 0, 0]))
    fitted = se.SparsePCA(cardinality=2).fit(table)
    with pytest.raises(errors.NonFiniteError, match="masked"):
        fitted.transform(np.ma.masked_array(table, mask=table > 1))
    with pytest.raises(errors.NonFiniteError, match="Z has 1 masked entry"):
        fitted.inverse_transform(np.ma.masked_array([[1.0]], mask=[[1]]))


@pytest.mark.parametrize("call", ["matrix", "covariance", "exact", "bound", "graph"])
def test_rows_of_different_lengths(call: str) -> None:
    with pytest.raises(errors.ShapeError, match="rows of different lengths"):
        CALLS[call]([[1.0, 2.0], [3.0]])


@needs_wide
@pytest.mark.parametrize("call", CALLS)
def test_extended_precision_is_not_rounded_without_a_word(call: str) -> None:
    values = np.ones((5, 5), dtype=np.longdouble) + np.diag(np.arange(5))
    values[0, 0] += np.longdouble(2) ** -60
    with pytest.raises(errors.RangeError, match="no exact float64 value"):
        CALLS[call](values)
    values[0, 0] = np.longdouble("1e4000")
    with pytest.raises(errors.RangeError, match=r"1e\+4000"):
        CALLS[call](values)


@needs_wide
def test_extended_precision_that_fits_is_taken(table) -> None:
    matrix = table.T @ table
    wide = matrix.astype(np.longdouble)
    assert se.sparse_eigenvector(wide, 2).value == se.sparse_eigenvector(matrix, 2).value
    assert se.sparse_eigenvector(sp.csr_array(wide), 1).value == se.sparse_eigenvector(matrix, 1).value


LARGE = 2**53 + 1


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [LARGE, 1, 2], "b": [0.5, 1.0, 2.0]}),
        pd.DataFrame({"a": pd.array([LARGE, 1, 2], dtype="Int64"), "b": pd.array([1, 2, 5], dtype="Int64")}),
        pl.DataFrame({"a": [LARGE, 1, 2], "b": [0.5, 1.0, 2.0]}),
    ],
    ids=["pandas", "nullable", "polars"],
)
def test_whole_numbers_beside_others_are_not_rounded(frame) -> None:
    with pytest.raises(errors.IntegerOverflowError, match=f"column 'a' holds the integer {LARGE}"):
        se.covariance(frame)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sp.csr_array])
def test_the_estimator_does_not_round_whole_numbers(form) -> None:
    with pytest.raises(errors.IntegerOverflowError, match="beyond 2"):
        se.SparsePCA(cardinality=1).fit(form(np.array([[LARGE, 1], [2, 3], [4, 9]])))


@pytest.mark.parametrize(
    "values",
    [
        np.array([[1, 2], [3, 5]], "M8[s]"),
        np.array([[1, 2], [3, 5]], "m8[s]"),
        np.zeros((2, 2), dtype=[("a", "f8")]),
        np.array([["1", "2"], ["3", "5"]]),
        pd.DataFrame({"a": pd.date_range("2020", periods=3), "b": pd.date_range("2021", periods=3)}),
    ],
    ids=["dates", "durations", "records", "text", "frame"],
)
def test_the_estimator_takes_no_dates_records_or_text_for_numbers(values) -> None:
    with pytest.raises(errors.DtypeError):
        se.SparsePCA(cardinality=1).fit(values)


def test_frames_of_polars_without_an_array_of_numpy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors.DtypeError, match=r"collect\(\)"):
            se.covariance(pl.LazyFrame({"a": [1, 2], "b": [2, 3]}))
    wide = pl.DataFrame({"a": [2**70, 0], "b": [0, 1]}, schema={"a": pl.Int128, "b": pl.Int128})
    with pytest.raises(errors.DtypeError, match="2 columns are not numeric"):
        se.covariance(wide)
    with pytest.raises(errors.DtypeError, match="128 bits"):
        se.densest_k_subgraph(wide, 2)


@pytest.mark.parametrize("call", [se.explained_variance, se.components.refine_components])
@pytest.mark.parametrize(
    ("vectors", "error"),
    [
        ([[1.0, 2.0], [3.0]], errors.ShapeError),
        ("x", errors.DtypeError),
        (None, errors.DtypeError),
        (np.full((1, 5), np.nan), errors.NonFiniteError),
        (np.full((1, 5), 1e300), errors.RangeError),
        (np.ma.masked_array(np.ones((1, 5)), mask=np.eye(5)[:1]), errors.NonFiniteError),
        (np.ones((2, 4)), errors.ShapeError),
    ],
    ids=["ragged", "text", "none", "nan", "huge", "masked", "short"],
)
def test_components_that_are_none(call, vectors, error, table) -> None:
    with pytest.raises(error, match="vectors"):
        call(table.T @ table, vectors)


def test_a_component_without_entries_cannot_be_refined(table) -> None:
    with pytest.raises(errors.InputError, match="component 1 of vectors is the zero vector"):
        se.components.refine_components(table.T @ table, [np.eye(5)[0], np.zeros(5)])


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize != 16, reason="needs 80-bit numbers")
def test_bits_that_are_no_number_are_refused() -> None:
    """An 80-bit number without its leading one: the processor calls it invalid."""
    bits = np.zeros((3, 2, 16), dtype=np.uint8)
    bits[..., 8:10] = (0x00, 0x40)
    bits[..., 0] = 7
    with pytest.raises(errors.InputError):
        se.covariance(bits.view(np.longdouble)[..., 0])


def test_rows_named_like_the_columns_in_another_order_are_refused():
    """All off-diagonal entries are equal, so that every order of the rows leaves a symmetric matrix."""
    frame = pd.DataFrame([[2.0, 2.0, 2.0], [2.0, 1.0, 2.0], [2.0, 2.0, 0.5]], index=list("abc"), columns=list("cba"))
    calls = [lambda a: se.sparse_eigenvector(a, 2), lambda a: se.solve_exact(a, 2), lambda a: se.upper_bound(a, 2)]
    for call in calls:
        with pytest.raises(errors.InputError, match="in another order: row 0 is 'a', column 0 is 'c'"):
            call(frame)
    with pytest.raises(errors.InputError, match="in another order"):
        se.sparse_eigenvector(Table(frame.to_numpy(), tuple("abc"), tuple("cab")), 2)
    for rows in (list("cba"), [0, 1, 2], list("xyz")):
        assert se.sparse_eigenvector(frame.set_axis(rows), 2).names == ("c", "b", "a")
