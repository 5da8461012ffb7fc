"""Densest subgraphs of a graph on a cluster: peeled there, searched in memory, certified for the whole graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseigen.checks.graphs import WEIGHT, is_text, vertex_labels
from sparseigen.errors import OptionError
from sparseigen.graphs import bounds as graph_facts
from sparseigen.graphs import shards as on_shard
from sparseigen.graphs.bounds import GraphFacts, Outside
from sparseigen.graphs.cluster_graph import ClusterGraph, CoreReduction
from sparseigen.graphs.cluster_power import ClusterPower
from sparseigen.graphs.connectedness import connect, count_parts
from sparseigen.graphs.methods import Outcome, Outcomes, Problem, Reached, solve_tpower
from sparseigen.graphs.model import SUMMED_TWICE, IntegerGraph
from sparseigen.graphs.shards import Extremes
from sparseigen.graphs.task import Findings, NamedSet, SubgraphOptions, SubgraphTask
from sparseigen.kernels.graph import Integers, Rows
from sparseigen.results import DenseSubgraphResult


class ClusterTask(SubgraphTask):
    """A graph on a cluster. Outcomes are in the numbers that the graph gives its vertices.

    Nothing is kept of an interrupted search: to name its vertices the cluster would have to be asked again.
    """

    def __init__(self, source: ClusterGraph, must_include: Any, candidates: Any, options: SubgraphOptions) -> None:
        _check_supported(options)
        self.core: _Core | None = None
        source = source.unweighted() if options.weight is None else source
        self.source, self.options, self.n_vertices = source, options, source.n_vertices
        shards, self.weight_unit, self.notes = source.build_symmetric(options.directed, options.self_loops)
        self.notes |= {"partitions": len(source.partitions)}
        self.shards = source.cluster.persist(shards)
        self.common = _common_weight(self._find_extremes(self.shards, 1))
        self.unit = self.weight_unit.unit * self.common
        self.only = self._numbers(candidates, "candidates")
        self.removed: Integers = np.zeros(0, dtype=np.int64)
        required = self._numbers(must_include, "must_include")
        self.required = np.zeros(0, dtype=np.int64) if required is None else required
        if self.only is not None and np.setdiff1d(self.required, self.only).size:
            raise OptionError(
                "must_include holds a vertex which is not among the candidates.", parameter="must_include"
            )

    def _numbers(self, nodes: Any, name: str) -> Integers | None:
        labels = vertex_labels(nodes, name)
        return None if labels is None else self.source.find_numbers(labels, name)

    def _find_extremes(self, shards: list[Any], count: int) -> list[Extremes]:
        cluster = self.source.cluster
        return cluster.gather([cluster.task("extremes", on_shard.find_extremes, shard, count) for shard in shards])

    @property
    def n_allowed(self) -> int:
        """Vertices that may be chosen."""
        return (self.n_vertices if self.only is None else len(self.only)) - len(self.removed)

    def _exclude(self, found: DenseSubgraphResult) -> None:
        chosen = self.source.find_numbers(np.array(found.nodes, dtype=np.int64), "found")
        self.removed = np.union1d(self.removed, chosen)

    def _search(self, ks: list[int], reached: Reached) -> Findings:
        cluster, options, largest_k = self.source.cluster, self.options, max(ks)
        shards = [cluster.task("start", on_shard.add_degrees, shard) for shard in self._restrict_to_allowed()]
        shards = cluster.persist(shards)
        extremes = self._find_extremes(shards, largest_k)
        if options.start != "auto" and not options.certify:
            return Findings(self._run_plain(shards, extremes, ks), None)
        self.core = core = self._build_core(shards, extremes, largest_k)
        outcomes = self._search_core(core, ks) if options.start == "auto" else {}
        # A set of the whole graph may be connected outside the core only, so that connected ones are those of the core.
        if not outcomes or not (core.facts.is_whole or options.connected):
            for k, outcome in self._run_plain(shards, extremes, ks).items():
                # Plain Algorithm 2 on the whole graph is the floor nothing falls below.
                if k not in outcomes or outcome.value > outcomes[k].value:
                    outcomes[k] = outcome
        notes = {"core_vertices": len(core.vertices), "peeling_rounds": core.rounds}
        return Findings(outcomes, core.facts, notes, numbers=core.vertices)

    def _restrict_to_allowed(self) -> list[Any]:
        """The shards on the vertices that may be chosen."""
        cluster, space = self.source.cluster, self.source.space
        shards = self.shards
        for vertices, marked in ((self.only, True), (self.removed, False)):
            if vertices is not None and (marked or vertices.size):
                bits = cluster.task("allowed", on_shard.pack_vertices, vertices, space)
                shards = [
                    cluster.task("restrict", on_shard.restrict_shard, shard, bits, space, marked) for shard in shards
                ]
        return shards

    def _build_core(self, shards: list[Any], extremes: list[Extremes], largest_k: int) -> _Core:
        """The core in memory, in the units of the whole graph, with what must be known of the rest."""
        wanted = max(graph_facts.SPARE * largest_k, graph_facts.SMALLEST_PART, graph_facts.SMALLEST_LOAD_PART)
        wanted = min(wanted, self.n_allowed)
        source, common, unit = self.source, self.common, self.weight_unit
        reduction = CoreReduction(source.cluster, source.space, wanted, self.required, largest_k, source.largest_core)
        core = reduction.reduce(reduction.start(shards))
        rows, loops = core.graph.rows, core.graph.loops // common
        if common > 1:
            rows = Rows(rows.starts, rows.neighbours, np.zeros(0, dtype=np.int32))
        # Averages of two rounded weights stand in halves of the unit they were rounded to.
        rounding = 0.0 if unit.exact else 2.0 * unit.unit + SUMMED_TWICE * unit.rounding
        graph = IntegerGraph(rows, loops, self.unit, unit.exact, rounding=rounding)
        outside = Outside(
            degrees=core.degrees // common,
            loads=core.loads // common,
            loops=on_shard.find_largest(np.concatenate([part.loops for part in extremes]), largest_k) // common,
            heaviest=max(part.high for part in extremes) // common,
            total=sum(part.degrees for part in extremes) // common,
        )
        is_whole = len(core.vertices) == self.n_allowed
        facts = GraphFacts(graph, largest_k, sweeps=self.options.sweeps, outside=None if is_whole else outside)
        return _Core(core.vertices, facts, core.rounds)

    def _search_core(self, core: _Core, ks: list[int]) -> Outcomes:
        """The default search, in the core."""
        fixed = core.facts.graph.no_flags()
        fixed[np.searchsorted(core.vertices, self.required)] = 1
        options = self.options
        problem = Problem(core.facts, fixed, "auto", options.polish, options.rng, deadline=self.deadline)
        outcomes = solve_tpower(problem, ks)
        if options.connected:
            outcomes = {k: connect(core.facts.graph, fixed, outcome) for k, outcome in outcomes.items()}
        return {k: replace(outcome, vertices=core.vertices[outcome.vertices]) for k, outcome in outcomes.items()}

    def _run_plain(self, shards: list[Any], extremes: list[Extremes], ks: list[int]) -> Outcomes:
        """Algorithm 2 on the whole graph, on the cluster."""
        heaviest, common = max(part.high for part in extremes), self.common
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

    def _name_set(self, outcome: Outcome) -> NamedSet:
        labels, ranks = self.source.find_labels(outcome.vertices)
        loops = 0
        if self.options.self_loops == "keep":
            cluster = self.source.cluster
            tasks = [cluster.task("loops", _sum_loops, shard, outcome.vertices) for shard in self.shards]
            loops = sum(cluster.gather(tasks)) // self.common
        return NamedSet(tuple(labels.tolist()), ranks, loops, parts=self._count_parts(outcome.vertices))

    def _count_parts(self, vertices: Integers) -> int | None:
        """In how many connected parts a set falls; None where it leaves the core."""
        if self.core is None or np.setdiff1d(vertices, self.core.vertices).size:
            return None
        places = np.searchsorted(self.core.vertices, np.sort(vertices)).astype(np.int64)
        return count_parts(self.core.facts.graph, places)


@dataclass(frozen=True)
class _Core:
    """The part that is searched in memory: its vertices, facts that hold for the whole graph, rounds of peeling."""

    vertices: Integers
    facts: GraphFacts
    rounds: int


def _sum_loops(shard: on_shard.RowShard, vertices: Integers) -> int:
    return int(shard.loops[np.isin(shard.vertices, vertices)].sum())


def _common_weight(extremes: list[Extremes]) -> int:
    """The weight that all edges have and that divides all loops, or 1."""
    high = max(part.high for part in extremes)
    low = min((part.low for part in extremes if part.high), default=0)
    divides = all(part.loops_divisor % high == 0 for part in extremes) if high else False
    return high if low == high and divides and high < 1 << 40 else 1


def _check_supported(options: SubgraphOptions) -> None:
    """Refuse what would need the whole graph in memory."""
    start, polish = options.start, options.polish
    if options.method != "tpower" or options.directed == "outgoing":
        message = (
            f"method={options.method!r} with directed={options.directed!r} needs the whole graph in memory; a graph on "
            "a cluster takes method='tpower' with directed='average' or 'either'. Read it without client= to have it "
            "in memory."
        )
        raise OptionError(message, parameter="method")
    if options.weight not in (None, WEIGHT):
        message = (
            f"weight={options.weight!r} is for graphs in memory; name the columns of a graph in partitions when it is "
            "read: read_graph(..., columns=(source, target, weight)), or pass weight=None to count every edge once."
        )
        raise OptionError(message, parameter="weight")
    if not is_text(start) or start not in ("auto", "degree") or (start == "degree" and polish is not None):
        message = (
            f"start={start!r} with polish={polish!r} needs the whole graph in memory; a graph on a cluster takes "
            "start='auto', or start='degree' with polish=None. Read it without client= to have it in memory."
        )
        raise OptionError(message, parameter="start")
    if options.connected and start != "auto":
        message = (
            f"connected=True with start={start!r} needs the whole graph in memory; on a cluster it takes start='auto'."
        )
        raise OptionError(message, parameter="connected")
