"""From request to result: which weights are used, what is said where none fit, and what an interruption leaves."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import DtypeError, GraphFileError, OptionError, SolveInterrupted, UnusedWeightsWarning
from sparseigen.graphs import certifying, task
from sparseigen.graphs.search import Searcher
from sparseigen.graphs.vertex_sets import VertexSet
from sparseigen.report import graph_report
from sparseigen.report.page import unpack
from sparseigen.results import DenseSubgraphResult, DensityCurve, StopReason
from tests.common.interruption import interrupting

EDGES = [("a", "b", 1.0, 5), ("b", "c", 2.0, 1), ("c", "d", 8.0, 1), ("d", "a", 4.0, 3), ("a", "c", 0.5, 9)]


def graph_with_attributes() -> nx.Graph:
    graph = nx.Graph()
    for first, second, km, flights in EDGES:
        graph.add_edge(first, second, km=km, flights=flights, airline="X", open=True)
    return graph


def as_frame(graph: nx.Graph) -> pd.DataFrame:
    frame = nx.to_pandas_edgelist(graph)  # its columns come in any order
    names = ["source", "target", "km", "flights", "airline", "open", "weight"]
    return frame[[name for name in names if name in frame.columns]]


def as_igraph(graph: nx.Graph):
    igraph = pytest.importorskip("igraph")
    return igraph.Graph.DataFrame(as_frame(graph), directed=False, use_vids=False)


FORMS = {
    "networkx": lambda graph: graph,
    "networkx directed both ways": lambda graph: graph.to_directed(),
    "igraph": as_igraph,
    "pandas": as_frame,
    "polars": lambda graph: pl.from_pandas(as_frame(graph)),
    "arrow": lambda graph: pl.from_pandas(as_frame(graph)).to_arrow(),
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_the_attribute_asked_for_is_used(form):
    graph = FORMS[form](graph_with_attributes())
    assert set(se.densest_k_subgraph(graph, 2, weight="km").nodes) == {"c", "d"}
    assert se.densest_k_subgraph(graph, 2, weight="km").weight == 16.0
    assert set(se.densest_k_subgraph(graph, 2, weight="flights").nodes) == {"a", "c"}
    every = se.densest_k_subgraph(graph, 4, weight=None)
    assert every.weight == 10.0
    assert every.settings["weight"] is None
    assert "unused_attributes" not in every.settings
    assert [result.weight for result in se.density_curve(graph, [2, 4], weight="km")] == [16.0, 31.0]
    assert [result.weight for result in se.disjoint_dense_subgraphs(graph, 2, 2, weight="km")] == [16.0, 2.0]


@pytest.mark.parametrize("form", sorted(FORMS))
def test_numbers_that_are_not_used_are_named(form):
    graph = FORMS[form](graph_with_attributes())
    with pytest.warns(UnusedWeightsWarning, match=r"not used: 'km', 'flights'\. Pass weight='km' to use") as caught:
        result = se.densest_k_subgraph(graph, 4)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert result.weight == 10.0
    assert result.settings["unused_attributes"] == ["km", "flights"]


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_name_that_no_edge_has(form):
    graph = FORMS[form](graph_with_attributes())
    with pytest.raises(OptionError, match=r"weight='cost' is an attribute of no edge; numeric .*'km', 'flights'\."):
        se.densest_k_subgraph(graph, 2, weight="cost")
    bare = FORMS[form](nx.Graph([("a", "b"), ("b", "c")]))
    with pytest.raises(OptionError, match="no attribute is numeric"):
        se.density_curve(bare, [2], weight="cost")


@pytest.mark.parametrize("form", sorted(FORMS))
def test_an_attribute_called_weight_silences_the_others(form):
    graph = graph_with_attributes()
    nx.set_edge_attributes(graph, 2.0, "weight")
    result = se.densest_k_subgraph(FORMS[form](graph), 4)
    assert result.weight == 20.0
    assert "weight" not in result.settings
    assert se.densest_k_subgraph(FORMS[form](graph), 4, weight=None).weight == 10.0


def test_edges_without_the_attribute_count_one():
    graph = nx.Graph([("a", "b"), ("b", "c")])
    graph["a"]["b"]["km"] = 7
    assert se.densest_k_subgraph(graph, 3, weight="km").weight == 16.0


def test_parallel_edges_count_each():
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    nx.set_edge_attributes(graph, 0.25, "weight")
    assert se.densest_k_subgraph(graph, 2, weight=None).weight == 4.0
    assert se.densest_k_subgraph(graph, 2).weight == 1.0


def test_negative_numbers_that_are_not_used_do_no_harm():
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=-3.0)
    assert se.densest_k_subgraph(graph, 2, weight=None).weight == 2.0


def test_text_is_no_weight():
    graph = graph_with_attributes()
    with pytest.raises(DtypeError, match="the edge attribute 'airline' must be a number"):
        se.densest_k_subgraph(graph, 2, weight="airline")
    with pytest.raises(OptionError, match="weight=3 must be the name of an edge attribute or column, or None"):
        se.densest_k_subgraph(graph, 2, weight=3)


def test_the_weight_may_stand_before_the_ends():
    frame = pd.DataFrame({"km": [1.0, 9.0], "first": [0, 1], "second": [1, 2]})
    assert se.densest_k_subgraph(frame, 2, weight="km").weight == 18.0


UNNAMED = {
    "a matrix": sp.csr_array(np.array([[0, 3.0, 0, 0], [3.0, 0, 5.0, 0], [0, 5.0, 0, 0], [0, 0, 0, 0]])),
    "an edge array": np.array([[0, 1, 3.0], [1, 2, 5.0]]),
}


@pytest.mark.parametrize("what", sorted(UNNAMED))
def test_weights_without_a_name(what):
    graph = UNNAMED[what]
    assert se.densest_k_subgraph(graph, 3).weight == 16.0
    assert se.densest_k_subgraph(graph, 3, weight=None).weight == 4.0
    with pytest.raises(OptionError, match=rf"weight='km' names an edge attribute or column; {what} has one weight per"):
        se.densest_k_subgraph(graph, 3, weight="km")
    if what == "a matrix":
        assert se.densest_k_subgraph(graph.toarray(), 3, weight=None).weight == 4.0
    else:
        assert se.densest_k_subgraph(tuple(graph.T), 3, weight=None).weight == 4.0


def test_files_and_what_is_read_from_them(tmp_path):
    path = tmp_path / "edges.csv"
    as_frame(graph_with_attributes()).drop(columns=["airline", "open"]).to_csv(path, index=False)
    assert se.densest_k_subgraph(path, 2, weight="km").weight == 16.0
    graph = se.read_graph(path, weight="km")
    assert se.densest_k_subgraph(graph, 4).weight == 31.0
    assert se.densest_k_subgraph(graph, 4, weight=None).weight == 10.0
    with pytest.raises(OptionError, match=r"weight='km' names .*; a graph from read_graph has one weight per edge"):
        se.densest_k_subgraph(graph, 4, weight="km")
    with pytest.raises(GraphFileError, match="weight='cost' is not a column"):
        se.densest_k_subgraph(path, 4, weight="cost")
    table = tmp_path / "edges.parquet"
    as_frame(graph_with_attributes()).to_parquet(table)
    with pytest.warns(UnusedWeightsWarning, match=r"\. Pass weight='km' to use it"):
        assert se.densest_k_subgraph(table, 4).weight == 10.0
    with pytest.warns(UnusedWeightsWarning, match=r"\. Pass read_graph weight='km' to use it"):
        assert se.densest_k_subgraph(se.read_graph(table), 4).weight == 10.0
    assert se.densest_k_subgraph(table, 4, weight=None).weight == 10.0
    graphml = tmp_path / "edges.graphml"
    nx.write_graphml(graph_with_attributes(), graphml)
    for named in (table, graphml):
        assert se.densest_k_subgraph(named, 4, weight="km").weight == 31.0
        assert se.densest_k_subgraph(se.read_graph(named, weight="km"), 4).weight == 31.0
        with pytest.raises(OptionError, match=r"weight='cost' is an attribute of no edge; numeric .*'km', 'flights'"):
            se.read_graph(named, weight="cost")


def test_the_page_shows_the_weights_that_were_used():
    graph = graph_with_attributes()
    result = se.densest_k_subgraph(graph, 2, weight="km")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = graph_report(result, graph=graph)
        graph_report(se.densest_k_subgraph(graph, 2, weight=None), graph=graph)
    packed = page.html.split('id="payload">')[1].split("<")[0]
    assert unpack(packed)["points"][0]["edges"] == [[0, 1, 8.0]]


@pytest.mark.parametrize("method", ["greedy-ravi", "greedy-feige", "peel", "tpower-relaxed"])
def test_interrupted_methods_keep_the_sets_they_have(method, monkeypatch):
    made = VertexSet.of.__func__
    calls = iter([True] * 100 if method == "greedy-feige" else [True, False])

    def limited(cls, graph, vertices):
        if len(vertices) == 5 or not next(calls):
            raise KeyboardInterrupt
        return made(cls, graph, vertices)

    monkeypatch.setattr(VertexSet, "of", classmethod(limited))
    with pytest.raises(SolveInterrupted) as stop:
        se.density_curve(nx.karate_club_graph(), [4, 5, 6], method=method)
    assert stop.value.result.ks == [4]
    assert next(iter(stop.value.result)).stop_reason is StopReason.INTERRUPTED


def test_an_interrupted_polish_keeps_the_plain_run(monkeypatch):
    club = nx.karate_club_graph()
    plain = se.densest_k_subgraph(club, 5, start="degree", polish=None)
    monkeypatch.setattr(Searcher, "finish", interrupting())
    with pytest.raises(SolveInterrupted) as stop:
        se.densest_k_subgraph(club, 5, start="degree")
    assert stop.value.result.nodes == plain.nodes
    assert stop.value.result.stop_reason is StopReason.INTERRUPTED


def test_an_interruption_before_anything_was_found(monkeypatch):
    monkeypatch.setattr(task, "GraphFacts", interrupting())
    with pytest.raises(SolveInterrupted) as stop:
        se.disjoint_dense_subgraphs(nx.karate_club_graph(), 5, 2)
    assert stop.value.result is None
    assert stop.value.completed == ()


def test_an_interrupted_curve_keeps_its_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    club = nx.karate_club_graph()
    monkeypatch.setattr(Searcher, "search", interrupting(Searcher.search, 2))
    with pytest.raises(SolveInterrupted) as stop:
        se.density_curve(club, [4, 6, 8])
    found = stop.value.result
    assert isinstance(found, DensityCurve)
    assert found.ks == [4, 6]
    assert found[4].certificate is None
    assert found[4].stop_reason.value == "interrupted"
    with pytest.raises(SolveInterrupted) as stop:
        se.density_curve(club, [4, 6, 8])
    assert stop.value.result is None


def test_interrupted_disjoint_sets_keep_the_finished_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Searcher, "search", interrupting(Searcher.search, 2))
    with pytest.raises(SolveInterrupted) as stop:
        se.disjoint_dense_subgraphs(nx.karate_club_graph(), 4, 3)
    assert len(stop.value.completed) == 2
    assert isinstance(stop.value.completed[0], DenseSubgraphResult)


def test_one_set_interrupted_during_its_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certifying, "UpperBounds", interrupting())
    with pytest.raises(SolveInterrupted) as stop:
        se.densest_k_subgraph(nx.karate_club_graph(), 4)
    assert isinstance(stop.value.result, DenseSubgraphResult)
    assert stop.value.result.certificate is None
