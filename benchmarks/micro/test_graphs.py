"""Dense subgraphs: building the graph, the default answer, the paper's algorithm."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

import sparseigen as se


@pytest.fixture(scope="module")
def graph() -> nx.Graph:
    planted = nx.gnp_random_graph(2000, 0.005, seed=7)
    planted.add_edges_from(nx.gnp_random_graph(40, 0.6, seed=8).edges())
    return planted


@pytest.mark.parametrize(
    "options", [{}, {"start": "degree", "polish": None, "certify": False}], ids=["default", "plain"]
)
def test_densest(benchmark: Any, graph: nx.Graph, options: dict[str, Any]) -> None:
    result = benchmark(se.densest_k_subgraph, graph, 40, **options)
    assert len(result.nodes) == 40


def test_density_curve(benchmark: Any, graph: nx.Graph) -> None:
    curve = benchmark(se.density_curve, graph, range(10, 60, 10))
    assert [point.k for point in curve] == [10, 20, 30, 40, 50]
