"""One in-process cluster for all tests of a session, a graph written as parquet partitions, and small cores."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.graphs import bounds as graph_facts

pytest.importorskip("distributed", reason="the Dask tests need dask and distributed (extra 'dask')")


@pytest.fixture(scope="session")
def client():
    """Two workers of one thread each, in this process: no pickling through processes, so it starts in no time."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as made,
    ):
        yield made


@pytest.fixture
def write_edges(tmp_path):
    """A function that writes an edge array (two or three columns) as parquet partitions and gives the pattern."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def write(edges, parts=3, names=("source", "target", "weight")):
        folder = tmp_path / f"edges-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for number, rows in enumerate(np.array_split(np.arange(len(edges[0])), parts)):
            table = pa.table({name: column[rows] for name, column in zip(names, edges, strict=False)})
            parquet.write_table(table, folder / f"part-{number:03d}.parquet")
        return str(folder / "*.parquet")

    return write


@pytest.fixture
def small_parts(monkeypatch):
    """Cores of a few vertices, so that graphs small enough for a test are reduced at all."""
    monkeypatch.setattr(graph_facts, "SMALLEST_PART", 20)
    monkeypatch.setattr(graph_facts, "SMALLEST_LOAD_PART", 40)
