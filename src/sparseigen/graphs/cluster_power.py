"""Algorithm 2 on a graph in shards: every product is one pass of the workers over their rows, for all k at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sparseigen.graphs import shards as on_shard
from sparseigen.graphs.shards import RowShard
from sparseigen.graphs.vertex_sets import LARGEST_SHIFT, MAX_ITERATIONS, find_shift
from sparseigen.kernels.graph import Integers
from sparseigen.results import StopReason
from sparseigen.rows.cluster import Cluster


@dataclass
class ClusterRun:
    """One run of Algorithm 2: the set, its weight, and how it went."""

    count: int
    vertices: Integers
    value: int = 0
    history: list[int] = field(default_factory=list)
    stop_reason: StopReason = StopReason.ITERATION_LIMIT
    going: bool = True
    n_iterations: int = 0
    shifts: int = 0
    raised: int = 0
    proposed: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


class Scored(NamedTuple):
    """Vertices with scores, best first."""

    vertices: Integers
    scores: Integers


def choose_best(parts: list[Scored], count: int) -> Integers:
    """The vertices of largest score, ties by lowest number; ascending."""
    vertices, scores = (np.concatenate([part[field] for part in parts]) for field in (0, 1))
    order = np.lexsort((vertices, -scores))[:count]
    return np.sort(vertices[order])


def multiply_shard(shard: RowShard, sets: list[Integers], space: int) -> list[Integers]:
    """For every set the weight of each vertex of the shard to it."""
    products = []
    for chosen in sets:
        member = np.zeros(space, dtype=np.int64)
        member[chosen] = 1
        reached = member[shard.neighbours]
        products.append(on_shard.sum_rows(shard, reached * shard.weights if shard.weights.size else reached))
    return products


def find_best(
    shard: RowShard, products: list[Integers], sets: list[Integers], shifts: list[int], fixed: Integers
) -> list[Scored]:
    """For every set the shard's best vertices of largest ``2 product + member (2 loop + shift)``, as many as it has."""
    found = []
    for product, chosen, shift in zip(products, sets, shifts, strict=True):
        scores = 2 * product + np.isin(shard.vertices, chosen) * (2 * shard.loops + shift)
        found.append(_take_top(shard.vertices, scores, fixed, len(chosen)))
    return found


def find_largest_degrees(shard: RowShard, fixed: Integers, count: int) -> Scored:
    """The shard's vertices of largest degree."""
    return _take_top(shard.vertices, shard.degrees, fixed, count)


def _take_top(vertices: Integers, scores: Integers, fixed: Integers, count: int) -> Scored:
    scores = np.where(np.isin(vertices, fixed), np.iinfo(np.int64).max, scores)
    if count < len(scores):
        # All that tie with the last one are compared, so that the lowest numbers among them are kept.
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        candidates = np.flatnonzero(scores >= least)
    else:
        candidates = np.arange(len(scores))
    order = candidates[np.lexsort((vertices[candidates], -scores[candidates]))][:count]
    return Scored(vertices[order], scores[order])


def weigh_sets(shard: RowShard, sets: list[Integers]) -> list[int]:
    """For every set the shard's part of pi'W pi: reads the rows of its members only."""
    found = []
    for chosen in sets:
        rows = np.flatnonzero(np.isin(shard.vertices, chosen))
        lengths = np.diff(shard.starts)[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        entries = np.repeat(shard.starts[rows] - offsets, lengths) + np.arange(int(lengths.sum()))
        inside = np.isin(shard.neighbours[entries], chosen)
        weight = int(shard.weights[entries[inside]].sum()) if shard.weights.size else int(np.count_nonzero(inside))
        found.append(weight + int(shard.loops[rows].sum()))
    return found


class ClusterPower:
    """Runs Algorithm 2 from the k largest degrees; the answers are those of `vertex_sets.truncated_power`."""

    def __init__(
        self, cluster: Cluster, shards: list[Any], space: int, fixed: Integers, heaviest: int, common: int
    ) -> None:
        self.cluster, self.shards, self.space, self.fixed = cluster, shards, space, fixed
        self.heaviest, self.common = heaviest, common

    def run(self, ks: list[int]) -> dict[int, ClusterRun]:
        """One run for each k; every pass serves all that are still going."""
        cluster = self.cluster
        tasks = [cluster.task("degrees", find_largest_degrees, shard, self.fixed, max(ks)) for shard in self.shards]
        parts = cluster.gather(tasks)
        runs = [ClusterRun(count, choose_best(parts, count)) for count in sorted(set(ks))]
        for run, value in zip(runs, self._find_weights([run.vertices for run in runs]), strict=True):
            run.value, run.history = value, [value]
        going = runs
        while going:
            self._iterate(going)
            going = [run for run in going if run.going]
        return {run.count: run for run in runs}

    def _find_weights(self, sets: list[Integers]) -> list[int]:
        tasks = [self.cluster.task("weight", weigh_sets, shard, sets) for shard in self.shards]
        return [sum(parts) for parts in zip(*self.cluster.gather(tasks), strict=True)]

    def _iterate(self, going: list[ClusterRun]) -> None:
        """One iteration of every run: the product once, then shifts until the weight does not fall."""
        sets = [run.vertices for run in going]
        products = self.cluster.persist(
            [self.cluster.task("product", multiply_shard, shard, sets, self.space) for shard in self.shards]
        )
        for run in going:
            run.raised, run.n_iterations = 0, run.n_iterations + 1
        moving = going
        while moving:
            self._propose(going, products, sets)
            trying = [run for run in moving if not np.array_equal(run.proposed, run.vertices)]
            for run in moving:
                if np.array_equal(run.proposed, run.vertices):
                    run.stop_reason, run.going = StopReason.FIXED_POINT, False
            if not trying:
                return
            values = self._find_weights([run.proposed for run in trying])
            moving = []
            for run, value in zip(trying, values, strict=True):
                if value >= run.value:
                    self._accept(run, value)
                else:
                    run.raised += 1
                    run.shifts += 1
                    moving.append(run)

    def _propose(self, going: list[ClusterRun], products: list[Any], sets: list[Integers]) -> None:
        shifts = [self._find_shift(run.raised) for run in going]
        tasks = [
            self.cluster.task("best", find_best, shard, product, sets, shifts, self.fixed)
            for shard, product in zip(self.shards, products, strict=True)
        ]
        found = self.cluster.gather(tasks)
        for position, run in enumerate(going):
            run.proposed = choose_best([parts[position] for parts in found], run.count)

    def _find_shift(self, raised: int) -> int:
        # In multiples of the common weight, as in memory, where such a graph is stored without weights.
        return min(find_shift(self.heaviest // self.common, raised) * self.common, LARGEST_SHIFT)

    def _accept(self, run: ClusterRun, value: int) -> None:
        stalled = value == run.value
        run.vertices, run.value = run.proposed, value
        run.history.append(value)
        if stalled:
            run.stop_reason = StopReason.VALUE_STALLED
        run.going = not stalled and run.n_iterations < MAX_ITERATIONS
