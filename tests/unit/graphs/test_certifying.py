"""Required vertices are contracted, and efforts differ in how far proofs go."""

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.certifying import Contraction, choose_effort
from tests.unit.graphs.random_graphs import heaviest_sets, integer_graph, random_graph, weighted_matrix


@pytest.mark.parametrize("seed", range(6))
def test_brackets_with_required_vertices_close_at_their_optimum(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(5, 10))
    matrix = weighted_matrix(rng, size)
    required = sorted(int(v) for v in rng.permutation(size)[: int(rng.integers(1, 4))])
    best = heaviest_sets(matrix, required)
    graph = sp.csr_array(matrix)
    options = {"self_loops": "keep", "must_include": required}
    for result in se.density_curve(graph, range(len(required), size + 1), **options):
        assert result.weight == best[result.k]
        assert result.certificate.optimal


def test_a_contracted_graph_weighs_the_same():
    matrix = weighted_matrix(np.random.default_rng(3), 9)
    graph = integer_graph(matrix)
    fixed = graph.no_flags()
    fixed[[2, 5]] = 1
    contraction = Contraction.of(GraphFacts(graph, 5), fixed)
    rest = np.array([0, 3, 6])
    inner = contraction.facts.graph.induced(np.searchsorted(contraction.kept, rest))
    whole = np.sort(np.append(rest, [2, 5]))
    assert contraction.constant + int(inner.degrees.sum()) == matrix[np.ix_(whole, whole)].sum() / graph.unit
    assert contraction.facts.largest_k == 3


def test_efforts_grow():
    facts = GraphFacts(integer_graph(random_graph(np.random.default_rng(0), 300, 0.05).toarray()), 20)
    quick, default, thorough, exact = (
        choose_effort(name, facts, 1, exact=exact)
        for name, exact in (("quick", False), ("default", False), ("thorough", False), ("default", True))
    )
    assert quick is None
    assert default.work < thorough.work < exact.work
    assert default.gap > thorough.gap == exact.gap == 0.0


def test_the_exact_method_proves_what_the_default_leaves_open():
    graph = random_graph(np.random.default_rng(7), 80, 0.3)
    brackets = []
    found = se.densest_k_subgraph(graph, 12, method="exact", on_bracket=lambda *ends: brackets.append(ends))
    assert found.certificate.optimal
    assert found.stop_reason == "bracket_closed"
    assert found.solver == "exact"
    assert brackets[-1] == (12, found.density, found.density)
    assert found.density >= se.densest_k_subgraph(graph, 12).density


def test_the_exact_method_needs_its_proof():
    with pytest.raises(se.errors.OptionError, match="method='exact' is a proof"):
        se.densest_k_subgraph(np.ones((3, 3)), 2, method="exact", certify=False)


def test_an_interrupted_proof_keeps_its_bracket(monkeypatch):
    from sparseigen.graphs.branching import SetSearch

    def interrupt(self, until, *, branch):
        raise KeyboardInterrupt

    monkeypatch.setattr(SetSearch, "advance", interrupt)
    graph = random_graph(np.random.default_rng(7), 80, 0.3)
    graph[0, graph.indices[0]] = graph[graph.indices[0], 0] = 2.0  # with weights, the dual bound is what proves
    with pytest.raises(se.errors.SolveInterrupted) as stop:
        se.densest_k_subgraph(graph, 12, method="exact")
    kept = stop.value.result
    assert kept.certificate.method == "dual of the relaxation"
    assert kept.density <= kept.certificate.upper_bound < 12.0
