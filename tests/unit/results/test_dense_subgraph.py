"""Curves of dense subgraphs: by k, in the order asked for."""

from __future__ import annotations

import networkx as nx
import pytest

import sparseigen as se


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
