"""The proofs of a curve: what is required is contracted, the quick bounds come first, then the dual bound.

Vertices that must be included are taken out of the graph: each of the others gets twice its weight to them as a loop,
and what they weigh among themselves is a constant. A set with them weighs as much as the rest of it there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparseigen.graphs.bounds import GraphFacts, UpperBounds, build_certificate
from sparseigen.graphs.branching import SMALL_ENOUGH, Bracket
from sparseigen.graphs.methods import Outcome, Outcomes
from sparseigen.graphs.proving import ProofEffort, Prover
from sparseigen.graphs.small_sets import LARGEST, SmallSets
from sparseigen.graphs.vertex_sets import VertexSet
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Flags, Integers
from sparseigen.results import Certificate

GOOD_ENOUGH = 1e-3
"""Relative gap at which the default effort stops."""
THOROUGH_WORK, SMALL_WORK = 8e9, 2e9
"""Nanoseconds per k of a thorough proof, and of that of a small graph."""
LARGEST_PART = 2500
LEAST_STEPS, STEP_WORK = 40, 25.0
"""A proof that has not the work for so many steps, at so much work per entry, takes a smaller part."""
SEARCH_WORK_PER_ARC, SEARCH_WORK_PER_PART_ARC, SEARCH_WORK_PER_SET = 60.0, 50.0, 2e6
"""What a search takes, about: per arc of the graph, per arc of the searched part and k, and per k."""

LOCAL_WORK, LEAST_SHARE = 2e10, 0.2
LOCAL_SHARES = {False: 0.8, True: 0.5}
SHARE_OF_LARGER = 0.1
"""The search around each vertex takes at most so much, and a share of the work of a proof by whether it branches; less
where even the smallest sets are too large for it. The dual bound has the rest, and LEAST_SHARE of the work at least."""

OnBracket = Callable[[int, float, float], None]


def choose_effort(effort: str, facts: GraphFacts, n_sets: int, *, exact: bool) -> ProofEffort | None:
    """How far proofs go; None: no further than the quick bounds.

    The work of the default effort is about that of the search, by the graph's sizes: the same on every machine.
    """
    if exact:
        return ProofEffort(0.0, np.inf, LARGEST_PART, branch=True)
    if effort == "quick":
        return None
    if effort == "thorough":
        return ProofEffort(0.0, THOROUGH_WORK * n_sets, LARGEST_PART, branch=True)
    if facts.graph.size <= SMALL_ENOUGH:
        return ProofEffort(0.0, SMALL_WORK * n_sets, LARGEST_PART, branch=True)
    arcs, part_arcs = len(facts.graph.rows.neighbours), len(facts.part_graph.rows.neighbours)
    work = SEARCH_WORK_PER_ARC * arcs + n_sets * (SEARCH_WORK_PER_SET + SEARCH_WORK_PER_PART_ARC * part_arcs)
    largest = min(LARGEST_PART, int((work / (LEAST_STEPS * STEP_WORK)) ** 0.5))
    return ProofEffort(GOOD_ENOUGH, work, largest)


@dataclass(frozen=True, eq=False)
class Contraction:
    """A graph without the vertices that are in every set."""

    facts: GraphFacts
    kept: Integers
    required: Integers
    constant: int

    @classmethod
    def of(cls, facts: GraphFacts, fixed: Flags | None) -> Contraction:
        """Take the fixed vertices out; of a core of a larger graph none are."""
        every = np.arange(facts.graph.size, dtype=np.int64)
        required = every[:0] if fixed is None or not facts.is_whole else np.flatnonzero(fixed).astype(np.int64)
        if required.size == 0:
            return cls(facts, every, required, 0)
        graph, kept = facts.graph, np.setdiff1d(every, required)
        product = np.zeros(graph.size, dtype=np.int64)
        graph_kernels.add_rows(graph.rows, required, 1, product)
        inner = graph.induced(kept)
        inner = replace(inner, loops=inner.loops + 2 * product[kept])
        left = max(0, facts.largest_k - len(required))
        return cls(GraphFacts(inner, left, sweeps=facts.sweeps), kept, required, VertexSet.of(graph, required).value)


class Certifier:
    """Brackets for the sets of a search, which proofs close; they hold at any time."""

    def __init__(self, facts: GraphFacts, fixed: Flags | None, outcomes: Outcomes, *, hurried: bool) -> None:
        self.graph = facts.graph
        self.contraction = contraction = Contraction.of(facts, fixed)
        self.n_fixed = len(contraction.required)
        self.brackets: dict[int, Bracket] = {}
        bounds = None if contraction.facts.largest_k == 0 else UpperBounds(contraction.facts, hurried=hurried)
        self.known = np.zeros(0, dtype=np.int64) if bounds is None else bounds.values
        for k, outcome in outcomes.items():
            count, value = k - self.n_fixed, outcome.value - contraction.constant
            vertices = np.searchsorted(contraction.kept, np.setdiff1d(outcome.vertices, contraction.required))
            bound, method = (value, "no choice") if bounds is None or count == 0 else bounds.best(count)
            self.brackets[k] = Bracket(count, vertices.astype(np.int64), value, max(bound, value), method)

    def run(self, effort: ProofEffort, deadline: float, on_bracket: OnBracket | None) -> None:
        """Close the brackets as far as the effort goes."""
        facts, unit = self.contraction.facts, self.graph.unit

        def report(bracket: Bracket) -> None:
            if on_bracket is not None:
                k = bracket.count + self.n_fixed
                low, high = (unit * (end + self.contraction.constant) / k for end in (bracket.value, bracket.bound))
                on_bracket(k, low, high)

        opened = [bracket for bracket in self.brackets.values() if bracket.count > 0]
        work = effort.work
        if SmallSets.applies(facts) and any(bracket.gap > effort.gap for bracket in opened):
            larger = min(bracket.count for bracket in opened) > LARGEST
            share = SHARE_OF_LARGER if larger else LOCAL_SHARES[effort.branch]
            seconds = share * (deadline - time.perf_counter())
            small = SmallSets(facts, self.known, min(share * work, 1e9 * seconds, LOCAL_WORK), deadline)
            small.climb(opened, effort.gap)
            work = max(LEAST_SHARE * work, work - small.work_done)
            self.known = small.bounds()
            for bracket in opened:
                report(bracket)
        Prover(facts, opened, self.known, replace(effort, work=work), deadline=deadline, on_bracket=report).run()

    def better_set(self, k: int) -> tuple[Integers, int] | None:
        """The set and its value where a proof found a better one."""
        bracket = self.brackets[k]
        if not bracket.improved:
            return None
        vertices = np.union1d(self.contraction.kept[bracket.vertices], self.contraction.required)
        return vertices.astype(np.int64), bracket.value + self.contraction.constant

    def certificate(self, k: int, value: int) -> Certificate:
        """The bracket on the density of the best k vertices, for a set of this value."""
        bracket = self.brackets[k]
        return build_certificate(self.graph, k, value, bracket.bound + self.contraction.constant, bracket.method)


def renumber(outcomes: Outcomes, numbers: Integers) -> Outcomes:
    """Outcomes as positions among some vertices (ascending); others are left out."""
    inside = {}
    for k, outcome in outcomes.items():
        places = np.minimum(np.searchsorted(numbers, outcome.vertices), len(numbers) - 1)
        inside[k] = replace(outcome, vertices=places[numbers[places] == outcome.vertices].astype(np.int64))
    return inside


def replace_set(outcome: Outcome, vertices: Integers, value: int) -> Outcome:
    """The outcome with a better set that a proof found."""
    settings = outcome.settings | {"start_used": "relaxation"}
    return replace(outcome, vertices=vertices, value=value, history=(*outcome.history, value), settings=settings)
