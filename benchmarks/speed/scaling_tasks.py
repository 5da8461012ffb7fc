"""One point of a scaling axis, in a process of its own: `python -m benchmarks.speed.scaling_tasks TASK JSON`.

Prints times, what was reached, and how far the memory rose above what the input takes.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from sparseigen import kernels
from sparseigen.operators import screening
from sparseigen.operators.contract import SparseVector

BUDGET = 0.4
"""Seconds of repeats; at least three, at most 200."""

Call = Callable[[], float]


def _stepping(operator: Any, cardinality: int) -> Call:
    """One whole iteration after another: product, truncation, length. Its value is that of the iterate before."""
    start = int(np.argmax(operator.diagonal()))
    steps, vector = operator.iteration([cardinality]), SparseVector(np.array([start], dtype=np.int64), np.ones(1))
    for _ in range(2):  # from one variable to the full cardinality
        step = steps.step(vector, cardinality)
        vector = SparseVector(step.indices, step.values / kernels.length(step.values))

    def call() -> float:
        nonlocal vector
        step = steps.step(vector, cardinality)
        length = kernels.length(step.values)
        vector = SparseVector(step.indices, step.values / length)
        return float(length)

    return call


def data_step(n: int, p: int, k: int, threads: int = 0) -> tuple[Call, int]:
    screening.SMALLEST_DATA = 1 << 62  # the plain iteration: every column is read
    data = np.random.default_rng(7).standard_normal((n, p))
    return _stepping(se.covariance(data, center=False), k), data.nbytes


def matrix_step(p: int, k: int) -> tuple[Call, int]:
    matrix = np.random.default_rng(7).random((p, p)) - 0.5
    for first in range(0, p, 1000):  # made symmetric in place, block by block: half the memory of (A + A') / 2
        block = slice(first, first + 1000)
        matrix[block, first:] = (matrix[block, first:] + matrix[first:, block].T) / 2.0
        matrix[first:, block] = matrix[block, first:].T
    matrix[np.diag_indices(p)] += 2.0 * np.sqrt(p)
    return _stepping(se.operators.build.as_operator(matrix), k), matrix.nbytes


def sparse_step(n: int, p: int, k: int, nnz: int) -> tuple[Call, int]:
    rng = np.random.default_rng(7)
    per_column = nnz // p
    # Sorted rows of every column by strides with a random offset: no sort of millions of numbers.
    stride = n // per_column
    rows = (np.arange(per_column) * stride + rng.integers(0, stride, (p, per_column))).astype(np.int32)
    starts = np.arange(0, p * per_column + 1, per_column)
    data = sp.csc_array((rng.standard_normal(p * per_column), rows.ravel(), starts), shape=(n, p))
    return _stepping(se.covariance(data), k), data.data.nbytes + data.indices.nbytes + data.indptr.nbytes


def _spiked(n: int, p: int) -> np.ndarray:
    """Noise with five spikes on 50 variables each, of falling strength."""
    rng = np.random.default_rng(7)
    data = rng.standard_normal((n, p))
    for spike in range(5):
        data[:, spike * 50 : spike * 50 + 50] += (1.0 - 0.1 * spike) * rng.standard_normal((n, 1))
    return data


def default_solve(n: int, p: int, k: int) -> tuple[Call, int]:
    data = _spiked(n, p)
    return lambda: se.sparse_eigenvector(se.covariance(data), k, certify=False).value, data.nbytes


def certified_solve(n: int, p: int, k: int, threads: int = 0) -> tuple[Call, int]:
    data = _spiked(n, p)

    def call() -> float:
        result = se.sparse_eigenvector(se.covariance(data), k)
        return float(result.certificate.relative_gap)

    return call, data.nbytes


def graph(arcs: int, k: int) -> tuple[Call, int]:
    """Arcs that prefer the first vertices, as real networks prefer hubs; ten per vertex."""
    rng = np.random.default_rng(7)
    size = arcs // 20  # arcs / 2 edges drawn, each an arc in both directions
    ends = (size * rng.random((arcs // 2, 2)) ** 2).astype(np.int64)
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    matrix = sp.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size))
    symmetric = (matrix + matrix.T).tocsr()
    return lambda: se.densest_k_subgraph(symmetric, k).density, symmetric.data.nbytes + symmetric.indices.nbytes


TASKS: dict[str, Callable[..., tuple[Call, int]]] = {
    "data step": data_step,
    "matrix step": matrix_step,
    "sparse step": sparse_step,
    "default solve": default_solve,
    "certified solve": certified_solve,
    "graph": graph,
}


def _status(field: str) -> int | None:
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


class PeakMemory:
    """How far the resident memory rises above what it is now: the kernel's high-water mark, set back first."""

    def __enter__(self) -> PeakMemory:
        # Elsewhere than on Linux the mark cannot be set back: only growth beyond it is seen.
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self._before = _status("VmRSS") or self._highest()
        return self

    def __exit__(self, *_: object) -> None:
        self.bytes = max(0, self._highest() - self._before)

    @staticmethod
    def _highest() -> int:
        unit = 1 if sys.platform == "darwin" else 1024
        return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measured(call: Call, clock: Callable[[], float] = time.process_time, budget: float = BUDGET) -> dict[str, Any]:
    """Times of repeated calls, the value, and the memory of the first."""
    with PeakMemory() as memory:
        began = clock()
        value = call()
        first = clock() - began
    times: list[float] = []
    while len(times) < 200 and (len(times) < (3 if first < 2.0 else 1) or sum(times) < budget):
        began = clock()
        call()
        times.append(clock() - began)
    return {"times": times, "value": value, "memory": memory.bytes}


def main(task: str, parameters: dict[str, Any]) -> None:
    warnings.simplefilter("ignore")
    call, input_bytes = TASKS[task](**parameters)
    # One thread: processor seconds, which are the clock's on an idle machine, whatever else runs here.
    clock = time.perf_counter if "threads" in parameters else time.process_time
    print(json.dumps({**measured(call, clock), "input_bytes": input_bytes}))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
