"""Edges and weights: repeated edges, missing ends, large numbers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.checks.graphs import vertex_labels


def test_vertices_of_a_graph_on_a_cluster() -> None:
    assert vertex_labels(None, "seeds") is None
    np.testing.assert_array_equal(vertex_labels({np.int32(5), 2, 9}, "seeds"), [2, 5, 9])
    for nodes, error, message in (
        ("abc", errors.OptionError, "seeds='abc' must be a collection of vertices"),
        (7, errors.OptionError, "seeds=7 must be a collection"),
        ([1, "b"], errors.NodeError, "seeds holds 'b'; the vertices of a graph on a cluster are whole numbers"),
        ([True], errors.NodeError, "seeds holds True"),
    ):
        with pytest.raises(error, match=message):
            vertex_labels(nodes, "seeds")


def test_large_vertex_numbers_stay_apart(tmp_path: Path) -> None:
    for name, text in (
        ("a.txt", "9007199254740993 1\n9007199254740992 2\n"),
        ("b.txt", "inf 1\n2 3\n"),
        ("c.txt", "nan 1\n"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(errors.InputError, match=name):
            se.read_graph(tmp_path / name)
    with pytest.raises(errors.IntegerOverflowError, match="beyond 2\\^63"):
        se.densest_k_subgraph(np.array([[2**63, 1], [1, 2]], dtype=np.uint64), 2)
    np.savez(tmp_path / "wraps.npz", src=np.array([0, 2**32 + 1]), dst=np.array([1, 0]))
    with pytest.raises(errors.InputError, match=r"wraps\.npz"):
        se.read_graph(tmp_path / "wraps.npz")


def test_weights_whose_sum_runs_over() -> None:
    small = np.full(4, 100, dtype=np.int8)  # summed as they are: -112
    assert se.densest_k_subgraph((np.zeros(4, int), np.ones(4, int), small), 2).weight == 800.0
    assert se.densest_k_subgraph(sp.coo_array((small, ([0] * 4, [1] * 4)), shape=(2, 2)), 2).weight == 400.0
    heavy = sp.coo_array((np.full(4, 2**62), ([0, 0, 0, 0], [1, 1, 1, 1])), shape=(2, 2))
    with pytest.raises(errors.IntegerOverflowError, match="2\\^62"):
        se.densest_k_subgraph(heavy, 2)


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
