"""A busy machine: what solves of small problems cost in one BLAS thread and in as many as there are cores.

BLAS threads wait for each other by spinning. Where other programs have the cores, hundreds of small decompositions take
many times their processor time. Every measurement is a process of its own, beside one that keeps each core busy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from sparseigen import cardinality_path, covariance, sparse_components, sparse_eigenvector
from sparseigen.estimators import SparsePCA

REPEATS = 3
SPIN = "while True: pass"


def list_tasks() -> dict[str, Callable[[], object]]:
    """The calls of the README's first example, and several components, on its 200 x 1,000 table."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((200, 1000))
    data[:, :5] += 2.0 * rng.standard_normal((200, 1))
    operator = covariance(data)
    return {
        "certified path, k = 1 ... 30": lambda: cardinality_path(operator, range(1, 31)),
        "one solve, k = 30": lambda: sparse_eigenvector(operator, 30),
        "5 components, k = 10": lambda: sparse_components(operator, [10] * 5),
        "automatic components": lambda: SparsePCA(n_components="auto").fit(data),
    }


def measure_here() -> dict[str, float]:
    """Smallest processor seconds of every task in this process."""
    found = {}
    for name, run in list_tasks().items():
        seconds = []
        for _ in range(REPEATS):
            began = time.process_time()
            run()
            seconds.append(time.process_time() - began)
        found[name] = min(seconds)
    return found


def measure_apart(threads: int) -> dict[str, float]:
    """The same in a process with so many BLAS threads."""
    limits = {name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")}
    command = [sys.executable, "-m", "benchmarks.speed.busy"]
    done = subprocess.run(command, env=os.environ | limits, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@contextmanager
def busy_cores(count: int) -> Iterator[None]:
    """Beside the work of the block, so many processes that do nothing but compute."""
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def show_busy() -> None:
    """Processor seconds, smallest of three."""
    cores = os.cpu_count() or 1
    with busy_cores(cores):
        one, many = measure_apart(1), measure_apart(cores)
    print(
        f"{f'processor seconds, {cores} cores kept busy':<42}{'1 BLAS thread':>14}{f'{cores} threads':>11}{'ratio':>7}"
    )
    for name, seconds in one.items():
        print(f"{name:<42}{seconds:>14.2f}{many[name]:>11.2f}{many[name] / seconds:>7.1f}", flush=True)


if __name__ == "__main__":
    print(json.dumps(measure_here()))
