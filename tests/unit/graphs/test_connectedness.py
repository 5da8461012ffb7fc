"""Connected groups: counted, searched, and refused where there is none."""

import networkx as nx
import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import CardinalityError, OptionError
from sparseigen.graphs.connectedness import count_parts
from tests.unit.graphs.random_graphs import integer_graph


def two_cliques():
    graph = nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(5))
    nx.add_path(graph, [3, 9, 10, 4])
    return graph


def test_a_result_counts_its_connected_parts():
    whole = se.densest_k_subgraph(two_cliques(), 9)
    assert whole.connected_parts == 2
    assert "2 connected parts" in repr(whole)
    assert whole.to_dict()["connected_parts"] == 2
    assert se.densest_k_subgraph(two_cliques(), 5).connected_parts == 1


@pytest.mark.parametrize("k", [6, 7, 8, 9, 10])
def test_a_connected_group_is_connected_and_within_the_bound(k):
    graph = two_cliques()
    found = se.densest_k_subgraph(graph, k, connected=True)
    assert nx.is_connected(graph.subgraph(found.nodes))
    assert found.connected_parts == 1
    free = se.densest_k_subgraph(graph, k)
    assert found.density <= free.density <= found.certificate.upper_bound
    assert found.settings["connected"] is True


def test_connected_groups_of_random_graphs_are_as_dense_as_enumeration_says():
    from itertools import combinations

    for seed in range(6):
        graph = nx.gnp_random_graph(10, 0.25, seed=seed)
        pieces = [graph.subgraph(chosen) for chosen in combinations(graph, 5)]
        weights = [2 * piece.number_of_edges() for piece in pieces if nx.is_connected(piece)]
        if weights:
            found = se.densest_k_subgraph(graph, 5, connected=True)
            assert found.weight == max(weights)


def test_required_vertices_are_connected_by_a_path():
    graph = two_cliques()
    found = se.densest_k_subgraph(graph, 6, connected=True, must_include=[0, 8])
    assert {0, 8} <= set(found.nodes)
    assert nx.is_connected(graph.subgraph(found.nodes))
    with pytest.raises(CardinalityError, match="more than k=3"):
        se.densest_k_subgraph(graph, 3, connected=True, must_include=[0, 8])


def test_groups_that_cannot_be_connected_are_refused():
    graph = nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(3))
    with pytest.raises(CardinalityError, match="largest connected part of the graph has 4"):
        se.densest_k_subgraph(graph, 5, connected=True)
    with pytest.raises(OptionError, match="no path connects the vertices of must_include"):
        se.densest_k_subgraph(graph, 5, connected=True, must_include=[0, 5])


def test_parts_go_by_edges_of_positive_weight():
    matrix = np.zeros((4, 4))
    matrix[0, 1] = matrix[1, 0] = matrix[2, 3] = matrix[3, 2] = 2.0
    assert count_parts(integer_graph(matrix), np.arange(4)) == 2
    assert count_parts(integer_graph(matrix), np.array([0])) == 1
