"""Clients that cannot be used, and what a failure of the cluster means."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sparseigen import errors
from sparseigen.rows.cluster import Cluster, _check_client


def client(**facts: object) -> SimpleNamespace:
    usual = {"persist": None, "nthreads": lambda: {}, "asynchronous": False, "status": "running"}
    return SimpleNamespace(**(usual | facts))


def test_clients_that_cannot_be_used() -> None:
    for given, error, message in (
        (7, errors.OptionError, r"client=7 must be a dask.distributed.Client, or None"),
        (client(asynchronous=True), errors.OptionError, "client is asynchronous; give one made with"),
        (client(status="closed"), errors.ClusterError, "the client is closed, not connected to a scheduler"),
    ):
        with pytest.raises(error, match=message):
            _check_client(given)


class KilledWorker(Exception):
    """As distributed names it."""


def test_what_a_failure_of_the_cluster_means() -> None:
    pytest.importorskip("dask")

    def fails(error: Exception):
        def call() -> None:
            raise error

        return call

    cluster = Cluster(client())
    with pytest.raises(
        errors.ClusterError, match=r"a task killed every worker that tried it: x.* Most often that is mem"
    ):
        cluster._guard(fails(KilledWorker("x")))
    with pytest.raises(ZeroDivisionError):  # an error of the work itself is not explained away
        cluster._guard(fails(ZeroDivisionError()))
    with pytest.raises(errors.OptionError, match="mine"):
        cluster._guard(fails(errors.OptionError("mine")))
    cluster.client.status = "closed"
    with pytest.raises(errors.ClusterError, match=r"scheduler cannot be reached any more \(ZeroDivisionError"):
        cluster._guard(fails(ZeroDivisionError()))
    assert cluster.n_threads == 1  # a cluster whose workers are all gone
