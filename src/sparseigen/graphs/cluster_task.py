"""Densest subgraphs of a graph on a cluster: peeled there, searched at home, certified for the whole graph."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseigen.checks.arguments import check_cardinality
from sparseigen.checks.graphs import is_text, vertex_labels
from sparseigen.errors import CardinalityError, OptionError, SolveInterrupted
from sparseigen.graphs import bounds as graph_facts
from sparseigen.graphs import shards as on_shard
from sparseigen.graphs.bounds import GraphFacts, Outside, UpperBounds
from sparseigen.graphs.cluster_graph import ClusterGraph, CoreReduction
from sparseigen.graphs.cluster_power import ClusterPower
from sparseigen.graphs.methods import Outcome, Problem, solve_tpower, subgraph_result
from sparseigen.graphs.model import SUMMED_TWICE, IntegerGraph
from sparseigen.graphs.shards import Extremes
from sparseigen.kernels.graph import Integers, Rows
from sparseigen.results import DenseSubgraphResult, DensityCurve


class ClusterTask:
    """One graph on a cluster with the caller's constraints, ready to be solved for any k."""

    def __init__(self, source: ClusterGraph, must_include: Any, candidates: Any, settings: dict[str, Any]) -> None:
        _check_supported(settings)
        self.source, self.settings = source, settings
        shards, self.unit, self.notes = source.symmetric(settings["directed"], settings["self_loops"])
        cluster = source.cluster
        self.shards = cluster.persist(shards)
        self.common = _common_weight(
            cluster.gather([cluster.task("extremes", on_shard.extremes, one, 1) for one in self.shards])
        )
        self.only = self._numbers(candidates, "candidates")
        self.removed: Integers = np.zeros(0, dtype=np.int64)
        required = self._numbers(must_include, "must_include")
        self.required: Integers = np.zeros(0, dtype=np.int64) if required is None else required
        if self.only is not None and np.setdiff1d(self.required, self.only).size:
            raise OptionError("must_include holds a vertex which is not among the candidates.")

    def _numbers(self, given: Any, name: str) -> Integers | None:
        labels = vertex_labels(given, name)
        return None if labels is None else self.source.numbers_of(labels, name)

    @property
    def n_allowed(self) -> int:
        """Vertices that may be chosen."""
        return (self.source.n_vertices if self.only is None else len(self.only)) - len(self.removed)

    def without(self, found: DenseSubgraphResult) -> ClusterTask:
        """The same task on the vertices that are left."""
        rest = object.__new__(ClusterTask)
        rest.__dict__.update(self.__dict__)
        chosen = self.source.numbers_of(np.array(found.nodes, dtype=np.int64), "found")
        rest.removed = np.union1d(self.removed, chosen)
        return rest

    def check_k(self, k: Any) -> int:
        """A number of vertices that the constraints allow."""
        of = "vertices" if self.only is None else "candidates"
        checked = check_cardinality(k, self.n_allowed, what="k", of=of)
        if checked < len(self.required):
            message = f"k={checked} is less than the {len(self.required)} vertices of must_include."
            raise CardinalityError(message, parameter="k")
        return checked

    def solve(self, ks: list[int]) -> DensityCurve:
        """The densest sets found, with bounds for the whole graph."""
        began = time.perf_counter()
        cluster, largest_k = self.source.cluster, max(ks)
        shards = cluster.persist([cluster.task("start", on_shard.with_degrees, one) for one in self._allowed_shards()])
        found = cluster.gather([cluster.task("extremes", on_shard.extremes, one, largest_k) for one in shards])
        searched = self.settings["start"] == "auto"
        core = self._core(shards, found, largest_k) if searched or self.settings["certify"] else None
        outcomes: dict[int, Outcome] = {}
        if searched and core is not None:
            outcomes = self._searched(core, ks)
        if not searched or core is None or not core.facts.is_whole:
            for k, outcome in self._plain(shards, found, ks).items():
                # Plain Algorithm 2 on the whole graph is the floor nothing falls below.
                if k not in outcomes or outcome.value > outcomes[k].value:
                    outcomes[k] = outcome
        seconds = time.perf_counter() - began
        results = {k: self._result(k, outcomes[k], core, seconds) for k in set(ks)}
        if self.settings["certify"] and core is not None:
            bounds = UpperBounds(core.facts)
            results = {
                k: replace(one, certificate=bounds.certificate(k, outcomes[k].value)) for k, one in results.items()
            }
        return DensityCurve(tuple(results[k] for k in ks), time.perf_counter() - began)

    def _allowed_shards(self) -> list[Any]:
        """The shards on the vertices that may be chosen."""
        cluster, space = self.source.cluster, self.source.space
        shards = self.shards
        for vertices, marked in ((self.only, True), (self.removed, False)):
            if vertices is not None and (marked or vertices.size):
                bits = cluster.task("allowed", on_shard.vertex_bits, vertices, space)
                shards = [cluster.task("restrict", on_shard.remaining, one, bits, space, marked) for one in shards]
        return shards

    def _core(self, shards: list[Any], found: list[Extremes], largest_k: int) -> _Core:
        """The core at home, in the units of the whole graph, with what must be known of the rest."""
        wanted = max(graph_facts.SPARE * largest_k, graph_facts.SMALLEST_PART, graph_facts.SMALLEST_LOAD_PART)
        wanted = min(wanted, self.n_allowed)
        source, common = self.source, self.common
        reduction = CoreReduction(source.cluster, source.space, wanted, self.required, largest_k, source.home_arcs)
        home = reduction.reduce(reduction.start(shards))
        rows, loops = home.graph.rows, home.graph.loops // common
        if common > 1:
            rows = Rows(rows.starts, rows.neighbours, np.zeros(0, dtype=np.int32))
        # Averages of two rounded weights stand in halves of the unit they were rounded to.
        rounding = 0.0 if self.unit.exact else 2.0 * self.unit.unit + SUMMED_TWICE * self.unit.rounding
        graph = IntegerGraph(rows, loops, self.unit.unit * common, self.unit.exact, rounding=rounding)
        outside = Outside(
            degrees=home.degrees // common,
            loads=home.loads // common,
            loops=on_shard.largest(np.concatenate([one.loops for one in found]), largest_k) // common,
            heaviest=max(one.high for one in found) // common,
            total=sum(one.degrees for one in found) // common,
        )
        fast = self.settings["polish"] is None and not self.settings["certify"]
        facts = GraphFacts(
            graph,
            largest_k,
            sweeps=graph_facts.FAST_SWEEPS if fast else graph_facts.SWEEPS,
            outside=outside if len(home.vertices) < self.n_allowed else None,
        )
        return _Core(home.vertices, facts, home.rounds)

    def _searched(self, core: _Core, ks: list[int]) -> dict[int, Outcome]:
        """The default search, in the core."""
        fixed = core.facts.graph.no_flags()
        fixed[np.searchsorted(core.vertices, self.required)] = 1
        problem = Problem(core.facts, fixed, "auto", self.settings["polish"], self.settings["rng"])
        try:
            outcomes = solve_tpower(problem, ks)
        except SolveInterrupted:  # what it holds is in the core's numbers, and the cluster is not asked any more
            raise SolveInterrupted(None) from None
        return {k: replace(one, vertices=core.vertices[one.vertices]) for k, one in outcomes.items()}

    def _plain(self, shards: list[Any], found: list[Extremes], ks: list[int]) -> dict[int, Outcome]:
        """Algorithm 2 on the whole graph, on the cluster."""
        heaviest, common = max(one.high for one in found), self.common
        power = ClusterPower(self.source.cluster, shards, self.source.space, self.required, heaviest, common)
        return {
            k: Outcome(
                run.vertices,
                run.value // common,
                run.stop_reason,
                run.n_iterations,
                tuple(value // common for value in run.history),
                {"start": "degree", "shifts": run.shifts},
            )
            for k, run in power.run(ks).items()
        }

    def _result(self, k: int, outcome: Outcome, core: _Core | None, seconds: float) -> DenseSubgraphResult:
        labels, ranks = self.source.labels_of(outcome.vertices)
        notes = self.notes | {"partitions": len(self.source.partitions)}
        if core is not None:
            notes |= {"vertices_at_home": len(core.vertices), "peeling_rounds": core.rounds}
        loops = 0
        if self.settings["self_loops"] == "keep":
            tasks = [self.source.cluster.task("loops", _loops_of, one, outcome.vertices) for one in self.shards]
            loops = sum(self.source.cluster.gather(tasks)) // self.common
        return subgraph_result(
            k,
            outcome,
            nodes=tuple(labels.tolist()),
            members=ranks,
            n_vertices=self.source.n_vertices,
            unit=self.unit.unit * self.common,
            loops=loops,
            settings=self.settings,
            notes=notes,
            seconds=seconds,
        )


@dataclass(frozen=True)
class _Core:
    """The part that came home: our vertex numbers, facts that hold for the whole graph, rounds of peeling."""

    vertices: Integers
    facts: GraphFacts
    rounds: int


def _loops_of(shard: on_shard.Shard, vertices: Integers) -> int:
    return int(shard.loops[np.isin(shard.vertices, vertices)].sum())


def _common_weight(found: list[Extremes]) -> int:
    """The weight that all edges have and that divides all loops, or 1."""
    high = max(one.high for one in found)
    low = min((one.low for one in found if one.high), default=0)
    divides = all(one.loops_divisor % high == 0 for one in found) if high else False
    return high if low == high and divides and high < 1 << 40 else 1


def _check_supported(settings: dict[str, Any]) -> None:
    """Refuse what would need the whole graph at home."""
    start, polish = settings["start"], settings["polish"]
    if settings["method"] != "tpower" or settings["directed"] == "outgoing":
        message = (
            f"method={settings['method']!r} with directed={settings['directed']!r} needs the whole graph in memory; a "
            "graph on a cluster takes method='tpower' with directed='average' or 'either'. Read it without client= to "
            "have it in memory."
        )
        raise OptionError(message)
    if not is_text(start) or start not in ("auto", "degree") or (start == "degree" and polish is not None):
        message = (
            f"start={start!r} with polish={polish!r} needs the whole graph in memory; a graph on a cluster takes "
            "start='auto', or start='degree' with polish=None. Read it without client= to have it in memory."
        )
        raise OptionError(message)
