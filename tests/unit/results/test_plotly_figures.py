"""Pictures by plotly: tables by colour, and networks."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import sparseigen as se
from sparseigen.results.plotly_figures import heat_map, points


def test_heat_maps_leave_zeros_empty() -> None:
    figure = heat_map(names=["a", "<b>"], columns=["PC1"], table=np.array([[0.0], [-0.5]]), title="t")
    assert figure.data[0].z[0][0] == -0.5
    assert np.isnan(figure.data[0].z[1][0])
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;", "a")


def test_points_by_group() -> None:
    figure = points(places=np.eye(2), groups={"u": [0], "v": [1]}, titles=("x", "y"), arrows={"a": (1.0, 0.0)})
    assert [trace.name for trace in figure.data] == ["u", "v"]
    assert figure.layout.showlegend


def test_networks_have_lines_as_wide_as_their_weights() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 4.0), (1, 2, 2.0), (0, 2, 1.0), (2, 3, 0.1)])
    figure = se.densest_k_subgraph(graph, 3).plot(graph)
    widths = [trace.line.width for trace in figure.data[:-1]]
    assert max(widths) == 4.0
    assert len(set(widths)) == 3
    fixed = se.densest_k_subgraph(graph, 2).plot(graph, positions={0: (0.0, 0.0), 1: (1.0, 2.0)})
    assert fixed.data[-1].y == pytest.approx((0.0, 2.0))
