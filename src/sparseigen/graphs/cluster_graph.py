"""A graph whose arcs lie in partitions on a cluster, and its reduction to a core that fits into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseigen.errors import GraphTooLargeError, NodeError, PartitionError, ShapeError
from sparseigen.graphs import shards as on_shard
from sparseigen.graphs.model import TREATMENTS, IntegerGraph, WeightUnit, choose_unit, join_facts
from sparseigen.graphs.shards import RowShard, Summary
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers, Rows
from sparseigen.operators.contract import computed_once
from sparseigen.rows.cluster import Cluster
from sparseigen.rows.partitions import Edges, Partition, load_partition

LARGEST_CORE = 20_000_000
"""Entries of the core that is fetched, at most, unless the caller says otherwise: about 0.3 GB of memory."""


class ClusterGraph:
    """A graph in partitions, from `read_graph`; accepted by `densest_k_subgraph` and its relatives.

    The arcs are exchanged once so that every shard holds the rows of its vertices; the shards stay on the
    workers. Nothing is read before it is needed.
    """

    def __init__(
        self,
        partitions: list[Partition],
        cluster: Cluster,
        *,
        columns: Sequence[str] | None = None,
        n_shards: int | None = None,
        largest_core: int = LARGEST_CORE,
        weighted: bool = True,
    ) -> None:
        self.partitions, self.cluster, self.columns, self.largest_core = partitions, cluster, columns, largest_core
        self.n_shards = cluster.n_threads if n_shards is None else n_shards
        self.weighted = weighted

    def __repr__(self) -> str:
        return f"ClusterGraph({len(self.partitions)} partitions, {self.n_shards} shards)"

    def unweighted(self) -> ClusterGraph:
        """The same graph with every edge counting 1, whatever weights the partitions have."""
        return ClusterGraph(
            self.partitions,
            self.cluster,
            columns=self.columns,
            n_shards=self.n_shards,
            largest_core=self.largest_core,
            weighted=False,
        )

    @computed_once
    def _build_arcs(self) -> tuple[list[Any], int]:
        """The arc shards, kept on the workers, and one more than the largest of our vertex numbers."""
        cluster, count = self.cluster, self.n_shards
        load = load_partition if self.weighted else _load_unweighted
        edges = [
            cluster.task("load", load, number, partition.drop_lazy(), self.columns, partition.lazy)
            for number, partition in enumerate(self.partitions)
        ]
        split = cluster.persist([cluster.task("split", on_shard.split_edges, part, count) for part in edges])
        facts = cluster.gather([cluster.task("look", _join_piece_facts, pieces) for pieces in split])
        space = self._check_facts(facts)
        exchanged = [
            cluster.task("exchange", _list, *(cluster.task("piece", _take, pieces, shard) for pieces in split))
            for shard in range(count)
        ]
        labels = [cluster.task("labels", on_shard.find_shard_labels, pieces, count, space) for pieces in exchanged]
        ranks = None
        if space is None:
            labels = cluster.persist(labels)
            ranks = cluster.task("ranks", _merge_labels, *labels)
            space = sum(cluster.gather([cluster.task("count", len, part) for part in labels]))
        arcs = [
            cluster.task("arcs", on_shard.build_arc_shard, pieces, names, ranks, count, space)
            for pieces, names in zip(exchanged, labels, strict=True)
        ]
        return cluster.persist(arcs), space

    def _check_facts(self, facts: list[on_shard.EdgeFacts]) -> int | None:
        """One more than the largest label where labels are dense enough to be numbers, else None."""
        self._rows = sum(part.arcs for part in facts)
        filled = [part for part in facts if part.arcs]
        if not filled:
            raise ShapeError("the edge list is empty; a graph given by its edges needs at least one.")
        odd = next((number for number, part in enumerate(facts) if part.weighted != facts[0].weighted), None)
        if odd is not None:
            has = "has" if facts[odd].weighted else "has no"
            message = (
                f"partition {odd} ({self.partitions[odd].name}) {has} weights, unlike partition 0 "
                f"({self.partitions[0].name}); give all or none of them weights (columns=)."
            )
            raise PartitionError(message)
        low, high = min(part.low for part in filled), max(part.high for part in filled)
        return high + 1 if low >= 0 and high < 4 * self._rows + 1024 else None

    @property
    def space(self) -> int:
        """One more than the largest vertex number."""
        return self._build_arcs[1]

    @computed_once
    def facts(self) -> list[on_shard.ArcFacts]:
        """The facts of every shard."""
        cluster = self.cluster
        return cluster.gather([cluster.task("facts", on_shard.find_arc_facts, shard) for shard in self._build_arcs[0]])

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return sum(part.vertices for part in self.facts)

    def build_symmetric(self, directed: str, self_loops: str) -> tuple[list[Any], WeightUnit, dict[str, Any]]:
        """The shards of the symmetric graph (lazy), the unit of their weights, and what was done to get there."""
        arcs, loops = sum(part.arcs for part in self.facts), sum(part.loops for part in self.facts)
        unit = choose_unit(join_facts([part.weights for part in self.facts]))
        combine, treatment = "as given", "symmetric as given"
        if not all(part.symmetric for part in self.facts):
            one_way = sum(part.either_way for part in self.facts) - loops == 2 * (arcs - loops)
            combine = "either" if one_way or directed == "either" else "sum"
            treatment = "undirected: every edge was listed in one direction" if one_way else TREATMENTS[directed]
        notes = {
            "duplicate_edges": f"{self._rows - arcs} summed" if arcs < self._rows else "none",
            "treatment": treatment,
            "self_loops": f"{loops} {'dropped' if self_loops == 'drop' else 'kept'}",
        }
        cluster = self.cluster
        shards = [
            cluster.task("rows", on_shard.build_row_shard, shard, combine, unit, self_loops == "keep")
            for shard in self._build_arcs[0]
        ]
        if combine == "sum":  # W + W' stands for twice (W + W')/2
            unit = replace(unit, unit=unit.unit / 2.0)
        return shards, unit, notes

    def find_numbers(self, labels: Integers, name: str) -> Integers:
        """Our numbers of the caller's vertices, ascending."""
        cluster = self.cluster
        found = cluster.gather(
            [cluster.task("find", on_shard.locate_labels, shard, labels) for shard in self._build_arcs[0]]
        )
        known = np.zeros(len(labels), dtype=bool)
        for positions, _ in found:
            known[positions] = True
        if not known.all():
            message = f"{name} holds {int(labels[~known][0])}, which is not a vertex of the graph."
            raise NodeError(message, parameter=name)
        return np.unique(np.concatenate([numbers for _, numbers in found]))

    def find_labels(self, vertices: Integers) -> tuple[Integers, Integers]:
        """The caller's labels of our numbers, and the rank of each among all vertices."""
        cluster = self.cluster
        found = cluster.gather(
            [cluster.task("name", on_shard.name_vertices, shard, vertices) for shard in self._build_arcs[0]]
        )
        labels = np.zeros(len(vertices), dtype=np.int64)
        for positions, names, _ in found:
            labels[positions] = names
        return labels, np.sum([part for _, _, part in found], axis=0)


def _load_unweighted(number: int, partition: Partition, columns: Sequence[str] | None, computed: Any = None) -> Edges:
    return load_partition(number, partition, columns, computed)._replace(weight=None)


def _join_piece_facts(pieces: list[Any]) -> on_shard.EdgeFacts:
    """The facts of one partition, from what starts in each shard."""
    parts = [on_shard.find_edge_facts(outgoing) for outgoing, _ in pieces]
    filled = [part for part in parts if part.arcs] or parts[:1]
    low, high = min(part.low for part in filled), max(part.high for part in filled)
    return on_shard.EdgeFacts(sum(part.arcs for part in parts), low, high, parts[0].weighted)


def _take(values: Any, position: int) -> Any:
    return values[position]


def _list(*values: Any) -> list[Any]:
    return list(values)


def _merge_labels(*labels: Integers) -> Integers:
    """All labels of the graph, ascending."""
    return np.sort(np.concatenate(labels))


def _pack_removed(space: int, *removed: Any) -> Any:
    return on_shard.pack_vertices(np.concatenate([vertices for vertices, _ in removed]), space)


@dataclass(frozen=True)
class Survivors:
    """What is left of a graph on the cluster after some peeling."""

    shards: list[Any]
    sizes: list[Summary]
    loads: Integers
    """The largest contributions at removal of those that left, at most ``count`` of them."""
    rounds: int = 0

    @property
    def vertices(self) -> int:
        """How many are left."""
        return sum(size.vertices for size in self.sizes)

    @property
    def entries(self) -> int:
        """Entries of the symmetric matrix that are left: twice the edges."""
        return sum(size.entries for size in self.sizes)

    @property
    def mean_contribution(self) -> int:
        """The mean contribution, rounded up."""
        return -(-sum(size.weight for size in self.sizes) // max(1, self.vertices))


@dataclass(frozen=True)
class CoreGraph:
    """The core that was fetched, its vertices numbered from 0 in their old order."""

    vertices: Integers
    graph: IntegerGraph
    degrees: Integers
    loads: Integers
    rounds: int


class CoreReduction:
    """Peels a graph on the cluster until a core is small enough to be fetched.

    A vertex leaves when its contribution is below a threshold t; no vertex of the t-core ever does. A threshold counts
    only when its core holds at least ``wanted`` vertices, so that whatever needs the innermost ``wanted`` vertices
    finds them in it.
    """

    def __init__(
        self, cluster: Cluster, space: int, wanted: int, kept: Integers, count: int, largest_core: int
    ) -> None:
        self.cluster, self.space, self.wanted = cluster, space, wanted
        self.kept, self.count, self.largest_core = kept, count, largest_core

    def start(self, shards: list[Any]) -> Survivors:
        """The whole graph."""
        return Survivors(shards, self._find_sizes(shards), np.zeros(0, dtype=np.int64))

    def reduce(self, whole: Survivors) -> CoreGraph:
        """Fetch the core; raises where none is small enough."""
        accepted, low, failing = whole, 0, None
        while accepted.entries > self.largest_core:
            threshold = max(low + 1, accepted.mean_contribution) if failing is None else (low + failing + 1) // 2
            if failing is not None and threshold >= failing:
                raise GraphTooLargeError(self._explain_size(accepted))
            tried = self._peel(accepted, threshold)
            if tried is not None and tried.entries <= self.largest_core:
                core = self._fetch(tried)
                if self._count_core(core, threshold) >= self.wanted:
                    return core
                tried = None
            if tried is None:
                failing = threshold
            else:
                accepted, low = tried, threshold
        return self._fetch(accepted)

    def _peel(self, state: Survivors, threshold: int) -> Survivors | None:
        """The t-core, or as soon as it is small enough a superset of it; None if it holds too few."""
        cluster = self.cluster
        while True:
            removed = cluster.persist(
                [cluster.task("weakest", on_shard.find_weakest, shard, threshold, self.kept) for shard in state.shards]
            )
            bits = cluster.task("removed", _pack_removed, self.space, *removed)
            shards = cluster.persist(
                [cluster.task("peel", on_shard.restrict_shard, part, bits, self.space, False) for part in state.shards]
            )
            largest = [cluster.task("largest", on_shard.find_largest_removed, part, self.count) for part in removed]
            sizes = [cluster.task("size", on_shard.summarise, shard) for shard in shards]
            answers = cluster.gather([*largest, *sizes])
            gone, sizes = answers[: len(shards)], answers[len(shards) :]
            loads = on_shard.find_largest(np.concatenate([state.loads, *(largest for _, largest in gone)]), self.count)
            state = Survivors(shards, sizes, loads, state.rounds + 1)
            if state.vertices - len(self.kept) < self.wanted:
                return None
            if state.entries <= self.largest_core or sum(number for number, _ in gone) == 0:
                return state

    def _find_sizes(self, shards: list[Any]) -> list[Summary]:
        return self.cluster.gather([self.cluster.task("size", on_shard.summarise, shard) for shard in shards])

    def _fetch(self, state: Survivors) -> CoreGraph:
        """The surviving rows as one graph."""
        parts: list[RowShard] = self.cluster.gather(state.shards)
        vertices = np.concatenate([part.vertices for part in parts])
        order = np.argsort(vertices)
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        firsts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        lengths = counts[order]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(firsts[order] - starts[:-1], lengths) + np.arange(int(starts[-1]))
        neighbours = np.concatenate([part.neighbours for part in parts])[entries]
        stored = any(part.weights.size for part in parts)
        weights = np.concatenate([on_shard.expand_weights(part) for part in parts])[entries] if stored else None
        numbers = np.searchsorted(vertices[order], neighbours).astype(np.int32)
        rows = Rows(starts, numbers, np.zeros(0, dtype=np.int32) if weights is None else weights)
        loops = np.concatenate([part.loops for part in parts])[order]
        degrees = np.concatenate([part.degrees for part in parts])[order]
        return CoreGraph(vertices[order], IntegerGraph(rows, loops, 1.0, True), degrees, state.loads, state.rounds)

    def _count_core(self, core: CoreGraph, threshold: int) -> int:
        """Vertices of the t-core."""
        graph = core.graph
        _, at_removal = graph_kernels.peel(graph.rows, graph.loops, graph.no_flags())
        return int(np.count_nonzero(np.maximum.accumulate(at_removal) >= threshold))

    def _explain_size(self, accepted: Survivors) -> str:
        return (
            f"the smallest core that holds {self.wanted} vertices has {accepted.vertices} vertices and "
            f"{accepted.entries} entries, more than largest_core={self.largest_core}. Read the graph with a larger "
            "largest_core (about 16 bytes of memory per entry), or ask for a smaller k."
        )
