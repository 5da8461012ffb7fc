"""The three calls: one k, a curve, disjoint sets; what their results hold."""

from __future__ import annotations

import networkx as nx
import pytest

import sparseigen as se
from sparseigen.errors import CardinalityError, OptionError
from tests.unit.graphs.random_graphs import random_graph


def test_k_equal_n_is_the_whole_graph(rng):
    graph = random_graph(rng, 40, 0.2)
    result = se.densest_k_subgraph(graph, 40)
    assert result.weight == graph.sum()
    assert result.certificate.optimal


def test_curve_keeps_the_order_asked_for_and_helps_itself(rng):
    matrix = random_graph(rng, 100, 0.1)
    curve = se.density_curve(matrix, [20, 5, 10, 5])
    assert curve.ks == [20, 5, 10, 5]
    assert curve.results[1].density == curve.results[3].density == curve[5].density
    for result in curve:
        assert result.density <= result.certificate.upper_bound
        assert result.density >= se.densest_k_subgraph(matrix, result.k, start="degree", polish=None).density
    assert len(curve) == 4
    assert "k = 5 to 20" in repr(curve)
    assert curve.to_dict()["results"][0]["k"] == 20
    with pytest.raises(OptionError, match="ks is empty"):
        se.density_curve(matrix, [])


def test_disjoint_subgraphs_share_no_vertex():
    graph = nx.les_miserables_graph()
    found = se.disjoint_dense_subgraphs(graph, 7, 4)
    nodes = [node for result in found for node in result.nodes]
    assert len(nodes) == len(set(nodes)) == 28
    assert found[0].density == se.densest_k_subgraph(graph, 7).density
    with pytest.raises(CardinalityError, match="need 80"):
        se.disjoint_dense_subgraphs(graph, 8, 10)


def test_scaling_the_weights_scales_the_answer(rng):
    matrix = random_graph(rng, 60, 0.2)
    matrix.data = rng.random(matrix.nnz)
    matrix = matrix + matrix.T
    one = se.densest_k_subgraph(matrix, 10)
    other = se.densest_k_subgraph(matrix * 1024.0, 10)
    assert one.nodes == other.nodes
    assert other.density == pytest.approx(1024.0 * one.density, rel=1e-12)


def test_result_is_frozen_and_prints():
    result = se.densest_k_subgraph(nx.complete_graph(4), 2, certify=False)
    assert result.certificate is None
    assert "uncertified" in repr(result)
    assert result.to_dict()["certificate"] is None
    with pytest.raises(ValueError, match="read-only"):
        result.indicator[0] = 5


def test_efforts_and_time_limits_of_graphs():
    graph = nx.gnm_random_graph(60, 300, seed=3)
    found = {effort: se.densest_k_subgraph(graph, 8, effort=effort) for effort in ("quick", "default", "thorough")}
    assert [result.settings["polish"] for result in found.values()] == [None, "swap", "tabu"]
    weights = [result.weight for result in found.values()]
    assert weights == sorted(weights)
    bounds = [result.certificate.upper_bound for result in found.values()]
    assert bounds == sorted(bounds, reverse=True)
    assert [stage.name for stage in found["default"].stages] == ["search", "bound"]
    assert found["default"].to_dict()["stages"][1]["bound"] == found["default"].certificate.upper_bound
    named = se.densest_k_subgraph(graph, 8, polish="swap", effort="thorough")
    assert named.settings["polish"] == "swap"
    hurried = se.densest_k_subgraph(graph, 8, time_limit=1e-9)
    assert hurried.stop_reason.value == "time_limit"
    assert hurried.density <= hurried.certificate.upper_bound
    assert len(hurried.nodes) == 8
