"""A solve with a checkpoint, killed twenty times at random moments: the bits of an undisturbed one, from .bed and .npy.

A killed process is started again on the same checkpoint; one that comes to its end in between has its bits compared,
and the next one begins without a checkpoint.
"""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import sparseigen as se
from benchmarks.scale.cluster import scratch
from benchmarks.scale.dask_data import make_data
from benchmarks.scale.genotypes import write_bed

KILLS, MOST_STARTS = 20, 400
SHAPES = {"bed": (503, 40_000), "npy": (4_000, 6_000)}
CARDINALITIES = [30, 30]


def solve(data: str, checkpoint: str) -> str:
    """The hash of everything that two components are and prove, and the passes."""
    options: dict[str, Any] = {"missing": "mean"} if data.endswith(".bed") else {"memory_limit": "32MB"}
    operator: Any = se.covariance(data, checkpoint=checkpoint, **options)
    digest = hashlib.sha256()
    for result in se.sparse_components(operator, CARDINALITIES):
        digest.update(result.vector.tobytes())
        digest.update(np.array([result.value, result.certificate.upper_bound]).tobytes())
    return f"{digest.hexdigest()[:16]} {operator.passes_made}"


def start(data: Path, checkpoint: Path) -> subprocess.Popen[str]:
    """A process that has its imports behind it."""
    command = [sys.executable, "-m", "benchmarks.scale.killed", str(data), str(checkpoint)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def finish(process: subprocess.Popen[str], seconds: float | None = None) -> str | None:
    """What it prints at its end; None, and it is killed, where that does not come in time."""
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return said.split()[0]


def kill_often(data: Path, seed: int = 0) -> None:
    """Twenty kills, and how many of the runs that came to their end had other bits."""
    chance, saved = random.Random(seed), data.with_suffix(".saved")
    process, began = start(data, data.with_suffix(".whole")), time.perf_counter()
    expected, seconds = finish(process), time.perf_counter() - began
    kills, ends = 0, []
    for _ in range(MOST_STARTS):
        found = finish(start(data, saved), chance.random() * seconds / 2)
        kills += found is None
        if found is not None:
            ends.append(found)
            for left in data.parent.glob(f"{saved.name}*"):
                left.unlink()
        if kills == KILLS:
            break
    ends.append(str(finish(start(data, saved))))
    other = sum(end != expected for end in ends)
    print(
        f"{data.name}: undisturbed {seconds:.1f} s; killed {kills} times at random, {len(ends)} runs ended, "
        f"{other} with other bits",
        flush=True,
    )


def show_killed() -> None:
    """Both formats."""
    with scratch() as folder:
        write_bed(folder / "calls.bed", *SHAPES["bed"])
        make_data(folder / "data.npy", SHAPES["npy"])
        for name in ("calls.bed", "data.npy"):
            kill_often(folder / name)


if __name__ == "__main__":
    print("begun", flush=True)
    print(solve(*sys.argv[1:]))
