"""Two worker processes of one thread each, a place for large files, and what the workers spent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def two_workers() -> Iterator[Any]:
    """A client of a LocalCluster; workers hold 1 thread, and dask sets one BLAS thread for each of them."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed at the end; SPARSEIGEN_SCRATCH says where."""
    with tempfile.TemporaryDirectory(prefix="sparseigen-scale-", dir=os.environ.get("SPARSEIGEN_SCRATCH")) as name:
        yield Path(name)


@contextmanager
def compute_seconds(client: Any, prefix: str) -> Iterator[list[float]]:
    """Afterwards the list holds the largest computing time of a task of this name, as the workers measured it."""
    from distributed import get_task_stream

    found: list[float] = []
    with get_task_stream(client=client) as stream:
        yield found
    times = [
        sum(step["stop"] - step["start"] for step in task["startstops"] if step["action"] == "compute")
        for task in stream.data
        if str(task["key"]).startswith(prefix)
    ]
    found.append(max(times, default=0.0))
