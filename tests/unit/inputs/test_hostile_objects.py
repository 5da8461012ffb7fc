"""Objects that NumPy, scipy or networkx would quietly turn into other numbers than the caller meant."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors

WIDE = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant
needs_wide = pytest.mark.skipif(not WIDE, reason="longdouble is float64 on this platform")


@pytest.fixture
def table(rng):
    return rng.standard_normal((12, 5))


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


def bracket(graph, k: int = 2) -> tuple[Fraction, Fraction]:
    proof = se.densest_k_subgraph(graph, k).certificate
    return Fraction(proof.lower_bound), Fraction(proof.upper_bound)


@pytest.mark.parametrize("form", ["multigraph", "edges", "columns", "matrix", "float32"])
def test_sums_of_repeated_edges_are_rounded_in_neither_direction(form: str, rng) -> None:
    for weights in ([0.1, 0.7], [0.1] * 3, *(rng.random(int(rng.integers(2, 9))) for _ in range(20))):
        values = np.array([*weights, 1e-9], dtype=np.float32 if form == "float32" else np.float64)
        ends = np.array([[0, 1]] * len(weights) + [[2, 3]])
        if form == "multigraph":
            graph = nx.MultiGraph()
            graph.add_weighted_edges_from((int(u), int(v), float(w)) for (u, v), w in zip(ends, values, strict=True))
        elif form == "edges":
            graph = np.column_stack([ends, values])
        elif form in ("columns", "float32"):
            graph = (ends[:, 0], ends[:, 1], values)
        else:
            rows, columns = np.concatenate([ends, ends[:, ::-1]]).T
            graph = sp.coo_array((np.concatenate([values, values]), (rows, columns)), shape=(4, 4))
        low, high = bracket(graph)
        assert low <= sum(Fraction(float(w)) for w in values[:-1]) <= high
        assert high - low < 1e-12


def test_repeated_edges_whose_sums_are_floats_stay_exact() -> None:
    edges = np.array([[0, 1, 0.5], [0, 1, 0.25], [1, 2, 0.5]])
    assert bracket(edges) == (Fraction(3, 4), Fraction(3, 4))


def test_parallel_edges_do_not_hide_a_negative_one() -> None:
    graph = nx.MultiGraph([("a", "b", {"weight": 5}), ("a", "b", {"weight": -3}), ("c", "d", {"weight": 1})])
    with pytest.raises(errors.NegativeWeightError, match="weight -3"):
        se.densest_k_subgraph(graph, 2)


def test_loops_of_an_undirected_graph_count_once() -> None:
    graph = nx.Graph([("a", "a", {"weight": 5}), ("a", "b", {"weight": 1})])
    assert se.densest_k_subgraph(graph, 2, self_loops="keep").density == 3.5


@pytest.mark.parametrize(
    ("weight", "error"),
    [
        ([1], errors.DtypeError),
        ((1,), errors.DtypeError),
        ({1: 2}, errors.DtypeError),
        (1 + 0j, errors.DtypeError),
        (pd.NA, errors.DtypeError),
        (np.array([1, 2]), errors.DtypeError),
        (Fraction(1, 3), errors.DtypeError),
        (Decimal("0.1"), errors.DtypeError),
        (10**30, errors.IntegerOverflowError),
        (None, errors.NonFiniteError),
    ],
    ids=str,
)
def test_edge_attributes_that_are_no_weights(weight, error) -> None:
    with pytest.raises(error, match="weight"):
        se.densest_k_subgraph(nx.Graph([("a", "b", {"weight": weight}), ("b", "c", {"weight": 1})]), 2)


@pytest.mark.parametrize("weight", [Fraction(1, 4), Decimal("0.25"), np.float32(0.25), np.float16(0.25)], ids=repr)
def test_exact_numbers_of_other_types_are_weights(weight) -> None:
    graph = nx.Graph([("a", "b", {"weight": weight}), ("b", "c", {"weight": 0.125})])
    assert bracket(graph) == (Fraction(1, 4), Fraction(1, 4))


@pytest.mark.parametrize("dtype", ["f2", ">f8", ">f4", ">i4"])
def test_every_kind_of_number_is_a_weight(dtype: str) -> None:
    matrix = (4 - np.abs(np.subtract.outer(np.arange(5), np.arange(5)))).astype(dtype)
    expected = se.densest_k_subgraph(matrix.astype(float), 3).density
    assert se.densest_k_subgraph(matrix, 3).density == expected
    edges = np.array([[0, 1, 2], [1, 2, 1], [0, 2, 4], [2, 3, 1]])
    assert se.densest_k_subgraph((edges[:, 0], edges[:, 1], edges[:, 2].astype(dtype)), 2).density == 4.0


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA], ids=str)
@pytest.mark.parametrize("form", ["pandas", "polars", "array"])
def test_a_missing_end_of_an_edge_is_no_vertex(missing, form: str) -> None:
    source, target = ["a", missing, "b"], ["b", "c", "c"]
    if form == "polars":
        graph = pl.DataFrame({"source": ["a", None, "b"], "target": target})
    elif form == "pandas":
        graph = pd.DataFrame({"source": source, "target": target})
    else:
        graph = np.array([source, target], dtype=object).T
    with pytest.raises(errors.NodeError, match="no vertex in row 1"):
        se.densest_k_subgraph(graph, 2)


def test_names_that_cannot_be_names() -> None:
    with pytest.raises(errors.DtypeError, match="vertices must be whole numbers or names"):
        se.densest_k_subgraph(pd.DataFrame({"source": [[1], [2]], "target": [[2], [3]]}), 2)


@pytest.mark.parametrize("size", [2, 3])
def test_a_small_adjacency_matrix_is_not_taken_for_edges(size: int) -> None:
    matrix = 5 * (np.ones((size, size), dtype=int) - np.eye(size, dtype=int))
    with pytest.raises(errors.ShapeError, match="an adjacency matrix or"):
        se.densest_k_subgraph(matrix, 2)
    assert se.densest_k_subgraph(sp.csr_array(matrix), 2).density == 5.0


@pytest.mark.parametrize("size", [3, 4])
def test_an_adjacency_frame_is_not_taken_for_edges(size: int) -> None:
    frame = pd.DataFrame(np.ones((size, size)), index=list("abcd")[:size], columns=list("abcd")[:size])
    with pytest.raises(errors.ShapeError, match="an adjacency matrix"):
        se.densest_k_subgraph(frame, 2)


def test_a_frame_of_as_many_edges_as_columns() -> None:
    assert se.densest_k_subgraph(pd.DataFrame([[0, 1, 2], [1, 2, 7], [2, 0, 1]]), 2).density == 7.0


def test_columns_of_few_edges_are_columns() -> None:
    columns = (np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1.0, 7.0, 1.0]))
    assert se.densest_k_subgraph(columns, 2).density == 7.0


def test_frames_that_are_no_edges() -> None:
    with pytest.raises(errors.ShapeError, match="Series of pandas"):
        se.densest_k_subgraph(pd.Series([1, 2]), 2)
    with pytest.raises(errors.DuplicateNamesError, match="2 columns 'weight'"):
        se.densest_k_subgraph(pd.DataFrame([[1, 2, 3, 4]], columns=["source", "target", "weight", "weight"]), 2)
    with pytest.raises(errors.ShapeError, match="give edges"):
        se.densest_k_subgraph(nx.Graph, 2)


def test_arguments_of_the_wrong_shape(table) -> None:
    matrix = table.T @ table
    with pytest.raises(errors.OptionError, match="nonnegative=array"):
        se.sparse_eigenvector(matrix, 2, nonnegative=np.array([True, False]))
    with pytest.raises(errors.ShapeError, match="rows of different lengths"):
        se.sparse_eigenvector(matrix, 2, candidates=[[0], [1, 2]])
    for limit in (-1, 0, "x", None):
        with pytest.raises(errors.OptionError, match="time_limit"):
            se.sparse_eigenvector(matrix, 2, method="exact", method_options={"time_limit": limit})
    with pytest.raises(errors.OptionError, match="cardinalities=3 must be several numbers"):
        se.cardinality_path(matrix, 3)
    with pytest.raises(errors.OptionError, match="cardinalities=None must be several numbers"):
        se.sparse_components(matrix, None)
    with pytest.raises(errors.OptionError, match="ks=3 must be several numbers"):
        se.density_curve(nx.karate_club_graph(), 3)
    with pytest.raises(errors.DtypeError, match="Z has dtype"):
        se.SparsePCA(cardinality=2).fit(table).inverse_transform([["a"]])


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


@pytest.mark.parametrize("answer", [None, "x", 3, [1.0, 0.0]])
def test_only_answers_are_verified_and_reported(answer, table) -> None:
    with pytest.raises(errors.OptionError, match="must be a SparseEigResult"):
        se.verify(answer, table.T @ table)
    with pytest.raises(errors.OptionError, match="must be a SparseEigResult"):
        se.report.component_report([answer])
    with pytest.raises(errors.OptionError, match="results=3 must be several"):
        se.report.component_report(3)


def test_the_time_of_a_verification_is_a_time(table) -> None:
    matrix = table.T @ table
    with pytest.raises(errors.OptionError, match="time_limit"):
        se.verify(se.sparse_eigenvector(matrix, 2), matrix, time_limit=-1)


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e300, 1e307])
def test_repeated_edges_of_extreme_weight(scale: float) -> None:
    weights = [scale, 3 * scale, scale, scale]
    low, high = bracket((np.array([0, 0, 0, 2]), np.array([1, 1, 1, 3]), np.array(weights)))
    assert low <= sum(Fraction(weight) for weight in weights[:3]) <= high


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_repeated_edges_in_the_other_byte_order(form: str) -> None:
    """scipy holds such weights and can do nothing with them."""
    ends = np.array([[0, 0, 0, 1, 1], [1, 1, 2, 2, 2]])
    matrix = sp.coo_array((np.array([0.1, 0.2, 0.3, 0.4, 0.5]), (ends[0], ends[1])), shape=(3, 3))
    if form != "coo":
        rows = sp.csr_array((matrix.data, ends[1], np.array([0, 3, 5, 5])), shape=(3, 3))
        matrix = rows if form == "csr" else sp.csc_array((matrix.data, ends[1], np.array([0, 3, 5, 5])), shape=(3, 3))
    expected = se.densest_k_subgraph(matrix, 2)
    matrix.data = matrix.data.astype(">f8")
    found = se.densest_k_subgraph(matrix, 2)
    assert (found.nodes, found.density) == (expected.nodes, expected.density)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize != 16, reason="needs 80-bit numbers")
def test_bits_that_are_no_number_are_refused() -> None:
    """An 80-bit number without its leading one: the processor calls it invalid."""
    bits = np.zeros((3, 2, 16), dtype=np.uint8)
    bits[..., 8:10] = (0x00, 0x40)
    bits[..., 0] = 7
    with pytest.raises(errors.InputError):
        se.covariance(bits.view(np.longdouble)[..., 0])
