"""Sparse components of partitioned data and the densest subgraph of partitioned edges, on a Dask cluster.

Runs as it stands with two worker processes on this machine. On a real cluster give the scheduler's address:

    python docs/examples/dask_cluster.py tcp://scheduler.example.org:8786
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

import sparseigen as se


def load_rows(number: int) -> np.ndarray:
    """One partition of the data: here made up, in real life read from a file that every worker can open."""
    rng = np.random.default_rng(number)
    rows = rng.standard_normal((2000, 500))
    rows[:, :12] += 2.0 * rng.standard_normal((2000, 1))
    return rows


def write_edges(folder: Path) -> str:
    """Edges in four parquet files: some vertices with many edges, most with few, and a dense part at the end."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    ends = (200_000 * rng.random((2, 600_000)) ** 3).astype(np.int64)
    dense = 199_970 + rng.integers(0, 30, (2, 2000))
    ends = np.concatenate([ends, dense], axis=1)
    for number, part in enumerate(np.array_split(ends, 4, axis=1)):
        parquet.write_table(pa.table({"source": part[0], "target": part[1]}), folder / f"edges-{number}.parquet")
    return str(folder / "*.parquet")


def show(client: Client) -> None:
    """One fit and one subgraph."""
    operator = se.covariance([partial(load_rows, number) for number in range(8)], scale=True, client=client)
    print(se.sparse_eigenvector(operator, 12))
    print(operator.describe())
    with tempfile.TemporaryDirectory() as folder:
        graph = se.read_graph(write_edges(Path(folder)), client=client, largest_core=1_000_000)
        result = se.densest_k_subgraph(graph, 30)
        print(result)
        print(f"{result.settings['core_vertices']} of {graph.n_vertices} vertices came to the client")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with Client(sys.argv[1]) as client:
            show(client)
    else:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            show(client)
