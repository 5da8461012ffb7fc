"""Ctrl-C in the middle of a path or a curve keeps what was found until then."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

import sparseigen as se
from sparseigen.errors import SolveInterrupted
from sparseigen.results import DenseSubgraphResult, DensityCurve, SparsePath

MATRIX = se.datasets.load_pitprops().matrix


class Interrupting:
    """Lets a function be called so many times, then Ctrl-C comes."""

    def __init__(self, function: Any, calls: int) -> None:
        self.function, self.calls = function, calls

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return self.function(*given, **named)


@pytest.mark.parametrize("method", ["tpower", "backward"])
def test_path(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.solve import path
    from sparseigen.solvers import warm_path

    home, name = (warm_path, "solve_truncated_power") if method == "tpower" else (path, "sparse_eigenvector")
    monkeypatch.setattr(home, name, Interrupting(getattr(home, name), 2))
    with pytest.raises(SolveInterrupted) as stop:
        se.cardinality_path(MATRIX, [2, 5, 9], method=method)
    found = stop.value.result
    assert isinstance(found, SparsePath)
    assert found.cardinalities.tolist() == [2, 5]
    assert [result.stop_reason.value for result in found] == ["interrupted"] * 2
    whole = se.cardinality_path(MATRIX, [2, 5], method="tpower", certify=False) if method == "backward" else None
    assert whole is None or found.values[0] <= whole.values[0] + 1e-12
    monkeypatch.setattr(home, name, Interrupting(getattr(home, name), 0))
    with pytest.raises(SolveInterrupted) as stop:
        se.cardinality_path(MATRIX, [2, 5, 9], method=method)
    assert stop.value.result is None


def test_path_during_its_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.solve import path

    monkeypatch.setattr(path, "_certified", Interrupting(None, 0))
    with pytest.raises(SolveInterrupted) as stop:
        se.cardinality_path(MATRIX, [2, 5])
    found = stop.value.result
    assert isinstance(found, SparsePath)
    assert found.upper_bounds is None
    assert found.values[1] == pytest.approx(3.406155, abs=1e-6)


def test_on_iteration_of_a_path() -> None:
    seen: list[int] = []
    se.cardinality_path(
        MATRIX, [3], candidates=[0, 1, 2, 3], on_iteration=lambda i, vector, value: seen.append(len(vector))
    )
    assert set(seen) == {13}


def test_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.graphs.search import Searcher

    club = nx.karate_club_graph()
    monkeypatch.setattr(Searcher, "search", _limited(Searcher.search, 2))
    with pytest.raises(SolveInterrupted) as stop:
        se.density_curve(club, [4, 6, 8])
    found = stop.value.result
    assert isinstance(found, DensityCurve)
    assert found.ks == [4, 6]
    assert found[0].certificate is None
    assert found[0].stop_reason.value == "interrupted"
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
    from sparseigen.graphs import densest

    monkeypatch.setattr(densest, "UpperBounds", Interrupting(None, 0))
    with pytest.raises(SolveInterrupted) as stop:
        se.densest_k_subgraph(nx.karate_club_graph(), 4)
    assert isinstance(stop.value.result, DenseSubgraphResult)
    assert stop.value.result.certificate is None


def _limited(function: Any, calls: int) -> Any:
    counted = Interrupting(function, calls)
    return lambda *given, **named: counted(*given, **named)
