"""A graph whose arcs lie in partitions on a cluster, and its reduction to the core that is searched at home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparseigen.errors import GraphTooLargeError, NodeError, PartitionError, ShapeError
from sparseigen.graphs import shards as on_shard
from sparseigen.graphs.model import TREATMENTS, IntegerGraph, WeightUnit, joined_facts, unit_of
from sparseigen.graphs.shards import Shard, Summary
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers, Rows
from sparseigen.operators.contract import computed_once
from sparseigen.rows.cluster import Cluster
from sparseigen.rows.partitions import Partition, load_partition

HOME_ARCS = 20_000_000
"""Entries of the symmetric graph that may come home unless the caller says otherwise: about 0.3 GB there."""


class ClusterGraph:
    """A graph in partitions, from `read_graph`; accepted by `densest_k_subgraph` and its relatives.

    The arcs are exchanged once so that every shard holds the rows of its own vertices; the shards stay on the
    workers. Nothing is read before it is needed.
    """

    def __init__(
        self,
        partitions: list[Partition],
        cluster: Cluster,
        *,
        columns: Sequence[str] | None = None,
        n_shards: int | None = None,
        home_arcs: int = HOME_ARCS,
    ) -> None:
        self.partitions, self.cluster, self.columns, self.home_arcs = partitions, cluster, columns, home_arcs
        self.n_shards = cluster.n_threads if n_shards is None else n_shards

    def __repr__(self) -> str:
        return f"ClusterGraph({len(self.partitions)} partitions, {self.n_shards} shards)"

    @computed_once
    def _arcs(self) -> tuple[list[Any], int]:
        """The arc shards, kept on the workers, and one more than the largest of our vertex numbers."""
        cluster, count = self.cluster, self.n_shards
        edges = [
            cluster.task("load", load_partition, number, partition.without_lazy(), self.columns, partition.lazy)
            for number, partition in enumerate(self.partitions)
        ]
        split = cluster.persist([cluster.task("split", on_shard.split_edges, one, count) for one in edges])
        facts = cluster.gather([cluster.task("look", _piece_facts, one) for one in split])
        space = self._check_facts(facts)
        pieces = [[cluster.task("piece", _item, one, shard) for one in split] for shard in range(count)]
        gathered = [cluster.task("exchange", _listed, *one) for one in pieces]
        labels = [cluster.task("labels", on_shard.shard_labels, one, count, space) for one in gathered]
        ranks = None
        if space is None:
            labels = cluster.persist(labels)
            ranks = cluster.task("ranks", _merged, *labels)
            space = sum(cluster.gather([cluster.task("count", len, one) for one in labels]))
        arcs = [
            cluster.task("arcs", on_shard.arc_shard, one, own, ranks, count, space)
            for one, own in zip(gathered, labels, strict=True)
        ]
        return cluster.persist(arcs), space

    def _check_facts(self, facts: list[tuple[int, int, int, bool]]) -> int | None:
        """One more than the largest label where labels are dense enough to be numbers, else None."""
        self._rows = sum(one[0] for one in facts)
        filled = [(number, one) for number, one in enumerate(facts) if one[0]]
        if not filled:
            raise ShapeError("the edge list is empty; a graph given by its edges needs at least one.")
        weighted = {one[3] for one in facts}
        if len(weighted) > 1:
            odd = next(number for number, one in enumerate(facts) if one[3] != facts[0][3])
            has = "has" if facts[odd][3] else "has no"
            message = (
                f"partition {odd} ({self.partitions[odd].name}) {has} weights, unlike partition 0 "
                f"({self.partitions[0].name}); give all or none of them weights (columns=)."
            )
            raise PartitionError(message)
        low, high = min(one[1] for _, one in filled), max(one[2] for _, one in filled)
        return high + 1 if low >= 0 and high < 4 * self._rows + 1024 else None

    @property
    def space(self) -> int:
        """One more than the largest vertex number."""
        return self._arcs[1]

    @computed_once
    def facts(self) -> list[on_shard.ArcFacts]:
        """The facts of every shard."""
        cluster = self.cluster
        return cluster.gather([cluster.task("facts", on_shard.arc_facts, one) for one in self._arcs[0]])

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return sum(one.vertices for one in self.facts)

    def symmetric(self, directed: str, self_loops: str) -> tuple[list[Any], WeightUnit, dict[str, Any]]:
        """The shards of the symmetric graph (lazy), the unit of their weights, and what was done to get there."""
        arcs, loops = sum(one.arcs for one in self.facts), sum(one.loops for one in self.facts)
        unit = unit_of(joined_facts([one.weights for one in self.facts]))
        combine, treatment = "as given", "symmetric as given"
        if not all(one.symmetric for one in self.facts):
            one_way = sum(one.either_way for one in self.facts) - loops == 2 * (arcs - loops)
            combine = "either" if one_way or directed == "either" else "sum"
            treatment = "undirected: every edge was listed in one direction" if one_way else TREATMENTS[directed]
        notes = {
            "duplicate_edges": f"{self._rows - arcs} summed" if arcs < self._rows else "none",
            "treatment": treatment,
            "self_loops": f"{loops} {'dropped' if self_loops == 'drop' else 'kept'}",
        }
        cluster = self.cluster
        shards = [
            cluster.task("rows", on_shard.symmetric_shard, one, combine, unit, self_loops == "keep")
            for one in self._arcs[0]
        ]
        if combine == "sum":  # W + W' stands for twice (W + W')/2
            unit = replace(unit, unit=unit.unit / 2.0)
        return shards, unit, notes

    def numbers_of(self, labels: Integers, name: str) -> Integers:
        """Our numbers of the caller's vertices, ascending."""
        cluster = self.cluster
        found = cluster.gather([cluster.task("find", on_shard.find_labels, one, labels) for one in self._arcs[0]])
        known = np.zeros(len(labels), dtype=bool)
        for positions, _ in found:
            known[positions] = True
        if not known.all():
            message = f"{name} holds {int(labels[~known][0])}, which is not a vertex of the graph."
            raise NodeError(message)
        return np.unique(np.concatenate([numbers for _, numbers in found]))

    def labels_of(self, vertices: Integers) -> tuple[Integers, Integers]:
        """The caller's labels of our numbers, and the rank of each among all vertices."""
        cluster = self.cluster
        found = cluster.gather([cluster.task("name", on_shard.name_vertices, one, vertices) for one in self._arcs[0]])
        labels = np.zeros(len(vertices), dtype=np.int64)
        for positions, own, _ in found:
            labels[positions] = own
        return labels, np.sum([part for _, _, part in found], axis=0)


def _piece_facts(pieces: list[Any]) -> tuple[int, int, int, bool]:
    """The facts of one partition, from what starts in each shard."""
    parts = [on_shard.edge_facts(outgoing) for outgoing, _ in pieces]
    filled = [one for one in parts if one[0]] or parts[:1]
    return sum(one[0] for one in parts), min(one[1] for one in filled), max(one[2] for one in filled), parts[0][3]


def _item(values: Any, position: int) -> Any:
    return values[position]


def _listed(*values: Any) -> list[Any]:
    return list(values)


def _merged(*labels: Integers) -> Integers:
    return on_shard.merged_labels(list(labels))


def _bits(space: int, *removed: Any) -> Any:
    return on_shard.removed_bits(list(removed), space)


@dataclass(frozen=True)
class Survivors:
    """What is left of a graph on the cluster after some peeling."""

    shards: list[Any]
    sizes: list[Summary]
    loads: Integers
    """The largest shares at removal of those that left, at most ``count`` of them."""
    rounds: int = 0

    @property
    def vertices(self) -> int:
        """How many are left."""
        return sum(one.vertices for one in self.sizes)

    @property
    def entries(self) -> int:
        """Entries of the symmetric matrix that are left: twice the edges."""
        return sum(one.entries for one in self.sizes)

    @property
    def mean_share(self) -> int:
        """The mean share, rounded up."""
        return -(-sum(one.weight for one in self.sizes) // max(1, self.vertices))


@dataclass(frozen=True)
class HomeGraph:
    """The core that was brought home."""

    vertices: Integers
    graph: IntegerGraph
    degrees: Integers
    loads: Integers
    rounds: int


class CoreReduction:
    """Peels a graph on the cluster until a core is small enough to come home.

    A vertex leaves when its share is below a threshold t; no vertex of the t-core ever does. A threshold counts only
    when its core holds at least ``wanted`` vertices, so that whatever needs the innermost ``wanted`` vertices finds
    them at home.
    """

    def __init__(self, cluster: Cluster, space: int, wanted: int, kept: Integers, count: int, home_arcs: int) -> None:
        self.cluster, self.space, self.wanted = cluster, space, wanted
        self.kept, self.count, self.home_arcs = kept, count, home_arcs

    def start(self, shards: list[Any]) -> Survivors:
        """The whole graph."""
        return Survivors(shards, self._sizes(shards), np.zeros(0, dtype=np.int64))

    def reduce(self, whole: Survivors) -> HomeGraph:
        """The core at home; raises where none is small enough."""
        accepted, low, failing = whole, 0, None
        while accepted.entries > self.home_arcs:
            threshold = max(low + 1, accepted.mean_share) if failing is None else (low + failing + 1) // 2
            if failing is not None and threshold >= failing:
                raise GraphTooLargeError(self._too_large(accepted))
            tried = self._peel(accepted, threshold)
            if tried is not None and tried.entries <= self.home_arcs:
                home = self._bring(tried)
                if self._core_size(home, threshold) >= self.wanted:
                    return home
                tried = None
            if tried is None:
                failing = threshold
            else:
                accepted, low = tried, threshold
        return self._bring(accepted)

    def _peel(self, state: Survivors, threshold: int) -> Survivors | None:
        """The t-core, or as soon as it is small enough for home a superset of it; None if it holds too few."""
        cluster = self.cluster
        while True:
            removed = [cluster.task("weakest", on_shard.weakest, one, threshold, self.kept) for one in state.shards]
            removed = cluster.persist(removed)
            bits = cluster.task("removed", _bits, self.space, *removed)
            shards = cluster.persist(
                [cluster.task("peel", on_shard.remaining, one, bits, self.space, False) for one in state.shards]
            )
            largest = [cluster.task("shares", on_shard.largest_removed, one, self.count) for one in removed]
            sizes = [cluster.task("size", on_shard.summary, one) for one in shards]
            answers = cluster.gather([*largest, *sizes])
            gone, sizes = answers[: len(shards)], answers[len(shards) :]
            loads = on_shard.largest(np.concatenate([state.loads, *(one for _, one in gone)]), self.count)
            state = Survivors(shards, sizes, loads, state.rounds + 1)
            if state.vertices - len(self.kept) < self.wanted:
                return None
            if state.entries <= self.home_arcs or sum(number for number, _ in gone) == 0:
                return state

    def _sizes(self, shards: list[Any]) -> list[Summary]:
        return self.cluster.gather([self.cluster.task("size", on_shard.summary, one) for one in shards])

    def _bring(self, state: Survivors) -> HomeGraph:
        """The surviving rows as one graph, its vertices numbered from 0 in their old order."""
        parts: list[Shard] = self.cluster.gather(state.shards)
        vertices = np.concatenate([part.vertices for part in parts])
        order = np.argsort(vertices)
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        firsts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        lengths = counts[order]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(firsts[order] - starts[:-1], lengths) + np.arange(int(starts[-1]))
        neighbours = np.concatenate([part.neighbours for part in parts])[entries]
        stored = any(part.weights.size for part in parts)
        weights = np.concatenate([on_shard.entry_weights(part) for part in parts])[entries] if stored else None
        numbers = np.searchsorted(vertices[order], neighbours).astype(np.int32)
        rows = Rows(starts, numbers, np.zeros(0, dtype=np.int32) if weights is None else weights)
        loops = np.concatenate([part.loops for part in parts])[order]
        degrees = np.concatenate([part.degrees for part in parts])[order]
        return HomeGraph(vertices[order], IntegerGraph(rows, loops, 1.0, True), degrees, state.loads, state.rounds)

    def _core_size(self, home: HomeGraph, threshold: int) -> int:
        graph = home.graph
        _, at_removal = graph_kernels.peel(graph.rows, graph.loops, graph.no_flags())
        return int(np.count_nonzero(np.maximum.accumulate(at_removal) >= threshold))

    def _too_large(self, accepted: Survivors) -> str:
        return (
            f"the smallest core that holds {self.wanted} vertices has {accepted.vertices} vertices and "
            f"{accepted.entries} entries, more than home_arcs={self.home_arcs}. Read the graph with a larger home_arcs "
            "(about 16 bytes each at home), or ask for a smaller k."
        )
