"""From a request about dense subgraphs to its results: options, constraints, search, bounds, interruption.

`SubgraphTask` is the one way every call takes. Where the graph lies is the business of its two kinds: `MemoryTask`
here, `ClusterTask` in cluster_task.py.
"""

from __future__ import annotations

import copy
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from sparseigen.checks.arguments import check_cardinality, check_choice, check_positive, check_rng
from sparseigen.checks.graph_objects import check_graph
from sparseigen.checks.graphs import WEIGHT, Graph, as_path, is_text, vertices_of
from sparseigen.errors import CardinalityError, OptionError, UnusedWeightsWarning, one_of
from sparseigen.graphs.bounds import FAST_SWEEPS, SWEEPS, GraphFacts
from sparseigen.graphs.certifying import Certifier, OnBracket, choose_effort, renumber, replace_set
from sparseigen.graphs.connectedness import connect, count_parts
from sparseigen.graphs.methods import (
    BY_OUTGOING,
    EXACT,
    METHODS,
    SEARCHES,
    STARTS,
    Outcome,
    Outcomes,
    Problem,
    Reached,
)
from sparseigen.graphs.model import DIRECTED, SELF_LOOPS, IntegerGraph, build_graph, outgoing_graph, weight_within
from sparseigen.graphs.search import POLISHES
from sparseigen.io.graph_files import read_file
from sparseigen.kernels.graph import Flags, Integers
from sparseigen.results import Certificate, DenseSubgraphResult, DensityCurve, Stage, StopReason
from sparseigen.solvers.interface import EFFORTS, KeepWhenInterrupted

Answer = TypeVar("Answer")

AS_NEEDED = "auto"
"""The `polish` of those who leave it to the effort."""
EFFORT_POLISHES = {"quick": None, "default": "swap", "thorough": "tabu"}
EFFORT_SWEEPS = {"quick": FAST_SWEEPS, "default": SWEEPS, "thorough": 10 * SWEEPS}


EXACT_SECONDS = 60.0
"""How long the exact method goes on where no time limit is given."""


@dataclass(frozen=True)
class SubgraphOptions:
    """The options that all calls have in common, checked when they are put together."""

    method: str
    start: Any
    polish: str | None
    directed: str
    self_loops: str
    weight: str | None
    certify: bool
    rng: Any
    effort: str = "default"
    time_limit: float | None = None
    connected: bool = False
    on_bracket: OnBracket | None = None

    def __post_init__(self) -> None:
        check_choice(self.effort, EFFORTS, "effort")
        check_choice(self.connected, (True, False), "connected")
        if self.time_limit is not None:
            check_positive(self.time_limit, "time_limit")
        if self.polish == AS_NEEDED:
            left_open = is_text(self.start) and self.start == "auto"
            effort = "thorough" if self.method == EXACT else self.effort
            object.__setattr__(self, "polish", EFFORT_POLISHES[effort] if left_open else "swap")
        if is_text(self.start):
            check_choice(self.start, STARTS, "start")
        check_choice(self.method, METHODS, "method")
        if self.directed == "outgoing" and self.method not in BY_OUTGOING:
            allowed = one_of(BY_OUTGOING)
            message = f"directed='outgoing' is for the methods {allowed}; method={self.method!r} needs 'average'."
            raise OptionError(message, parameter="directed")
        if self.polish not in POLISHES:
            check_choice(self.polish, (AS_NEEDED, *POLISHES), "polish")
        check_choice(self.directed, DIRECTED, "directed")
        check_choice(self.self_loops, SELF_LOOPS, "self_loops")
        if self.weight is not None and not is_text(self.weight):
            message = f"weight={self.weight!r} must be the name of an edge attribute or column, or None for no weights."
            raise OptionError(message, parameter="weight")
        check_choice(self.certify, (True, False), "certify")
        if self.method == EXACT and not self.certify:
            message = "method='exact' is a proof; certify=False leaves it out. Pass method='tpower' with certify=False."
            raise OptionError(message, parameter="certify")
        if self.method == EXACT and self.time_limit is None:
            object.__setattr__(self, "time_limit", EXACT_SECONDS)
        object.__setattr__(self, "rng", check_rng(self.rng))

    @property
    def is_free(self) -> bool:
        """Whether the set is ours to choose: a proof may then replace it by a better one."""
        return self.method in SEARCHES and is_text(self.start) and self.start == "auto" and self.polish is not None

    @property
    def sweeps(self) -> int:
        """Sweeps of the fair loads: few where these are only a start among others."""
        only_starts = self.polish is None and not self.certify
        return FAST_SWEEPS if only_starts else EFFORT_SWEEPS[self.effort]

    def to_settings(self) -> dict[str, Any]:
        """What a result tells of the options; its own facts tell the rest."""
        names = ["method", "polish", "directed", "self_loops", *([] if self.weight == WEIGHT else ["weight"])]
        names += ["connected"] if self.connected else []
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Findings:
    """What a search found for every k, what bounds follow from (None: nothing is to be proved), and remarks."""

    outcomes: Outcomes
    facts: GraphFacts | None
    notes: dict[str, Any] = field(default_factory=dict)
    fixed: Flags | None = None
    """Which vertices of the graph of the facts must be included."""
    numbers: Integers | None = None
    """The numbers, in outcomes, of the vertices of that graph; None: those of the graph."""


class NamedSet(NamedTuple):
    """A set of vertices as the caller knows them."""

    nodes: tuple[Any, ...]
    ranks: Integers
    """The position of each among all vertices."""
    loops: int
    """The weight of its loops in units."""
    weight: float | None = None
    """pi'W pi where it is known better than in units."""
    parts: int | None = None
    """In how many connected parts it falls."""


class SubgraphTask(ABC):
    """A graph with the caller's constraints, ready to be searched for any k."""

    options: SubgraphOptions
    n_vertices: int
    required: Integers
    unit: float
    """The weight that one unit of an outcome stands for."""
    notes: dict[str, Any]
    deadline: float = np.inf
    """When to stop, by ``time.perf_counter``."""
    completed: tuple[DenseSubgraphResult, ...] = ()
    """The sets found before, whose vertices are no longer allowed."""

    @property
    @abstractmethod
    def n_allowed(self) -> int:
        """Vertices that may be chosen."""

    @abstractmethod
    def _exclude(self, found: DenseSubgraphResult) -> None:
        """Allow the vertices of a result no longer."""

    @abstractmethod
    def _search(self, ks: list[int], reached: Reached) -> Findings:
        """Find a set for every k; what is entered into ``reached`` is kept when Ctrl-C comes."""

    @abstractmethod
    def _name_set(self, outcome: Outcome) -> NamedSet:
        """The vertices of an outcome as the caller knows them."""

    def check_k(self, k: Any) -> int:
        """A number of vertices that the constraints allow."""
        of = "vertices" if self.n_allowed == self.n_vertices else "candidates"
        checked = check_cardinality(k, self.n_allowed, subject="k", of=of)
        if checked < len(self.required):
            message = f"k={checked} is less than the {len(self.required)} vertices of must_include."
            raise CardinalityError(message, parameter="k")
        return checked

    def leave_out(self, found: DenseSubgraphResult) -> Self:
        """The same task on the vertices that a result leaves."""
        rest = copy.copy(self)
        rest.completed = (*self.completed, found)
        rest._exclude(found)
        return rest

    def find_set(self, k: int) -> DenseSubgraphResult:
        """The densest k vertices found."""
        return self._solve([k], lambda curve: curve.results[0])

    def find_curve(self, ks: list[int]) -> DensityCurve:
        """The densest vertices found for every k, in the order of ``ks``."""
        return self._solve(ks, lambda curve: curve)

    def _solve(self, ks: list[int], present: Callable[[DensityCurve], Answer]) -> Answer:
        """Search, name, certify; ``present`` makes the caller's answer of it, also of what an interruption leaves."""
        began, reached = time.perf_counter(), Reached()
        if self.options.time_limit is not None:
            self.deadline = began + self.options.time_limit
        results: dict[int, DenseSubgraphResult] = {}
        proofs: dict[int, Certificate] = {}

        def keep(inner: object) -> Answer | None:
            kept = _add_proofs(results, proofs, 0.0) or self._rescue(reached, time.perf_counter() - began)
            curve = DensityCurve(tuple(kept[k] for k in ks if k in kept), time.perf_counter() - began)
            return present(curve) if curve.results else None

        with KeepWhenInterrupted(keep, completed=self.completed):
            found = self._search(ks, reached)
            seconds = time.perf_counter() - began
            results = {k: self._build_result(k, found.outcomes[k], seconds, found.notes) for k in set(ks)}
            if self.options.certify and found.facts is not None:
                self._certify(found, results, proofs, seconds)
                results = _add_proofs(results, proofs, time.perf_counter() - began - seconds)
        if time.perf_counter() > self.deadline:
            results = {k: _mark_stopped(result) for k, result in results.items()}
        if self.options.method == EXACT:
            results = {k: _mark_closed(result) for k, result in results.items()}
        return present(DensityCurve(tuple(results[k] for k in ks), time.perf_counter() - began))

    def _certify(
        self,
        found: Findings,
        results: dict[int, DenseSubgraphResult],
        proofs: dict[int, Certificate],
        seconds: float,
    ) -> None:
        """Prove bounds, and take better sets that the proofs find; both dictionaries hold what there is at any time."""
        facts, options = found.facts, self.options
        assert facts is not None
        outcomes = {k: found.outcomes[k] for k in results}
        inside = outcomes if found.numbers is None else renumber(outcomes, found.numbers)
        hurried = time.perf_counter() > self.deadline
        certifier = Certifier(facts, found.fixed, inside, hurried=hurried)
        effort = choose_effort(options.effort, facts, len(results), exact=options.method == EXACT)

        def enter() -> None:
            for k, outcome in outcomes.items():
                better = certifier.better_set(k) if options.is_free else None
                if better is not None and better[1] > outcome.value and self._may_take(better[0], found):
                    vertices = better[0] if found.numbers is None else found.numbers[better[0]]
                    outcomes[k] = improved = replace_set(outcome, vertices, better[1])
                    results[k] = self._build_result(k, improved, seconds, found.notes)
                proofs[k] = certifier.certificate(k, outcomes[k].value)

        try:
            if effort is not None and not hurried:
                certifier.run(effort, self.deadline, options.on_bracket)
        finally:
            enter()

    def _may_take(self, vertices: Integers, found: Findings) -> bool:
        """Whether a set, in the numbers of the graph of the facts, is one that was asked for."""
        if found.numbers is not None and np.setdiff1d(self.required, found.numbers[vertices]).size:
            return False
        return not self.options.connected or (found.facts is not None and count_parts(found.facts.graph, vertices) == 1)

    def _rescue(self, reached: Reached, seconds: float) -> dict[int, DenseSubgraphResult]:
        """The results of a search that was interrupted."""
        results = {k: self._build_result(k, outcome, seconds, {}) for k, outcome in reached.find_all().items()}
        return {k: replace(result, stop_reason=StopReason.INTERRUPTED) for k, result in results.items()}

    def _build_result(self, k: int, outcome: Outcome, seconds: float, notes: dict[str, Any]) -> DenseSubgraphResult:
        """The result without its certificate."""
        named = self._name_set(outcome)
        indicator = np.zeros(self.n_vertices, dtype=np.int8)
        indicator[named.ranks] = 1
        history = np.array([self.unit * value / k for value in outcome.history])
        indicator.flags.writeable = history.flags.writeable = False
        weight = self.unit * outcome.value if named.weight is None else named.weight
        return DenseSubgraphResult(
            nodes=named.nodes,
            indicator=indicator,
            k=k,
            weight=weight,
            density=weight / k,
            edge_density=(weight - self.unit * named.loops) / (k * (k - 1)) if k > 1 else 0.0,
            certificate=None,
            stop_reason=outcome.stop_reason,
            n_iterations=outcome.n_iterations,
            history=history,
            solver=self.options.method,
            settings=self.options.to_settings() | self.notes | notes | outcome.settings,
            seconds=seconds,
            stages=(Stage("search", seconds, weight / k),),
            connected_parts=named.parts,
        )


def _add_proofs(
    results: dict[int, DenseSubgraphResult], proofs: dict[int, Certificate], seconds: float
) -> dict[int, DenseSubgraphResult]:
    """The results with the proofs that there are."""
    proven = {}
    for k, result in results.items():
        proof = proofs.get(k)
        stage = () if proof is None else (Stage("bound", seconds, result.density, proof.upper_bound),)
        proven[k] = replace(result, certificate=proof, stages=(*result.stages, *stage))
    return proven


def _mark_closed(result: DenseSubgraphResult) -> DenseSubgraphResult:
    """Say that the exact method has proven what it found."""
    closed = result.certificate is not None and result.certificate.optimal
    return replace(result, stop_reason=StopReason.BRACKET_CLOSED) if closed else result


def _mark_stopped(result: DenseSubgraphResult) -> DenseSubgraphResult:
    """Say that the time was over, unless the answer is proven optimal all the same."""
    closed = result.certificate is not None and result.certificate.optimal
    return result if closed else replace(result, stop_reason=StopReason.TIME_LIMIT)


class MemoryTask(SubgraphTask):
    """A graph in memory. Outcomes are in the positions of their vertices among the allowed ones."""

    def __init__(self, graph: Any, must_include: Any, candidates: Any, options: SubgraphOptions) -> None:
        self.options = options
        self.source = source = load_graph(graph, options.weight)
        _warn_unused(source, read=isinstance(graph, Graph))
        self.whole, self.notes = build_graph(source, directed=options.directed, self_loops=options.self_loops)
        self.n_vertices, self.unit = self.whole.size, self.whole.unit
        self.choice: IntegerGraph | None = None
        if options.directed == "outgoing":
            self.choice = outgoing_graph(source, self_loops=options.self_loops)
        allowed = vertices_of(source, candidates, "candidates")
        self.allowed: Integers = np.arange(self.n_vertices, dtype=np.int64) if allowed is None else allowed
        required = vertices_of(source, must_include, "must_include")
        self.required = np.zeros(0, dtype=np.int64) if required is None else required
        outside = np.setdiff1d(self.required, self.allowed)
        if outside.size:
            message = f"must_include holds {source.label(int(outside[0]))!r}, which is not among the candidates."
            raise OptionError(message, parameter="must_include")
        self.start = options.start if is_text(options.start) else vertices_of(source, options.start, "start")

    @property
    def n_allowed(self) -> int:
        """Vertices that may be chosen."""
        return len(self.allowed)

    def _exclude(self, found: DenseSubgraphResult) -> None:
        self.allowed = np.setdiff1d(self.allowed, np.flatnonzero(found.indicator))

    def _search(self, ks: list[int], reached: Reached) -> Findings:
        facts = GraphFacts(self.restrict(self.whole), max(ks), sweeps=self.options.sweeps)
        fixed = facts.graph.no_flags()
        fixed[np.searchsorted(self.allowed, self.required)] = 1
        start: Any = self.start
        if not is_text(start):
            start = np.searchsorted(self.allowed, np.intersect1d(start, self.allowed)).astype(np.int64)
        choice = None if self.choice is None else self.restrict(self.choice)
        options = self.options
        problem = Problem(facts, fixed, start, options.polish, options.rng, choice, reached, self.deadline)
        outcomes = METHODS[self.options.method](problem, ks)
        if options.connected:
            outcomes = {k: connect(facts.graph, fixed, outcome) for k, outcome in outcomes.items()}
        return Findings(outcomes, facts, fixed=fixed)

    def restrict(self, graph: IntegerGraph) -> IntegerGraph:
        """The subgraph on the vertices that may be chosen."""
        return graph if len(self.allowed) == graph.size else graph.induced(self.allowed)

    def _name_set(self, outcome: Outcome) -> NamedSet:
        vertices = self.allowed[outcome.vertices]
        nodes = tuple(self.source.label(int(v)) for v in vertices)
        weight = None if self.whole.exact else weight_within(self.source, vertices, self.notes)
        loops = int(self.whole.loops[vertices].sum())
        return NamedSet(nodes, vertices, loops, weight, count_parts(self.whole, vertices))


def load_graph(graph: Any, weight: str | None) -> Graph:
    """A graph in memory from whatever the caller has, a path included; ``weight`` as in `densest_k_subgraph`."""
    path = as_path(graph)
    return check_graph(graph, weight) if path is None else read_file(path, weight=weight)


def _warn_unused(source: Graph, *, read: bool) -> None:
    """Say that edges have numbers that could be weights; ``read``: the graph was read before, without them."""
    unused = source.notes.get("unused_attributes")
    if unused:
        use = "Pass read_graph" if read else "Pass"
        message = (
            f"no edge has a 'weight', so that every edge counts 1; not used: {', '.join(map(repr, unused))}. {use} "
            f"weight={unused[0]!r} to use it as the weight, or weight=None if every edge is to count 1."
        )
        warnings.warn(message, UnusedWeightsWarning, stacklevel=5)  # of densest_k_subgraph's caller
