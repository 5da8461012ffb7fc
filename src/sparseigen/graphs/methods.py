"""From a method's outcome to the result a caller gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from sparseigen.errors import SolveInterrupted
from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.model import IntegerGraph
from sparseigen.graphs.search import Candidate, Searcher, resized
from sparseigen.graphs.vertex_sets import VertexSet, feige_set, peel_order, ravi_order, truncated_power
from sparseigen.kernels.graph import Flags, Integers
from sparseigen.results import DenseSubgraphResult, StopReason

STARTS = ("auto", "degree", "greedy-feige", "greedy-ravi", "loads", "peel")


@dataclass(frozen=True)
class Problem:
    """One graph and the caller's wishes."""

    facts: GraphFacts
    fixed: Flags
    start: str | Integers = "auto"
    polish: str | None = "swap"
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    choice: IntegerGraph | None = None
    """What the greedy methods look at when that is not the symmetric graph."""

    @property
    def graph(self) -> IntegerGraph:
        """The graph."""
        return self.facts.graph


@dataclass(frozen=True)
class Outcome:
    """A method's answer for one k, in vertex numbers and units."""

    vertices: Integers
    value: int
    stop_reason: StopReason = StopReason.COMPLETED
    n_iterations: int = 0
    history: tuple[int, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def solve_tpower(problem: Problem, ks: list[int]) -> dict[int, Outcome]:
    """Algorithm 2 from the start asked for; with start="auto" from many, the best of them polished."""
    if isinstance(problem.start, str) and problem.start == "auto":
        return _search_all(problem, ks)
    outcomes: dict[int, Outcome] = {}
    try:
        _run_all(problem, ks, outcomes)
    except KeyboardInterrupt:
        raise SolveInterrupted(outcomes) from None
    return outcomes


def _run_all(problem: Problem, ks: list[int], outcomes: dict[int, Outcome]) -> None:
    """Algorithm 2 from one start for every k; each outcome is entered when it is there."""
    searcher = None if problem.polish is None else Searcher(problem.facts, problem.fixed, problem.polish, problem.rng)
    name = problem.start if isinstance(problem.start, str) else "given"
    for count, chosen in _single_starts(problem, ks):
        run = truncated_power(chosen, count, problem.fixed)
        one = Candidate(name, chosen, run.stop_reason, run.n_iterations, run.history)
        settings: dict[str, Any] = {"start": name, "shifts": run.shifts}
        if searcher is not None:
            polished = searcher.finish([searcher.adopted(one)], count)
            outcomes[count] = _best_outcome(problem.graph, [one], searcher, [polished], settings)
        else:
            outcomes[count] = _plain_outcome(one, settings)


def _single_starts(problem: Problem, ks: list[int]) -> Iterator[tuple[int, VertexSet]]:
    """The start for every k, the products shared between nested starts."""
    if not isinstance(problem.start, str):
        given = np.union1d(problem.start, np.flatnonzero(problem.fixed)).astype(np.int64)
        for count in ks:
            yield count, VertexSet.of(problem.graph, resized(problem.graph, problem.fixed, given, count))
        return
    if problem.start == "greedy-feige":
        for count in ks:
            yield count, VertexSet.of(problem.graph, feige_set(problem.graph, count, problem.fixed))
        return
    order = _whole_order(problem, problem.start)
    nested, done = VertexSet.of(problem.graph, order[:0]), 0
    for count in sorted(set(ks)):
        nested.move(order[done:count], order[:0])
        done = count
        yield count, nested.copy()


def _whole_order(problem: Problem, start: str) -> Integers:
    graph, fixed = problem.graph, problem.fixed
    makers: dict[str, Callable[[], Integers]] = {
        "degree": lambda: graph.degree_order,
        "peel": lambda: peel_order(graph, fixed),
        "loads": lambda: np.argsort(-problem.facts.loads, kind="stable"),
        "greedy-ravi": lambda: ravi_order(graph, problem.facts.largest_k, fixed),
    }
    order = makers[start]()
    required = np.flatnonzero(fixed)
    return np.concatenate([required, order[fixed[order] == 0]]) if required.size else order


def _search_all(problem: Problem, ks: list[int]) -> dict[int, Outcome]:
    """The default: search every k, then let neighbours on the curve help each other, upwards and downwards."""
    searcher = Searcher(problem.facts, problem.fixed, problem.polish, problem.rng)
    best: dict[int, Candidate] = {}
    ascending = sorted(set(ks))
    settings: dict[str, Any] = {"start": "auto", "searched_vertices": searcher.graph.size}
    # Of a graph of which only a core is at hand, whoever holds the rest runs plain Algorithm 2.
    needs_plain = problem.facts.is_whole and searcher.graph is not problem.graph
    count = ascending[0]
    try:
        for count in ascending:
            best[count] = searcher.search(count, [])
        for sequence in (ascending, ascending[::-1]):
            for previous, count in pairwise(sequence):
                best[count] = searcher.improve(best[count], count, [best[previous].chosen.vertices])
        plain = dict(solve_tpower(_plain(problem), ascending)) if needs_plain else {}
    except KeyboardInterrupt:
        half = None if count in best else searcher.best_under_way(count)
        found = best if half is None else best | {count: half}
        reached = {count: _best_outcome(problem.graph, [], searcher, [one], settings) for count, one in found.items()}
        raise SolveInterrupted(reached) from None
    outcomes = {}
    for count in ascending:
        outcome = _best_outcome(problem.graph, [], searcher, [best[count]], settings)
        if count in plain and plain[count].value > outcome.value:
            # The searched part is a core; plain Algorithm 2 on the whole graph is the floor nothing falls below.
            outcome = plain[count]
        outcomes[count] = outcome
    return outcomes


def _plain(problem: Problem) -> Problem:
    return Problem(problem.facts, problem.fixed, "degree", None, problem.rng)


def _plain_outcome(one: Candidate, settings: dict[str, Any]) -> Outcome:
    return Outcome(
        one.chosen.vertices, one.chosen.value, one.stop_reason, one.n_iterations, tuple(one.history), settings
    )


def _best_outcome(
    graph: IntegerGraph, plain: list[Candidate], searcher: Searcher, found: list[Candidate], settings: dict[str, Any]
) -> Outcome:
    best = max(found, key=lambda one: one.chosen.value)
    for one in plain:
        if one.chosen.value > best.chosen.value:
            return _plain_outcome(one, settings)
    settings = settings | {"start_used": best.label, "exchanges": best.exchanges}
    vertices = searcher.part[best.chosen.vertices]
    history = tuple(best.history)
    return Outcome(vertices, best.chosen.value, best.stop_reason, best.n_iterations, history, settings)


def solve_ravi(problem: Problem, ks: list[int]) -> dict[int, Outcome]:
    """Greedy-Ravi: one run to the largest k answers all."""
    return _nested_outcomes(problem, ravi_order(problem.choice or problem.graph, max(ks), problem.fixed), ks)


def solve_peel(problem: Problem, ks: list[int]) -> dict[int, Outcome]:
    """Greedy peeling: one run answers all k."""
    return _nested_outcomes(problem, peel_order(problem.graph, problem.fixed), ks)


def solve_feige(problem: Problem, ks: list[int]) -> dict[int, Outcome]:
    """Greedy-Feige."""
    sets = ((count, feige_set(problem.choice or problem.graph, count, problem.fixed)) for count in ks)
    return {count: _set_outcome(problem.graph, vertices) for count, vertices in sets}


def _nested_outcomes(problem: Problem, order: Integers, ks: list[int]) -> dict[int, Outcome]:
    return {count: _set_outcome(problem.graph, np.sort(order[:count])) for count in ks}


def _set_outcome(graph: IntegerGraph, vertices: Integers) -> Outcome:
    return Outcome(vertices, VertexSet.of(graph, vertices).value)


def solve_relaxed(problem: Problem, ks: list[int]) -> dict[int, Outcome]:
    """Algorithm 1 on W, the support taken for the answer (the paper's remark)."""
    from sparseigen.graphs.vertex_sets import relaxed_set

    outcomes = {}
    for count in ks:
        vertices, iterations = relaxed_set(problem.graph, count, problem.fixed)
        value = VertexSet.of(problem.graph, vertices).value
        outcomes[count] = Outcome(vertices, value, StopReason.VALUE_STALLED, iterations)
    return outcomes


METHODS: dict[str, Callable[[Problem, list[int]], dict[int, Outcome]]] = {
    "tpower": solve_tpower,
    "tpower-relaxed": solve_relaxed,
    "greedy-ravi": solve_ravi,
    "greedy-feige": solve_feige,
    "peel": solve_peel,
}

BY_OUTGOING = ("greedy-ravi", "greedy-feige")
"""Methods that accept directed="outgoing"."""

__all__ = ["BY_OUTGOING", "METHODS", "STARTS", "Outcome", "Problem"]


def subgraph_result(
    k: int,
    outcome: Outcome,
    *,
    nodes: tuple[Any, ...],
    members: Integers,
    n_vertices: int,
    unit: float,
    loops: int,
    settings: dict[str, Any],
    notes: dict[str, Any],
    seconds: float,
    weight: float | None = None,
) -> DenseSubgraphResult:
    """The result without its certificate; ``loops`` is the weight of the set's loops in units.

    ``weight`` is pi'W pi where it is known better than in units.
    """
    indicator = np.zeros(n_vertices, dtype=np.int8)
    indicator[members] = 1
    weight = unit * outcome.value if weight is None else weight
    history = np.array([unit * value / k for value in outcome.history])
    indicator.flags.writeable = history.flags.writeable = False
    chosen = {name: value for name, value in settings.items() if name not in ("rng", "certify", "start")}
    return DenseSubgraphResult(
        nodes=nodes,
        indicator=indicator,
        k=k,
        weight=weight,
        density=weight / k,
        edge_density=(weight - unit * loops) / (k * (k - 1)) if k > 1 else 0.0,
        certificate=None,
        stop_reason=outcome.stop_reason,
        n_iterations=outcome.n_iterations,
        history=history,
        solver=settings["method"],
        settings=chosen | notes | outcome.settings,
        seconds=seconds,
    )
