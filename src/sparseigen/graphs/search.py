"""The default search: many starts, Algorithm 2 from each, then exchanges on the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.model import IntegerGraph
from sparseigen.graphs.vertex_sets import VertexSet, feige_set, heaviest_edge, truncated_power
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Flags, Integers
from sparseigen.results import StopReason

SEEDS = 24
"""Greedy runs start at this many seeds; on graphs of at most SMALL vertices, at every vertex."""

FEW_SEEDS = 4
"""Seeds without polishing."""

SPREAD_SEEDS = 150
"""A patient search also grows from so many vertices all over the part: a small clique may lie outside its core."""

SMALL = 64
POLISHED = 4
"""Exchanges are tried on this many of the best distinct sets."""

WORTH_POLISHING = 0.98
"""A set that a neighbour on a curve leads to is polished where it has more than this much of the best weight."""


@dataclass(frozen=True)
class PolishSpec:
    """How long exchanges go on: losing steps in a row, steps in all, vertices compared on either side."""

    patience: int
    max_steps: int
    width: int


POLISHES: dict[str | None, PolishSpec | None] = {
    None: None,
    "swap": PolishSpec(patience=0, max_steps=20_000, width=64),
    "tabu": PolishSpec(patience=400, max_steps=20_000, width=32),
}

SHAKE = PolishSpec(patience=40, max_steps=2000, width=32)
"""After plain swaps, a short tabu run on the best set: leaves shallow local optima at little cost."""


@dataclass
class Candidate:
    """One set under consideration, with the run that led to it."""

    label: str
    chosen: VertexSet
    stop_reason: StopReason = StopReason.COMPLETED
    n_iterations: int = 0
    history: list[int] = field(default_factory=list)
    exchanges: int = 0


class Searcher:
    """Searches one graph for many k; orders that serve every k are computed once."""

    def __init__(
        self,
        facts: GraphFacts,
        fixed: Flags,
        polish: str | None,
        rng: np.random.Generator,
        *,
        deadline: float = np.inf,
    ) -> None:
        self.deadline = deadline
        self.facts, self.fixed, self.polish = facts, fixed, POLISHES[polish]
        self.seed = int(rng.integers(1 << 62))
        required = np.flatnonzero(fixed)
        self.part = np.union1d(facts.part, required).astype(np.int64)
        self.graph = self._part_graph()
        self.part_fixed = fixed[self.part]
        self._orders: dict[str, dict[str, Integers]] = {}
        self._under_way: list[Candidate] = []

    def _part_graph(self) -> IntegerGraph:
        """The subgraph on `part`."""
        if len(self.part) == self.facts.graph.size:
            return self.facts.graph
        whole = len(self.part) == len(self.facts.part)
        return self.facts.part_graph if whole else self.facts.graph.induced(self.part)

    def search(self, count: int) -> Candidate:
        """The best set of k vertices found, in the numbers of the searched part."""
        candidates = self._under_way = []
        for label, start in self._starts(count):
            candidates.append(self._run_power(label, start, count))
            if self.out_of_time:
                break
        return self.finish(candidates, count)

    @property
    def is_patient(self) -> bool:
        """Whether exchanges go on through losses, and the search with them."""
        return self.polish is not None and self.polish.patience > 0

    @property
    def out_of_time(self) -> bool:
        """Whether the time allowed is over."""
        return self.deadline < np.inf and time.perf_counter() > self.deadline

    def find_best_under_way(self, count: int) -> Candidate | None:
        """The best set of a search that was interrupted; None if there is none yet.

        Sets that were being changed are looked at anew: their products and values may be those of halfway.
        """
        whole = [candidate for candidate in self._under_way if int(candidate.chosen.members.sum()) == count]
        for candidate in whole:
            candidate.chosen = VertexSet.of(self.graph, np.flatnonzero(candidate.chosen.members))
        return max(whole, key=lambda candidate: candidate.chosen.value, default=None)

    def improve(self, best: Candidate, count: int, neighbour: Integers) -> Candidate:
        """The better of a set found before and what its neighbour on a curve, a set of another size, leads to."""
        tried = self._run_power("neighbour", self._resize(neighbour, count), count)
        if tried.chosen.value <= WORTH_POLISHING * best.chosen.value:
            return best
        polished = self.finish([tried], count)
        return polished if polished.chosen.value > best.chosen.value else best

    def finish(self, candidates: list[Candidate], count: int) -> Candidate:
        """Exchanges on the best distinct sets; the best of all."""
        candidates.sort(key=lambda candidate: -candidate.chosen.value)
        if self.polish is None:
            return candidates[0]
        distinct: dict[bytes, Candidate] = {}
        for candidate in candidates:
            distinct.setdefault(candidate.chosen.members.tobytes(), candidate)
        leading = list(distinct.values())[:POLISHED]
        for candidate in leading:
            if not self.out_of_time:
                self._exchange(candidate, self.polish, count)
        best = max(leading, key=lambda candidate: candidate.chosen.value)
        if self.polish.patience == 0 and not self.out_of_time:
            self._exchange(best, SHAKE, count)
        return best

    def _exchange(self, candidate: Candidate, spec: PolishSpec, count: int) -> None:
        """Exchanges and power steps in turn while they gain."""
        chosen = candidate.chosen
        while True:
            before = chosen.value
            candidate.exchanges += chosen.polish(
                self.part_fixed, patience=spec.patience, max_steps=spec.max_steps, width=spec.width, seed=self.seed
            )
            if chosen.value == before:
                return
            candidate.history.append(chosen.value)
            if truncated_power(chosen, count, self.part_fixed).history[-1] == candidate.history[-1]:
                return

    def _run_power(self, label: str, start: Integers, count: int) -> Candidate:
        chosen = VertexSet.of(self.graph, start)
        run = truncated_power(chosen, count, self.part_fixed)
        return Candidate(label, chosen, run.stop_reason, run.n_iterations, run.history)

    def _resize(self, vertices: Integers, count: int) -> Integers:
        return resize_set(self.graph, self.part_fixed, vertices, count)

    def adopt(self, outer: Candidate) -> Candidate:
        """A set of the whole graph as one of the searched part; vertices outside are replaced by the strongest."""
        vertices = outer.chosen.vertices
        position = np.minimum(np.searchsorted(self.part, vertices), len(self.part) - 1)
        within = position[self.part[position] == vertices].astype(np.int64)
        chosen = VertexSet.of(self.graph, self._resize(within, int(outer.chosen.members.sum())))
        return Candidate(outer.label, chosen, outer.stop_reason, outer.n_iterations, list(outer.history))

    def _starts(self, count: int) -> Iterator[tuple[str, Integers]]:
        """The starts one by one, the cheapest first: a search that is interrupted early has something to show."""
        for name, make in ORDERS.items():
            if name not in self._orders:
                self._orders[name] = make(self)
            for label, order in self._orders[name].items():
                if len(order) >= count:
                    yield label, self._add_fixed(order, count)
        yield "greedy-feige", feige_set(self.graph, count, self.part_fixed)

    def _add_fixed(self, order: Integers, count: int) -> Integers:
        """The first k of an order, fixed vertices first."""
        required = np.flatnonzero(self.part_fixed)
        if required.size:
            order = np.concatenate([required, order[self.part_fixed[order] == 0]])
        return np.sort(order[:count])


def resize_set(graph: IntegerGraph, fixed: Flags, vertices: Integers, count: int) -> Integers:
    """Bring a set of another size to k vertices: weakest out, or strongest in."""
    if len(vertices) <= count:
        return np.sort(graph_kernels.grow(graph.rows, graph.loops, graph.degrees, vertices, count))
    within = graph.induced(vertices)
    order, _ = graph_kernels.peel(within.rows, within.loops, fixed[vertices])
    return np.sort(vertices[order[len(vertices) - count :]])


def _degree_orders(search: Searcher) -> dict[str, Integers]:
    whole = search.facts.whole_degrees[search.part]
    orders = {"degree": np.argsort(-whole, kind="stable")}
    if search.graph is not search.facts.graph or not search.facts.is_whole:
        orders["inner degree"] = search.graph.degree_order
    return orders


def _peel_orders(search: Searcher) -> dict[str, Integers]:
    order, _ = graph_kernels.peel(search.graph.rows, search.graph.loops, search.part_fixed)
    return {"peel": order[::-1].copy()}


def _load_orders(search: Searcher) -> dict[str, Integers]:
    orders = {"loads": np.argsort(-search.facts.loads[search.part], kind="stable")}
    if search.polish is not None:
        orders["early loads"] = np.argsort(-search.facts.early_loads[search.part], kind="stable")
    return orders


def _greedy_orders(search: Searcher) -> dict[str, Integers]:
    """Greedy growth from the heaviest edge, from the innermost core and from the vertices of largest load."""
    graph = search.graph
    required = np.flatnonzero(search.part_fixed).astype(np.int64)
    if graph.size <= SMALL:
        seeds = [np.array([v], dtype=np.int64) for v in range(graph.size)]
    else:
        core = _peel_orders(search)["peel"]
        loads = np.argsort(-search.facts.loads[search.part], kind="stable")
        n_seeds = SEEDS if search.polish is not None else FEW_SEEDS
        spread = core[:: max(1, len(core) // SPREAD_SEEDS)] if search.is_patient else core[:0]
        picked = dict.fromkeys(np.concatenate([core[:n_seeds:2], loads[:n_seeds:2], spread]).tolist())
        seeds = [np.array([v], dtype=np.int64) for v in picked]
    seeds.insert(0, heaviest_edge(graph))
    length = min(graph.size, search.facts.largest_k)
    volume = 0
    orders = {}
    for number, seed in enumerate(seeds):
        start = np.concatenate([required, seed]).astype(np.int64)
        order = graph_kernels.grow(graph.rows, graph.loops, graph.degrees, start, length)
        orders["greedy-ravi" if number == 0 else f"greedy from {int(search.part[seed[0]])}"] = order
        volume += int(graph.degrees[order].sum()) // max(1, graph.heaviest)
        if volume > 100_000_000:  # about ten seconds; further seeds would cost more than they bring
            break
    return orders


ORDERS: dict[str, Callable[[Searcher], dict[str, Integers]]] = {
    "degree": _degree_orders,
    "peel": _peel_orders,
    "loads": _load_orders,
    "greedy-ravi": _greedy_orders,
}
"""Start -> function that gives, by label, orders of the vertices whose first k are a start for k."""
