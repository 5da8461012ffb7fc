"""Dask at the door: the client, lazy tasks with readable names, and errors that say what happened."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from sparseigen.errors import ClusterError, OptionError, SparseigenError
from sparseigen.inputs.optional import require

PREFIX = "sparseigen"
"""Task names begin with it, so that the dashboard's progress bars read "sparseigen-product", "sparseigen-peel"."""

LOST = ("CommClosedError", "CancelledError", "FutureCancelledError", "FuturesCancelledError", "ClosedClientError",
        "ConnectionRefusedError", "OSError", "TimeoutError", "StreamClosedError")  # fmt: skip
"""Names of what distributed raises when the scheduler cannot be reached any more."""


class Cluster:
    """Runs lazy tasks on a Dask client, or on dask's default scheduler where there is none.

    No task depends on data that only a worker holds: every key can be recomputed from its source, so that a worker
    that dies costs the recomputation of what it held.
    """

    def __init__(self, client: Any = None) -> None:
        self._delayed = require("dask", purpose="data on a cluster").delayed
        self.client = _check_client(client)
        self._run = uuid.uuid4().hex[:8]
        self._count = 0

    def task(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """A lazy call ``function(*arguments)``; arguments may be lazy themselves."""
        self._count += 1
        key = f"{PREFIX}-{name}-{self._run}-{self._count}"
        return self._delayed(function, pure=False, traverse=False)(*arguments, dask_key_name=key)

    def persist(self, tasks: Sequence[Any]) -> list[Any]:
        """The same tasks, computed and kept where they were computed."""
        dask = require("dask", purpose="data on a cluster")
        if self.client is not None:
            return list(self._guarded(lambda: self.client.persist(list(tasks), optimize_graph=False)))
        return list(dask.persist(*tasks, optimize_graph=False))

    def gather(self, tasks: Sequence[Any]) -> list[Any]:
        """The values of tasks, in their order."""
        dask = require("dask", purpose="data on a cluster")
        if self.client is not None:
            return list(self._guarded(lambda: self.client.compute(list(tasks), optimize_graph=False, sync=True)))
        return list(dask.compute(*tasks, optimize_graph=False))

    @property
    def n_threads(self) -> int:
        """Threads of all workers; 4 where there is no client."""
        if self.client is None:
            return 4
        threads: dict[str, int] = self._guarded(self.client.nthreads)
        return max(1, sum(threads.values()))

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except SparseigenError:
            raise
        except Exception as error:
            raise cluster_error(error) from error


def cluster_error(error: BaseException, advice: str = "") -> BaseException:
    """What a failure of the cluster means; other errors are returned as they are."""
    kind = type(error).__name__
    if kind == "KilledWorker":
        message = (
            f"a task killed every worker that tried it: {error}. Most often that is memory: give workers more, or make "
            f"the partitions smaller.{advice}"
        )
        return ClusterError(message)
    if kind in LOST:
        message = f"the Dask scheduler cannot be reached any more ({kind}: {error}). Start it again.{advice}"
        return ClusterError(message)
    return error


def _check_client(client: Any) -> Any:
    if client is None:
        distributed = _loaded("distributed")
        if distributed is None:
            return None
        try:
            return distributed.get_client()  # dask.persist would use it anyway; so errors are understood too
        except ValueError:
            return None
    if not (hasattr(client, "persist") and hasattr(client, "nthreads")):
        message = f"client={client!r} must be a dask.distributed.Client, or None for dask's default scheduler."
        raise OptionError(message)
    if client.asynchronous:
        raise OptionError("client is asynchronous; give one made with Client(..., asynchronous=False).")
    return client


def _loaded(name: str) -> Any:
    """A module if something imported it already."""
    import sys

    return sys.modules.get(name)
