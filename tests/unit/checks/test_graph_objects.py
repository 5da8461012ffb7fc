"""The same graph in every form gives the same answer; wrong graphs say what is wrong."""

from __future__ import annotations

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
from sparseigen.checks.graph_objects import check_graph
from sparseigen.errors import (
    CardinalityError,
    DtypeError,
    NegativeWeightError,
    NodeError,
    NonFiniteError,
    OptionError,
    ShapeError,
)
from tests.unit.checks.test_graphs import bracket


def weighted_karate():
    return nx.karate_club_graph()


DOORS = {
    "networkx": lambda g: g,
    "networkx directed both ways": lambda g: g.to_directed(),
    "scipy": lambda g: nx.to_scipy_sparse_array(g),
    "scipy coo": lambda g: nx.to_scipy_sparse_array(g).tocoo(),
    "dense": lambda g: nx.to_numpy_array(g),
    "edge array": lambda g: np.array([(u, v, d["weight"]) for u, v, d in g.edges(data=True)]),
    "edge columns": lambda g: tuple(np.array([(u, v, d["weight"]) for u, v, d in g.edges(data=True)]).T),
    "pandas": lambda g: nx.to_pandas_edgelist(g),
    "polars": lambda g: pl.from_pandas(nx.to_pandas_edgelist(g)),
    "arrow": lambda g: pl.from_pandas(nx.to_pandas_edgelist(g)).to_arrow(),
}


@pytest.mark.parametrize("door", sorted(DOORS))
def test_every_door_gives_the_same_answer(door):
    graph = weighted_karate()
    wanted = se.densest_k_subgraph(graph, 6)
    found = se.densest_k_subgraph(DOORS[door](graph), 6)
    assert found.density == wanted.density
    assert set(found.nodes) == set(wanted.nodes)
    inside = list(found.nodes)
    assert found.weight == 2 * graph.subgraph(inside).size(weight="weight")


def test_igraph_is_accepted():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph.Full(4)
    graph.vs["name"] = list("abcd")
    assert se.densest_k_subgraph(graph, 3).density == 2.0


def test_string_labels_come_back_and_the_input_stays():
    graph = nx.les_miserables_graph()
    before = nx.to_numpy_array(graph)
    result = se.densest_k_subgraph(graph, 8)
    assert all(isinstance(node, str) for node in result.nodes)
    assert [list(graph)[i] for i in np.flatnonzero(result.indicator)] == list(result.nodes)
    assert result.weight == 2 * graph.subgraph(result.nodes).size(weight="weight")
    assert np.array_equal(nx.to_numpy_array(graph), before)


def test_mixed_labels_and_tuples():
    graph = nx.Graph([("a", 1), (1, (2, 3)), ("a", (2, 3)), ("a", "tail")])
    assert set(se.densest_k_subgraph(graph, 3).nodes) == {"a", 1, (2, 3)}


def test_read_only_matrix_is_not_written():
    matrix = sp.csr_array(nx.to_scipy_sparse_array(weighted_karate()).astype(float))
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    assert se.densest_k_subgraph(matrix, 6).density == se.densest_k_subgraph(weighted_karate(), 6).density


def test_duplicates_are_summed_and_said():
    edges = np.array([[0, 1], [0, 1], [1, 2]])
    result = se.densest_k_subgraph(edges, 2)
    assert result.nodes == (0, 1)
    assert result.weight == 4.0
    assert result.settings["duplicate_edges"] == "1 summed"


def test_direction_average_and_either():
    arcs = sp.csr_array(([1.0, 1.0, 1.0], ([0, 1, 1], [1, 0, 2])), shape=(3, 3))
    average = se.densest_k_subgraph(arcs, 3)
    either = se.densest_k_subgraph(arcs, 3, directed="either")
    assert average.weight == 3.0  # pi'W pi of the arcs themselves
    assert either.weight == 4.0
    assert "averaged" in average.settings["treatment"]
    assert "max" in either.settings["treatment"]


def test_one_way_edge_list_is_undirected():
    result = se.densest_k_subgraph(np.array([[0, 1], [1, 2], [0, 2]]), 3)
    assert result.density == 2.0
    assert "undirected" in result.settings["treatment"]


def test_self_loops():
    matrix = np.zeros((4, 4))
    matrix[0, 1] = matrix[1, 0] = 1.0
    matrix[2, 2] = 3.0
    assert se.densest_k_subgraph(matrix, 2).weight == 2.0
    kept = se.densest_k_subgraph(matrix, 1, self_loops="keep")
    assert kept.nodes == (2,)
    assert kept.weight == 3.0
    assert kept.edge_density == 0.0


def test_sparse_ids_keep_their_names():
    edges = np.array([[10**12, 5], [5, 77], [77, 10**12], [77, 3]])
    assert set(se.densest_k_subgraph(edges, 3).nodes) == {5, 77, 10**12}


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (np.array([[0, 1, 1.0], [1, 2, -2.0]]), NegativeWeightError, r"edge \(1, 2\) has weight -2.0"),
        (np.array([[0, 1, 1.0], [1, 2, np.nan]]), NonFiniteError, r"edge \(1, 2\) has weight nan"),
        (np.array([[0.5, 1.0]]), DtypeError, "whole"),
        (np.zeros((4, 5)), ShapeError, r"shape \(4, 5\)"),
        (sp.csr_array((3, 4)), ShapeError, "square"),
        (sp.csr_array(np.array([[0, 1j], [0, 0]])), DtypeError, "complex"),
        (nx.Graph(), ShapeError, "no vertices"),
        (np.zeros((0, 2), dtype=int), ShapeError, "empty"),
        (pd.DataFrame({"a": [1]}), ShapeError, "needs two"),
    ],
)
def test_wrong_graphs_are_refused(graph, error, message):
    with pytest.raises(error, match=message):
        se.densest_k_subgraph(graph, 1)


def test_negative_networkx_weight_names_the_edge():
    graph = nx.Graph()
    graph.add_edge("x", "y", weight=-1.5)
    with pytest.raises(NegativeWeightError, match=r"\('x', 'y'\) has weight -1.5"):
        se.densest_k_subgraph(graph, 1)


def test_text_weight_is_refused():
    graph = nx.Graph()
    graph.add_edge(0, 1, weight="heavy")
    with pytest.raises(DtypeError, match="'heavy'"):
        se.densest_k_subgraph(graph, 1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 0}, CardinalityError, "between 1 and the number of vertices"),
        ({"k": 35}, CardinalityError, "34"),
        ({"k": 2.0}, CardinalityError, "Use 2"),
        ({"method": "best"}, OptionError, "greedy-feige"),
        ({"start": "middle"}, OptionError, "loads"),
        ({"polish": "wax"}, OptionError, "tabu"),
        ({"directed": "both"}, OptionError, "either"),
        ({"directed": "outgoing"}, OptionError, "greedy-ravi"),
        ({"self_loops": "maybe"}, OptionError, "keep"),
        ({"certify": "yes"}, OptionError, "certify"),
        ({"rng": -1}, OptionError, "rng"),
        ({"must_include": [99]}, NodeError, "99"),
        ({"candidates": "abc"}, OptionError, "collection"),
        ({"must_include": [1], "candidates": [2, 3, 4]}, OptionError, "not among the candidates"),
        ({"must_include": [1, 2, 3, 4], "k": 3}, CardinalityError, "less than the 4"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        se.densest_k_subgraph(nx.karate_club_graph(), **({"k": 3} | arguments))


def test_isolated_vertices_of_a_matrix_count():
    graph = check_graph(sp.csr_array((5, 5)))
    assert graph.n_vertices == 5
    assert se.densest_k_subgraph(graph, 2).certificate.optimal


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


def test_an_adjacency_frame_with_rows_in_another_order_is_no_list_of_edges():
    weights = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    frame = pd.DataFrame(weights, index=list("abc"), columns=list("abc"))
    with pytest.raises(errors.ShapeError, match="an adjacency matrix"):
        se.densest_k_subgraph(frame.loc[list("bca")], 2)


def test_rustworkx_graphs() -> None:
    rustworkx = pytest.importorskip("rustworkx")
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(["ann", "ben", "cleo", "dan"])
    graph.add_edges_from([(0, 1, 3.5), (1, 2, 1.0), (2, 3, 2.0)])
    graph.remove_node(3)
    checked = check_graph(graph)
    assert list(checked.labels) == ["ann", "ben", "cleo"]
    assert checked.matrix.toarray().tolist() == [[0, 3.5, 0], [3.5, 0, 1], [0, 1, 0]]
    arcs = rustworkx.PyDiGraph()
    arcs.add_nodes_from([None, None, None])
    arcs.add_edges_from([(0, 1, {"calls": 2}), (1, 2, {"calls": 5, "name": "x"})])
    plain = check_graph(arcs)
    assert (plain.directed, plain.notes["unused_attributes"]) == (True, ["calls"])
    assert check_graph(arcs, "calls").matrix[1, 2] == 5
    with pytest.raises(OptionError, match="weight='call' is an attribute of no edge; numeric attributes are 'calls'"):
        check_graph(arcs, "call")


def test_neighbours_of_networkx_graphs_without_weights() -> None:
    graph = nx.les_miserables_graph()
    plain, weighted = check_graph(graph, None), check_graph(graph)
    assert (plain.matrix.toarray() == (weighted.matrix.toarray() > 0)).all()
    assert list(plain.labels) == list(weighted.labels)
    arcs = nx.DiGraph([(0, 1), (1, 2), (2, 2)])
    assert check_graph(arcs, None).matrix.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1]]
