"""The page about dense subgraphs: the curve, the drawing, the map, and what it refuses."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest

import sparseigen as se
from sparseigen.checks.frames import as_positions
from sparseigen.errors import OptionError, ShapeError
from sparseigen.report import graph_report
from sparseigen.report.words import subgraph_sentence
from tests.unit.report.outline import HOSTILE, Outline, payload


def test_graph_page_holds_the_curve(club) -> None:
    graph, curve = club
    report = graph_report(curve, graph=graph, title=HOSTILE)
    outline = Outline(report.html)
    assert HOSTILE not in report.html
    assert outline.outside == []
    for used in re.findall(r'byId\("([a-z-]+)"\)', report.html):
        assert used in outline.ids
    inside = payload(report)
    for point, result in zip(inside["points"], curve, strict=True):
        assert {inside["nodes"][v] for v in point["members"]} == {str(node) for node in result.nodes}
        assert sum(point["inside"]) == pytest.approx(result.weight, rel=1e-5)
        assert sum(w for _, _, w in point["edges"]) * 2 == pytest.approx(result.weight, rel=1e-5)
        assert point["density"] == pytest.approx(result.density, rel=1e-5)
    assert all(place is not None for place in inside["xy"])
    assert inside["opening"] == int(np.argmax(curve.densities))
    assert payload(graph_report(curve, graph=graph))["xy"] == inside["xy"]  # the layout is always the same


def test_graph_page_on_a_map_and_without_a_graph(club) -> None:
    graph, curve = club
    positions = {node: (10.0 + i, 20.0) for i, node in enumerate(graph)}
    inside = payload(graph_report(curve, graph=graph, positions=positions, chosen=5))
    assert inside["isMap"]
    assert inside["points"][inside["opening"]]["k"] == 5
    node = inside["points"][0]["members"][0]
    label = next(label for label in graph if str(label) == inside["nodes"][node])
    assert inside["xy"][node] == [20.0, positions[label][0]]
    assert len(inside["background"]) == len(graph) - len(inside["nodes"])
    bare = payload(graph_report(curve.results[0]))
    assert bare["xy"] is None
    assert bare["points"][0]["edges"] == []


def test_graph_page_of_separate_groups() -> None:
    groups = se.disjoint_dense_subgraphs(nx.caveman_graph(3, 4), k=4, count=3)
    report = graph_report(groups)
    assert "Which 3 separate groups of 4 of the 12 vertices" in report.html
    assert "no group of 4 members is more tightly connected" in subgraph_sentence(groups[0])


def test_graph_page_refuses(club) -> None:
    _, curve = club
    with pytest.raises(OptionError, match="there is no result to report on"):
        graph_report([])
    with pytest.raises(OptionError, match=r"chosen=4 is not among the k of the results \(3, 5, 8\)"):
        graph_report(curve, chosen=4)
    with pytest.raises(ShapeError, match="graph has 5 vertices; the results are about one with 34"):
        graph_report(curve, graph=nx.path_graph(5))
    with pytest.raises(OptionError, match="positions has none of the chosen nodes"):
        graph_report(curve, positions={"elsewhere": (0.0, 0.0)})
    with pytest.raises(OptionError, match="Were they swapped"):
        as_positions({"a": (-120.0, 45.0)})
    with pytest.raises(OptionError, match="it must be two numbers"):
        as_positions({"a": "north"})
    with pytest.raises(OptionError, match="give a mapping from node"):
        as_positions([1, 2])


@pytest.mark.parametrize("given", [None, 5, "x", [5], [se.sparse_eigenvector(np.eye(3), 2)]])
def test_pages_about_what_is_no_subgraph(given):
    with pytest.raises(OptionError, match="curve_or_result"):
        graph_report(given)
