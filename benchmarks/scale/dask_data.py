"""Row partitions on two worker processes: what a pass costs over the workers' own work, and a worker killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

import sparseigen as se
from benchmarks.scale.cluster import compute_seconds, scratch, two_workers
from sparseigen.operators.pass_data import ClusterData

SHAPE = (50_000, 10_000)
PARTITIONS = 16
CARDINALITY = 40
ALGORITHM_1 = {"start": "max-variance", "polish": None, "certify": False}


def make_data(path: Path, shape: tuple[int, int]) -> None:
    """Noise, and forty variables with a common part."""
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    rng = np.random.default_rng(3)
    for rows in np.array_split(np.arange(shape[0]), PARTITIONS):
        block = rng.standard_normal((len(rows), shape[1]), dtype=np.float32)
        block[:, : min(40, shape[1])] += rng.standard_normal((len(rows), 1), dtype=np.float32)
        out[rows[0] : rows[-1] + 1] = block
    out.flush()


def load(path: Path, first: int, last: int) -> np.ndarray:
    """Some rows in the worker's own memory."""
    return np.array(np.load(path, mmap_mode="r")[first:last])


def loaders(path: Path, n_rows: int) -> list[partial[np.ndarray]]:
    cuts = [n_rows * part // PARTITIONS for part in range(PARTITIONS + 1)]
    return [partial(load, path, first, last) for first, last in pairwise(cuts)]


def loaded_packages() -> int:
    """Import on a worker what the first task would import."""
    import sys

    import benchmarks.scale.dask_data  # noqa: F401
    import sparseigen.operators.pass_data  # noqa: F401

    return len(sys.modules)


def overhead(
    client: object, operator: ClusterData, passes: int = 20, typical: Callable[..., float] = np.median
) -> tuple[float, float, float]:
    """Typical seconds of a pass, of the slower worker's computation in it, and of the difference."""
    walls, computed = [], []
    for number in range(passes):
        indices = np.arange(number, number + CARDINALITY)
        with compute_seconds(client, "sparseigen-product") as slowest:
            began = time.perf_counter()
            operator.apply_support(indices, np.ones(CARDINALITY))
            walls.append(time.perf_counter() - began)
        computed.append(slowest[0])
    beyond = np.subtract(walls, computed)
    return float(typical(walls)), float(typical(computed)), float(typical(beyond))


def network_bytes(operator: ClusterData) -> int:
    """Bytes of one product that leave the workers, plus those sent to them, from what is pickled."""
    import pickle

    request = pickle.dumps((np.arange(CARDINALITY), np.ones(CARDINALITY)))
    answer = operator.size * 8 + CARDINALITY**2 * 8
    return len(operator._shards) * (len(request) + answer)


def fit(operator: object, **options: object) -> tuple[float, se.results.SparseEigResult]:
    began = time.perf_counter()
    result = se.sparse_eigenvector(operator, CARDINALITY, **(options or ALGORITHM_1))
    return time.perf_counter() - began, result


def show_dask(shape: tuple[int, int] = SHAPE) -> None:
    with scratch() as folder, two_workers() as client:
        path = folder / "data.npy"
        make_data(path, shape)
        print(f"n = {shape[0]}, p = {shape[1]}, float32, {path.stat().st_size / 1e9:.2f} GB, {PARTITIONS} partitions")
        client.run(loaded_packages)  # this process has them too
        for name, options in (("Algorithm 1", ALGORITHM_1), ("default solve", {"certify": False})):
            began = time.perf_counter()
            single = se.covariance(np.load(path, mmap_mode="r"))
            seconds, expected = fit(single, **options)
            alone = time.perf_counter() - began
            print(f"{name}, one process: {alone:.2f} s (fit {seconds:.2f} s, {single.passes_made} passes)", flush=True)
            began = time.perf_counter()
            operator = se.covariance(loaders(path, shape[0]), client=client)
            loaded = time.perf_counter() - began
            seconds, found = fit(operator, **options)
            total = time.perf_counter() - began
            print(
                f"{name}, two workers: {total:.2f} s (load and first pass {loaded:.2f} s, fit {seconds:.2f} s, "
                f"{operator.passes_made} passes), {total / alone:.2f} x one process",
                flush=True,
            )
            same = np.array_equal(found.support, expected.support)
            print(f"same support: {same}; values differ by {abs(found.value / expected.value - 1):.1e} relative")
        wall, computed, beyond = overhead(client, operator)
        print(
            f"a pass: {wall * 1e3:.0f} ms, the slower worker computes {computed * 1e3:.0f} ms, "
            f"{beyond * 1e3:.1f} ms over it"
        )
        print(f"network: {network_bytes(operator) / 1e6:.2f} MB per iteration")


def show_kill(shape: tuple[int, int] = (20_000, 5_000)) -> None:
    """The time a SIGKILL in the middle of a fit costs, in iterations."""
    with scratch() as folder:
        path = folder / "data.npy"
        make_data(path, shape)
        with two_workers() as client:
            undisturbed, expected = fit(se.covariance(loaders(path, shape[0]), client=client))
            operator = se.covariance(loaders(path, shape[0]), client=client)
            iterations = operator.passes_made
            victim = next(iter(client.run(os.getpid).values()))
            plain, calls = operator._tasks, []

            def with_kill(*arguments: object) -> list[object]:
                tasks = plain(*arguments)
                calls.append(1)
                if len(calls) == 3:
                    time.sleep(0.05)
                    os.kill(victim, signal.SIGKILL)
                return tasks

            operator._tasks = with_kill
            seconds, found = fit(operator)
            iterations = operator.passes_made - iterations
        each = undisturbed / iterations
        lost = (seconds - undisturbed) / each
        same = np.array_equal(found.support, expected.support)
        print(f"n = {shape[0]}, p = {shape[1]}: {iterations} iterations of {each * 1e3:.0f} ms; killed in the third")
        print(f"same support: {same}; {seconds:.2f} s against {undisturbed:.2f} s: {lost:.1f} iterations lost")
