"""The methods that choose k vertices, one function each; METHODS names them all.

A method is a function ``(problem, ks) -> {k: outcome}``. It enters every outcome into ``problem.reached`` as soon as
it has it, so that whoever handles an interruption finds there what was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.model import IntegerGraph
from sparseigen.graphs.search import Candidate, Searcher, resize_set
from sparseigen.graphs.vertex_sets import VertexSet, feige_set, peel_order, ravi_order, relaxed_set, truncated_power
from sparseigen.kernels.graph import Flags, Integers
from sparseigen.results import StopReason

STARTS = ("auto", "degree", "greedy-feige", "greedy-ravi", "loads", "peel")


@dataclass(frozen=True)
class Outcome:
    """A method's answer for one k, in vertex numbers and units."""

    vertices: Integers
    value: int
    stop_reason: StopReason = StopReason.COMPLETED
    n_iterations: int = 0
    history: tuple[int, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


Outcomes = dict[int, Outcome]


@dataclass
class Reached:
    """What a method has reached, for whoever handles an interruption."""

    outcomes: Outcomes = field(default_factory=dict)
    find_unfinished: Callable[[], Outcomes] = dict
    """Finds the best set of the search that is under way; called only after an interruption."""

    def find_all(self) -> Outcomes:
        """The outcomes so far, and the best set of a search that was not finished."""
        return self.find_unfinished() | self.outcomes


@dataclass(frozen=True)
class Problem:
    """One graph, what may be chosen in it, and how to search."""

    facts: GraphFacts
    fixed: Flags
    start: str | Integers = "auto"
    polish: str | None = "swap"
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    choice: IntegerGraph | None = None
    """What the greedy methods look at when that is not the symmetric graph."""
    reached: Reached = field(default_factory=Reached)
    deadline: float = np.inf

    @property
    def graph(self) -> IntegerGraph:
        """The graph."""
        return self.facts.graph


def solve_tpower(problem: Problem, ks: list[int]) -> Outcomes:
    """Algorithm 2 from the start asked for; with start="auto" from many, the best of them polished."""
    if isinstance(problem.start, str) and problem.start == "auto":
        return _search_all(problem, ks)
    return _run_all(problem, ks)


def _run_all(problem: Problem, ks: list[int]) -> Outcomes:
    """Algorithm 2 from one start for every k."""
    searcher = None if problem.polish is None else _open_search(problem)
    name = problem.start if isinstance(problem.start, str) else "given"
    outcomes = problem.reached.outcomes
    for count, chosen in _make_single_starts(problem, ks):
        run = truncated_power(chosen, count, problem.fixed)
        plain = Candidate(name, chosen, run.stop_reason, run.n_iterations, run.history)
        settings: dict[str, Any] = {"start": name, "shifts": run.shifts}
        outcomes[count] = _build_plain_outcome(plain, settings)
        if searcher is not None:
            polished = _build_searched_outcome(searcher, settings, searcher.finish([searcher.adopt(plain)], count))
            if polished.value >= plain.chosen.value:
                outcomes[count] = polished
    return outcomes


def _open_search(problem: Problem) -> Searcher:
    return Searcher(problem.facts, problem.fixed, problem.polish, problem.rng, deadline=problem.deadline)


def _make_single_starts(problem: Problem, ks: list[int]) -> Iterator[tuple[int, VertexSet]]:
    """The start for every k, the products shared between nested starts."""
    if not isinstance(problem.start, str):
        start = np.union1d(problem.start, np.flatnonzero(problem.fixed)).astype(np.int64)
        for count in ks:
            yield count, VertexSet.of(problem.graph, resize_set(problem.graph, problem.fixed, start, count))
        return
    if problem.start == "greedy-feige":
        for count in ks:
            yield count, VertexSet.of(problem.graph, feige_set(problem.graph, count, problem.fixed))
        return
    order = _find_whole_order(problem, problem.start)
    nested, done = VertexSet.of(problem.graph, order[:0]), 0
    for count in sorted(set(ks)):
        nested.move(order[done:count], order[:0])
        done = count
        yield count, nested.copy()


def _find_whole_order(problem: Problem, start: str) -> Integers:
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


def _search_all(problem: Problem, ks: list[int]) -> Outcomes:
    """The default: search every k, then let neighbours on the curve help each other, upwards and downwards."""
    searcher = _open_search(problem)
    settings: dict[str, Any] = {"start": "auto", "searched_vertices": searcher.graph.size}
    best: dict[int, Candidate] = {}
    reached, outcomes, ascending = problem.reached, problem.reached.outcomes, sorted(set(ks))
    for count in ascending:
        reached.find_unfinished = partial(_find_unfinished, searcher, settings, count)
        best[count] = searcher.search(count)
        outcomes[count] = _build_searched_outcome(searcher, settings, best[count])
    for sequence in (ascending, ascending[::-1]):
        for previous, count in pairwise(sequence):
            if searcher.out_of_time:
                break
            best[count] = searcher.improve(best[count], count, best[previous].chosen.vertices)
            outcomes[count] = _build_searched_outcome(searcher, settings, best[count])
    # The searched part is a core; plain Algorithm 2 on the whole graph is the floor nothing falls below. Of a graph of
    # which only a core is at hand, whoever holds the rest runs it.
    if problem.facts.is_whole and searcher.graph is not problem.graph:
        plain = Problem(problem.facts, problem.fixed, "degree", None, problem.rng)
        for count, outcome in solve_tpower(plain, ascending).items():
            if outcome.value > outcomes[count].value:
                outcomes[count] = outcome
    return outcomes


def _find_unfinished(searcher: Searcher, settings: dict[str, Any], count: int) -> Outcomes:
    best = searcher.find_best_under_way(count)
    return {} if best is None else {count: _build_searched_outcome(searcher, settings, best)}


def _build_plain_outcome(plain: Candidate, settings: dict[str, Any]) -> Outcome:
    vertices, history = plain.chosen.vertices, tuple(plain.history)
    return Outcome(vertices, plain.chosen.value, plain.stop_reason, plain.n_iterations, history, settings)


def _build_searched_outcome(searcher: Searcher, settings: dict[str, Any], best: Candidate) -> Outcome:
    """The outcome of a set in the searched part, in the numbers of the whole graph."""
    settings = settings | {"start_used": best.label, "exchanges": best.exchanges}
    vertices, history = searcher.part[best.chosen.vertices], tuple(best.history)
    return Outcome(vertices, best.chosen.value, best.stop_reason, best.n_iterations, history, settings)


def solve_ravi(problem: Problem, ks: list[int]) -> Outcomes:
    """Greedy-Ravi: one run to the largest k answers all."""
    order = ravi_order(problem.choice or problem.graph, max(ks), problem.fixed)
    return _enter_sets(problem, ((count, np.sort(order[:count])) for count in ks))


def solve_peel(problem: Problem, ks: list[int]) -> Outcomes:
    """Greedy peeling: one run answers all k."""
    order = peel_order(problem.graph, problem.fixed)
    return _enter_sets(problem, ((count, np.sort(order[:count])) for count in ks))


def solve_feige(problem: Problem, ks: list[int]) -> Outcomes:
    """Greedy-Feige."""
    graph = problem.choice or problem.graph
    return _enter_sets(problem, ((count, feige_set(graph, count, problem.fixed)) for count in ks))


def _enter_sets(problem: Problem, sets: Iterable[tuple[int, Integers]]) -> Outcomes:
    for count, vertices in sets:
        problem.reached.outcomes[count] = Outcome(vertices, VertexSet.of(problem.graph, vertices).value)
    return problem.reached.outcomes


def solve_relaxed(problem: Problem, ks: list[int]) -> Outcomes:
    """Algorithm 1 on W, the support taken for the answer (the paper's remark)."""
    for count in ks:
        vertices, iterations = relaxed_set(problem.graph, count, problem.fixed)
        value = VertexSet.of(problem.graph, vertices).value
        problem.reached.outcomes[count] = Outcome(vertices, value, StopReason.VALUE_STALLED, iterations)
    return problem.reached.outcomes


METHODS: dict[str, Callable[[Problem, list[int]], Outcomes]] = {
    "tpower": solve_tpower,
    "exact": solve_tpower,
    "tpower-relaxed": solve_relaxed,
    "greedy-ravi": solve_ravi,
    "greedy-feige": solve_feige,
    "peel": solve_peel,
}

EXACT = "exact"
"""The method whose proof goes on until the set is proven optimal or the time is over."""
SEARCHES = ("tpower", EXACT)
"""Methods whose sets may be improved by what a proof finds."""
BY_OUTGOING = ("greedy-ravi", "greedy-feige")
"""Methods that accept directed="outgoing"."""
