"""Ctrl-C in the middle of a curve or of several sets keeps what was found until then."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

import sparseigen as se
from sparseigen.errors import SolveInterrupted
from sparseigen.results import DenseSubgraphResult, DensityCurve


class Interrupting:
    """Lets a function be called so many times, then Ctrl-C comes."""

    def __init__(self, function: Any, calls: int) -> None:
        self.function, self.calls = function, calls

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return self.function(*given, **named)


def test_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.graphs.search import Searcher

    club = nx.karate_club_graph()
    monkeypatch.setattr(Searcher, "search", _limited(Searcher.search, 2))
    with pytest.raises(SolveInterrupted) as stop:
        se.density_curve(club, [4, 6, 8])
    found = stop.value.result
    assert isinstance(found, DensityCurve)
    assert found.ks == [4, 6]
    assert found[4].certificate is None
    assert found[4].stop_reason.value == "interrupted"
    with pytest.raises(SolveInterrupted) as stop:
        se.density_curve(club, [4, 6, 8])
    assert stop.value.result is None


def test_disjoint_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.graphs.search import Searcher

    monkeypatch.setattr(Searcher, "search", _limited(Searcher.search, 2))
    with pytest.raises(SolveInterrupted) as stop:
        se.disjoint_dense_subgraphs(nx.karate_club_graph(), 4, 3)
    assert len(stop.value.completed) == 2
    assert isinstance(stop.value.completed[0], DenseSubgraphResult)


def test_one_set_during_its_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.graphs import task

    monkeypatch.setattr(task, "UpperBounds", Interrupting(None, 0))
    with pytest.raises(SolveInterrupted) as stop:
        se.densest_k_subgraph(nx.karate_club_graph(), 4)
    assert isinstance(stop.value.result, DenseSubgraphResult)
    assert stop.value.result.certificate is None


def _limited(function: Any, calls: int) -> Any:
    counted = Interrupting(function, calls)
    return lambda *given, **named: counted(*given, **named)
