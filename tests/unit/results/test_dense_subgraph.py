"""Curves of dense subgraphs: by k, in the order asked for."""

from __future__ import annotations

import networkx as nx
import pytest

import sparseigen as se
from sparseigen.errors import ShapeError


@pytest.fixture(scope="module")
def curve():
    return se.density_curve(nx.karate_club_graph(), [8, 3, 5])


def test_a_curve_is_looked_up_by_k(curve) -> None:
    assert [curve[k].k for k in (3, 5, 8)] == [3, 5, 8]
    for wrong in (0, 4, -1, 9):
        with pytest.raises(KeyError, match=rf"k = {wrong} is not on the curve; it has 8, 3, 5\."):
            curve[wrong]


def test_a_curve_is_gone_through_in_the_order_asked_for(curve) -> None:
    assert len(curve) == 3
    assert curve.ks == [8, 3, 5] == [result.k for result in curve]
    assert [result.density for result in curve] == curve.densities.tolist()


def test_the_subgraph_comes_in_the_callers_package() -> None:
    club = nx.karate_club_graph()
    found = se.densest_k_subgraph(club, 6)
    induced = found.subgraph(club)
    assert set(induced) == set(found.nodes)
    assert 2 * induced.size(weight="weight") == found.weight
    matrix = nx.to_scipy_sparse_array(club)
    assert found.subgraph(matrix).sum() == found.weight
    igraph = pytest.importorskip("igraph")
    assert found.subgraph(igraph.Graph.from_networkx(club)).vcount() == 6
    rustworkx = pytest.importorskip("rustworkx")
    assert found.subgraph(rustworkx.networkx_converter(club)).num_nodes() == 6
    with pytest.raises(ShapeError, match="graph has 3 vertices; the result is about one with 34"):
        found.subgraph(nx.path_graph(3))


def test_frames_of_sets_and_curves() -> None:
    club = nx.karate_club_graph()
    curve = se.density_curve(club, [5, 3])
    frame = curve.to_frame()
    assert frame["k"].tolist() == [5, 3]
    assert frame["density"].tolist() == curve.densities.tolist()
    assert frame["nodes"][1] == list(curve[3].nodes)
    members = curve[5].to_frame(club)
    assert members["weight_inside"].sum() == curve[5].weight
    assert curve[5].to_frame()["node"].tolist() == list(curve[5].nodes)
