"""A graph of 20 million arcs in 16 parquet files: peeled on two workers, against the same graph in memory."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import sparseigen as se
from benchmarks.graphs.scale import power_law_ranks
from benchmarks.scale.cluster import scratch, two_workers

N_VERTICES = 1_000_000
N_ARCS = 20_000_000
PARTS = 16
SIZES = (50, 200, 1000)
LARGEST_CORE = 12_000_000


def make_edges(folder: Path, n_vertices: int, n_arcs: int) -> None:
    """Power-law degrees; every edge in both directions, the arcs in random order over the files."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(11)
    names = rng.permutation(n_vertices)
    keys = np.zeros(0, dtype=np.int64)
    while len(keys) < n_arcs // 2:
        first, second = (names[power_law_ranks(rng, n_vertices, n_arcs)] for _ in range(2))
        low, high = np.minimum(first, second), np.maximum(first, second)
        keys = np.unique(np.concatenate([keys, (low * n_vertices + high)[low != high]]))
    keys = keys[rng.permutation(len(keys))[: n_arcs // 2]]
    low, high = keys // n_vertices, keys % n_vertices
    source, target = np.concatenate([low, high]), np.concatenate([high, low])
    order = rng.permutation(len(source))
    for number, rows in enumerate(np.array_split(order, PARTS)):
        table = pa.table({"source": source[rows], "target": target[rows]})
        parquet.write_table(table, folder / f"part-{number:02d}.parquet")


def in_memory(folder: Path) -> se.results.DensityCurve:
    import pyarrow.parquet as parquet

    return se.density_curve(parquet.read_table(folder), SIZES)


def show_graph(n_vertices: int = N_VERTICES, n_arcs: int = N_ARCS, largest_core: int = LARGEST_CORE) -> None:
    with scratch() as folder:
        make_edges(folder, n_vertices, n_arcs)
        stored = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{n_vertices} vertices, {n_arcs} arcs, {PARTS} parquet files, {stored / 1e6:.0f} MB")
        began = time.perf_counter()
        expected = in_memory(folder)
        print(f"in memory: {time.perf_counter() - began:.1f} s with reading")
        with two_workers() as client:
            began = time.perf_counter()
            graph = se.read_graph(str(folder / "*.parquet"), client=client, largest_core=largest_core)
            count = graph.n_vertices
            read = time.perf_counter() - began
            found = se.density_curve(graph, SIZES)
            total = time.perf_counter() - began
        settings = found.results[0].settings
        print(
            f"two workers: {total:.1f} s ({read:.1f} s to read and exchange {count} vertices' rows); "
            f"{settings['peeling_rounds']} rounds of peeling, {settings['core_vertices']} vertices fetched"
        )
        print(f"{'k':>6} {'density':>12} {'bound':>12} {'same nodes':>11} {'same bound':>11}")
        for one, other in zip(found, expected, strict=True):
            bounds = one.certificate.upper_bound, other.certificate.upper_bound
            print(
                f"{one.k:>6} {one.density:>12.6f} {bounds[0]:>12.6f} {one.nodes == other.nodes!s:>11} "
                f"{bounds[0] == bounds[1]!s:>11}",
                flush=True,
            )
