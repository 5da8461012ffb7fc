"""Every claim of a set of vertices is checked from the graph alone."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import sparseigen as se


@pytest.fixture(scope="module")
def club():
    return nx.karate_club_graph()


@pytest.fixture(scope="module")
def found(club):
    return se.densest_k_subgraph(club, 7)


@pytest.mark.parametrize("options", [{}, {"self_loops": "keep"}, {"method": "peel"}, {"weight": None}])
def test_results_hold(club, options):
    for k in (2, 9, 20):
        verification = se.verify(se.densest_k_subgraph(club, k, **options), club)
        assert verification.holds, verification.failures


def test_results_with_constraints_hold(club):
    constraints = {"must_include": [33, 5], "candidates": [v for v in club if v != 0]}
    result = se.densest_k_subgraph(club, 6, **constraints)
    assert se.verify(result, club, **constraints)
    failed = se.verify(result, club, candidates=[v for v in club if v != 5])
    assert [check.claim for check in failed.failures] == ["candidates"]
    assert [check.claim for check in se.verify(result, club, must_include=[0]).failures] == ["must_include"]


def test_a_result_with_rounded_weights_holds():
    rng = np.random.default_rng(0)
    matrix = np.triu(rng.random((30, 30)), 1)
    matrix += matrix.T
    assert se.verify(se.densest_k_subgraph(matrix, 6), matrix)


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("number of vertices", lambda r: {"nodes": r.nodes[:-1]}),
        ("indicator", lambda r: {"indicator": np.roll(r.indicator, 1)}),
        ("weight", lambda r: {"weight": r.weight + 1.0}),
        ("density", lambda r: {"density": r.density * 1.01}),
        ("connected parts", lambda r: {"connected_parts": 2}),
        (
            "attained end",
            lambda r: {"certificate": replace(r.certificate, lower_bound=r.density + 0.01, upper_bound=90.0)},
        ),
        (
            "proven end",
            lambda r: {"certificate": replace(r.certificate, lower_bound=1.0, upper_bound=r.density - 0.01)},
        ),
        ("ordered", lambda r: {"certificate": replace(r.certificate, lower_bound=9.0, upper_bound=8.0)}),
        ("meaning of optimal", lambda r: {"certificate": replace(r.certificate, lower_bound=8.0, tolerance=0.9)}),
    ],
)
def test_a_false_claim_is_found(club, found, claim, change):
    failures = se.verify(replace(found, **change(found)), club, time_limit=5.0).failures
    assert claim in [check.claim for check in failures]
