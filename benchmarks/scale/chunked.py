"""Data larger than the memory allowed: peak memory, speed against a plain read of the file, and the same answer.

Every measured run is a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

GB = 1e9
ROWS, COLUMNS = 75_000, 5_000
"""3 GB of float64."""
LIMIT = "1GB"
CARDINALITY = 20


def show_chunked() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("SPARSEIGEN_SCRATCH")) as folder:
        path = Path(folder) / "x.npy"
        write_spiked(path, ROWS, COLUMNS, np.float64)
        print(f"{path.stat().st_size / GB:.2f} GB float64, {ROWS} x {COLUMNS}, memory_limit={LIMIT}")
        base = _child("base", path)
        print(f"an interpreter with the package loaded: {base['peak'] / GB:.3f} GB")
        speeds = _child("speed", path)
        for cache in ("warm", "cold"):
            plain = speeds[f"{cache} plain"]
            for name in ("one product", "sixteen products"):
                share = speeds[f"{cache} {name}"] / plain
                speed = f"plain read {plain:.2f} GB/s, {name} {share * plain:.2f} GB/s"
                print(f"{cache} page cache: {speed}: {share:.0%}", flush=True)
        chunked = _child("chunked", path)
        print(
            f"solve from disk: {chunked['seconds']:.0f} s, {chunked['passes']} passes, {chunked['route']} route, "
            f"peak {chunked['peak'] / GB:.3f} GB (limit and base together: {1 + base['peak'] / GB:.3f} GB), "
            f"gap {chunked['gap']:.2%}",
            flush=True,
        )
        memory = _child("memory", path)
        same = memory["support"] == chunked["support"]
        print(
            f"solve in memory: {memory['seconds']:.0f} s, peak {memory['peak'] / GB:.3f} GB; same support: {same}; "
            f"values differ by {abs(memory['value'] - chunked['value']) / memory['value']:.1e}"
        )


def write_spiked(path: Path, n_rows: int, n_columns: int, dtype: type, *, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    file = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(n_rows, n_columns))
    means = rng.standard_normal(n_columns)
    for begin in range(0, n_rows, 2_500):
        count = min(2_500, n_rows - begin)
        block = rng.standard_normal((count, n_columns)) + means
        block[:, 7:90:3] += 0.25 * rng.standard_normal((count, 1))
        file[begin : begin + count] = block
    file.flush()


def _child(task: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scale.chunked", task, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _peak() -> int:
    """Peak resident bytes of this process. Not ru_maxrss: that one is inherited from the process that started it."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def run_base(path: Path) -> dict[str, float]:
    import scipy.sparse.linalg  # noqa: F401

    import sparseigen as se

    se.sparse_eigenvector(se.covariance(np.random.default_rng(0).standard_normal((50, 20))), 3)
    return {"peak": _peak()}


def run_chunked(path: Path) -> dict[str, object]:
    import sparseigen as se

    began = time.perf_counter()
    operator = se.covariance(path, memory_limit=LIMIT)
    result = se.sparse_eigenvector(operator, CARDINALITY)
    return _answer(result, time.perf_counter() - began) | {
        "passes": operator.passes_made,
        "route": result.settings["route"],
    }


def run_memory(path: Path) -> dict[str, object]:
    import sparseigen as se

    began = time.perf_counter()
    result = se.sparse_eigenvector(se.covariance(np.load(path)), CARDINALITY)
    return _answer(result, time.perf_counter() - began)


def _answer(result: object, seconds: float) -> dict[str, object]:
    return {
        "support": result.support.tolist(),
        "value": result.value,
        "gap": result.certificate.relative_gap,
        "seconds": seconds,
        "peak": _peak(),
    }


def run_speed(path: Path, repeats: int = 3) -> dict[str, float]:
    """GB/s of a plain read and of passes, with the file in the page cache and dropped from it before each run."""
    import sparseigen as se

    operator = se.covariance(path, memory_limit=LIMIT)
    rng = np.random.default_rng(1)
    supports = [np.sort(rng.choice(operator.size, 100, replace=False)) for _ in range(16)]

    def ask(count: int) -> None:
        operator.run_together([partial(operator.apply_support, support, np.ones(100)) for support in supports[:count]])

    runs = {"plain": lambda: plain_read(path), "one product": lambda: ask(1), "sixteen products": lambda: ask(16)}
    size, speeds = path.stat().st_size, {}
    for cache in ("warm", "cold"):
        best = dict.fromkeys(runs, float("inf"))
        for _ in range(repeats):
            for name, run in runs.items():
                if cache == "cold":
                    drop_from_cache(path)
                began = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - began)
        speeds |= {f"{cache} {name}": size / seconds / GB for name, seconds in best.items()}
    return speeds


def plain_read(path: Path, block: int = 1 << 23) -> None:
    """One thread reads the file from beginning to end into a buffer of the size that passes use."""
    buffer = bytearray(block)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def drop_from_cache(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


TASKS = {"base": run_base, "chunked": run_chunked, "memory": run_memory, "speed": run_speed}

if __name__ == "__main__":
    task, where = sys.argv[1:]
    print(json.dumps(TASKS[task](Path(where))))
