"""networkx finds the backend, and calls it where it is asked to."""

from __future__ import annotations

import subprocess
import sys

import networkx as nx
import pytest

from sparseigen.networkx_backend import NAME, Backend, backend, get_info

pytestmark = [
    pytest.mark.skipif(
        not hasattr(nx.approximation, "densest_subgraph"), reason="networkx before 3.5 has no such call"
    ),
    pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs"),
]


def test_networkx_calls_the_backend() -> None:
    graph = nx.disjoint_union(nx.complete_graph(5), nx.path_graph(20))
    assert nx.approximation.densest_subgraph(graph, backend=NAME) == (2.0, {0, 1, 2, 3, 4})
    named = nx.relabel_nodes(graph, {i: f"v{i}" for i in graph})
    assert nx.approximation.densest_subgraph(named, method="greedy++", backend=NAME)[1] == {f"v{i}" for i in range(5)}
    with pytest.raises(NotImplementedError, match="pagerank"):
        nx.pagerank(graph, backend=NAME)
    graph.add_edge(0, 0)
    with pytest.raises(NotImplementedError, match="densest_subgraph"):
        nx.approximation.densest_subgraph(graph, backend=NAME)


def test_graphs_are_not_copied() -> None:
    graph = nx.path_graph(3)
    wrapped = Backend.convert_from_nx(graph)
    assert Backend.convert_to_nx(wrapped) is graph
    assert Backend.convert_from_nx(wrapped) is wrapped
    assert (wrapped.is_directed(), wrapped.is_multigraph()) == (False, False)
    assert Backend.convert_to_nx(0.5) == 0.5
    assert backend.can_run("pagerank", (wrapped,), {}) == "sparseigen does not serve pagerank"
    assert set(get_info()["functions"]) == {"densest_subgraph"}


def test_networkx_starts_without_the_numerical_packages() -> None:
    """Every program that imports networkx imports what the entry points name."""
    code = (
        "import sys, networkx; print([m for m in sys.modules if m.startswith(('numpy', 'scipy', 'sparseigen.graphs'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
