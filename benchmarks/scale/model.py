"""The cost model of docs/maintainers/cluster-model.md: one small run calibrates it, others are predicted."""

from __future__ import annotations

import time
from functools import partial
from typing import NamedTuple

import numpy as np

import sparseigen as se
from benchmarks.scale.cluster import scratch, two_workers
from benchmarks.scale.dask_data import overhead
from benchmarks.scale.dask_graph import make_edges
from sparseigen.graphs import shards as on_shard
from sparseigen.rows.cluster import Cluster

SHAPES = ((20_000, 4000), (40_000, 4000), (20_000, 8000), (160_000, 1000))
"""The first calibrates the bandwidth."""
WORKERS = 2
GRAPHS = (500_000, 1_000_000, 2_000_000)
"""Arcs; the first calibrates the seconds per entry and round."""


def rows(seed: int, count: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, size), dtype=np.float32)


def data_table(client: object) -> None:
    """A pass costs its bytes over the workers' bandwidth, and the overhead."""
    print("\n| n | p | GB per pass and worker | compute, ms | predicted, ms | over it, ms | MB back per iteration |")
    print("|---|---|---|---|---|---|---|")
    bandwidth = 0.0
    warm = se.covariance([partial(rows, seed, 500, 1000) for seed in range(8)], client=client)
    overhead(client, warm, passes=5)  # workers import what they need
    for count, size in SHAPES:
        parts = [partial(rows, seed, count // 8, size) for seed in range(8)]
        operator = se.covariance(parts, client=client)
        _, computed, beyond = overhead(client, operator, passes=12, typical=np.min)
        volume = 4.0 * count * size / WORKERS
        bandwidth = bandwidth or volume / computed
        returned = WORKERS * 8.0 * size / 1e6
        print(
            f"| {count} | {size} | {volume / 1e9:.2f} | {computed * 1e3:.0f} | {volume / bandwidth * 1e3:.0f} | "
            f"{beyond * 1e3:.0f} | {returned:.3f} |",
            flush=True,
        )
    print(f"\nbandwidth of a worker in the first row: {bandwidth / 1e9:.2f} GB/s")


def graph_table(client: object) -> tuple[float, float]:
    """Seconds of reading per arc, and of a round of peeling per entry left; core-seconds on the largest graph."""
    print("\n| arcs | read and exchange, s | predicted, s | a round, ms | predicted, ms |")
    print("|---|---|---|---|---|")
    calibrated: tuple[float, float] | None = None
    with scratch() as folder:  # workers import what they need
        make_edges(folder, 1000, 10_000)
        _ = se.read_graph(str(folder / "*.parquet"), client=client).facts
    for arcs in GRAPHS:
        with scratch() as folder:
            make_edges(folder, arcs // 20, arcs)
            began = time.perf_counter()
            graph = se.read_graph(str(folder / "*.parquet"), client=client)
            _ = graph.facts
            read = time.perf_counter() - began
            cluster = graph.cluster
            lazy, _, _ = graph.symmetric("average", "drop")
            shards = cluster.persist(lazy)
            cluster.gather([cluster.task("size", on_shard.summary, one) for one in shards])
            nobody = cluster.persist(
                [cluster.task("removed", on_shard.vertex_bits, np.zeros(0, dtype=np.int64), graph.space)]
            )[0]
            round_seconds = np.inf
            for _ in range(5):
                began = time.perf_counter()
                left = [cluster.task("peel", on_shard.remaining, one, nobody, graph.space, False) for one in shards]
                cluster.gather([cluster.task("size", on_shard.summary, one) for one in left])
                round_seconds = min(round_seconds, time.perf_counter() - began)
        calibrated = calibrated or (read / arcs, round_seconds / arcs)
        print(
            f"| {arcs} | {read:.2f} | {calibrated[0] * arcs:.2f} | {round_seconds * 1e3:.0f} | "
            f"{calibrated[1] * arcs * 1e3:.0f} |",
            flush=True,
        )
    return WORKERS * read / arcs, WORKERS * round_seconds / arcs


def nothing(one: object, other: object) -> int:
    """A task that does nothing."""
    return 0


def task_seconds(client: object, count: int = 400) -> float:
    """What one more task costs: the scheduler's work, which no node can share."""
    cluster = Cluster(client)
    held = cluster.persist([cluster.task("hold", int, 1) for _ in range(2)])
    seconds = []
    for tasks in (2, count):
        best = np.inf
        for _ in range(5):
            began = time.perf_counter()
            cluster.gather(cluster.map_pairs("nothing", nothing, [held[i % 2] for i in range(tasks)], [None] * tasks))
            best = min(best, time.perf_counter() - began)
        seconds.append(best)
    return (seconds[1] - seconds[0]) / (count - 2)


class Node(NamedTuple):
    """An assumed node: what it costs and what it reaches. Change these to yours."""

    memory: float = 400e9
    """Bytes for data, of 512 GB."""
    bandwidth: float = 100e9
    """Bytes per second that the product reads with all cores."""
    disk: float = 6e9
    network: float = 2.5e9
    cores: int = 64
    dollars_per_hour: float = 4.0


def extrapolate(per_task: float, read: float, entry_round: float, node: Node = Node()) -> None:  # noqa: B008
    """The two extrapolations of that page; ``read`` and ``entry_round`` are core-seconds per arc, measured."""
    print("\n| case | nodes | load, s | a pass or round, s | passes or rounds | total, min | dollars |")
    print("|---|---|---|---|---|---|---|")
    size, p = 1e9 * 1e5 * 4, 1e5
    nodes = size / node.memory
    merge = 3 * 8 * 8 * p / node.network + per_task * nodes * 8 / 7
    _row(
        "10^9 x 10^5 float32 in memory",
        nodes,
        size / nodes / node.network,
        node.memory / node.bandwidth + merge,
        30,
        node,
    )
    _row("the same, keep=False from local disks", 100, 0.0, size / 100 / node.disk + merge, 30, node)
    stored = 0.01 * 1e14 * 8
    _row(
        "the same, 1 % filled, CSR",
        stored / node.memory,
        node.memory / node.network,
        8 * node.memory / node.bandwidth,
        30,
        node,
    )
    arcs = 1e11
    nodes = 60 * arcs / node.memory
    load = max(read * arcs / nodes / node.cores, 32 * arcs / nodes / node.network) + per_task * 10_000 * nodes
    _row("10^11 arcs, 10,000 files", nodes, load, entry_round * arcs / nodes / node.cores + 1.0, 60, node)


def _row(case: str, nodes: float, load: float, each: float, count: int, node: Node) -> None:
    total = load + each * count
    cost = np.ceil(nodes) * total / 3600 * node.dollars_per_hour
    print(f"| {case} | {np.ceil(nodes):.0f} | {load:.0f} | {each:.1f} | {count} | {total / 60:.0f} | {cost:.0f} |")


def show_model() -> None:
    with two_workers() as client:
        data_table(client)
        read, entry_round = graph_table(client)
        per_task = task_seconds(client)
        print(f"\none more task: {per_task * 1e3:.2f} ms")
        extrapolate(per_task, read, entry_round)
