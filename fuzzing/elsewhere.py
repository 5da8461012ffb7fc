"""Data that are not in this process's memory: on a torch device (its CPU here), on a Dask cluster.

Where a package is not installed its carrier is left out, and the run says so.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzzing.carriers import Array, Carried, Generator, carried_covariance, drawn_options, drawn_vector


def _on_torch(rng: Generator, data: Array) -> Carried:
    import torch

    tensor = torch.tensor(data if rng.random() < 0.5 else data.T.copy().T)
    deflate = rng.random() < 0.4
    found = carried_covariance(tensor, data, drawn_options(rng) | ({"scale": False} if deflate else {}))
    operator = found.given
    for _ in range(int(rng.integers(1, 3)) if deflate else 0):
        operator = operator.deflated(drawn_vector(rng, operator.size), regress=bool(rng.random() < 0.5))
    if operator is found.given:
        return found
    taken, against = np.column_stack(operator.projection.components), operator.projection.against.numpy()
    truth = found.truth.projected(taken, against)
    return found._replace(given=operator, truth=truth, says=f"deflated {found.says}", scale=found.truth.largest)


@functools.cache
def _client() -> Any:
    """One cluster per process, in it: two workers of one thread."""
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
        return Client(cluster, set_as_default=False)


def _on_dask(rng: Generator, data: Array) -> Carried:
    import dask.array

    step = int(rng.integers(1, len(data) + 1))
    if rng.random() < 0.5:
        given: Any = dask.array.from_array(data, chunks=(step, data.shape[1]))
    else:
        given = [functools.partial(np.copy, data[begin : begin + step]) for begin in range(0, len(data), step)]
    return carried_covariance(given, data, drawn_options(rng), client=_client(), keep=bool(rng.random() < 0.8))


NEEDS = {"torch tensor": "torch", "Dask cluster": "distributed"}
CARRIERS: dict[str, Callable[[Generator, Array], Carried]] = {"torch tensor": _on_torch, "Dask cluster": _on_dask}


def missing() -> list[str]:
    """The carriers that cannot be tried here."""
    return [name for name, package in NEEDS.items() if importlib.util.find_spec(package) is None]
