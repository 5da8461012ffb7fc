"""Tasks on a Dask cluster: the client, lazy tasks with readable names, and errors that say what happened."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sparseigen.config import require
from sparseigen.errors import ClusterError, OptionError, SparseigenError

PREFIX = "sparseigen"
"""Task names begin with it, so that the dashboard's progress bars read "sparseigen-product", "sparseigen-peel"."""

LOST = ("CommClosedError", "CancelledError", "FutureCancelledError", "FuturesCancelledError", "ClosedClientError",
        "StreamClosedError")  # fmt: skip
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
        self.advice = ""
        """What to do when the cluster is lost, as the end of the message."""

    def task(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """A lazy call ``function(*arguments)``; arguments may be lazy themselves."""
        self._count += 1
        key = f"{PREFIX}-{name}-{self._run}-{self._count}"
        return self._delayed(function, pure=False, traverse=False)(*arguments, dask_key_name=key)

    def persist(self, tasks: Sequence[Any]) -> list[Any]:
        """The same tasks, computed and kept where they were computed."""
        dask = require("dask", purpose="data on a cluster")
        if self.client is not None:
            return list(self._guard(lambda: self.client.persist(list(tasks), optimize_graph=False)))
        return list(dask.persist(*tasks, optimize_graph=False))

    def gather(self, tasks: Sequence[Any]) -> list[Any]:
        """The values of tasks, in their order."""
        dask = require("dask", purpose="data on a cluster")
        if self.client is not None:
            if not any(dask.is_dask_collection(task) for task in tasks):  # futures of `map_pairs`
                return list(self._guard(lambda: self.client.gather(list(tasks))))
            return list(self._guard(lambda: self.client.compute(list(tasks), optimize_graph=False, sync=True)))
        return list(dask.compute(*tasks, optimize_graph=False))

    def map_pairs(
        self, name: str, function: Callable[..., Any], kept: Sequence[Any], arguments: Sequence[Any], *common: Any
    ) -> Any:
        """``function(kept, argument, *common)`` for each pair; ``kept`` were persisted. For `gather` and `map_pairs`.

        With a client this is one message to the scheduler, a third less time than a graph of lazy tasks.
        """
        if self.client is None:
            return [self.task(name, function, *pair, *common) for pair in zip(kept, arguments, strict=True)]
        self._count += 1
        key = f"{PREFIX}-{name}-{self._run}-{self._count}"
        keys = [f"{key}-{place}" for place in range(len(kept))]
        futures_of = require("distributed", purpose="a cluster").futures_of
        is_lazy = require("dask", purpose="a cluster").is_dask_collection
        held, shared = ([futures_of(part)[0] if is_lazy(part) else part for part in parts] for parts in (kept, common))
        call = partial(_call, function)
        return self._guard(
            lambda: self.client.map(call, held, list(arguments), key=keys, pure=False, batch_size=None, common=shared)
        )

    @property
    def n_threads(self) -> int:
        """Threads of all workers; 4 where there is no client."""
        if self.client is None:
            return 4
        threads: dict[str, int] = self._guard(self.client.nthreads)
        return max(1, sum(threads.values()))

    def _guard(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except SparseigenError:
            raise
        except Exception as error:  # distributed has many; what is not a failure of the cluster is raised again
            lost = self._explain(error)
            if lost is None:
                raise
            raise lost from error

    def _explain(self, error: Exception) -> ClusterError | None:
        """What a failure of the cluster means; None for errors of the work itself."""
        kind = type(error).__name__
        if kind == "KilledWorker":
            message = (
                f"a task killed every worker that tried it: {error} Most often that is memory: give workers more, or "
                f"make the partitions smaller.{self.advice}"
            )
            return ClusterError(message)
        if kind in LOST or self.client.status != "running":
            message = (
                f"the Dask scheduler cannot be reached any more ({kind}: {error}). Start it and make a new client."
                f"{self.advice}"
            )
            return ClusterError(message)
        return None


def _call(function: Callable[..., Any], kept: Any, argument: Any, common: list[Any]) -> Any:
    return function(kept, argument, *common)


def _check_client(client: Any) -> Any:
    if client is None:
        distributed = sys.modules.get("distributed")  # without it there is no client to be found
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
    if client.status != "running":
        message = f"the client is {client.status}, not connected to a scheduler. Start one and make a new client."
        raise ClusterError(message)
    return client
