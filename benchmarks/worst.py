"""``python -m benchmarks.worst``: the worst inputs known, each with default settings, in time and memory.

Every case is a process of its own. Its processor time on all cores may be a minute, what it takes beyond the input four
times the input and 200 MB. ``--busy`` keeps every core busy beside it, with as many BLAS threads as BLAS chooses. What
is found slow or hungry is added here and never taken away.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.speed.busy import busy_cores
from benchmarks.speed.scaling_tasks import PeakMemory

MOST_SECONDS, MOST_INPUTS, MOST_BYTES = 60.0, 4.0, 200e6
"""The budget of a default call: processor time, and memory beyond the input."""
PATIENCE = 600.0
"""Seconds after which a case is ended."""

Array = np.ndarray
Generator = np.random.Generator


class Case(NamedTuple):
    """What is drawn, and what is asked about it."""

    draw: Callable[[Generator], Any]
    ask: Callable[[Any], Any]


def _sparse(samples: int, features: int, each: int) -> Callable[[Generator], Any]:
    """Counts with so many entries in every sample, features as unequal as words."""

    def draw(rng: Generator) -> Any:
        places = (features * rng.random((samples, each)) ** 3).astype(np.int64)
        starts = np.arange(0, samples * each + 1, each)
        found = sp.csr_array((rng.poisson(1.0, samples * each) + 1.0, places.ravel(), starts), (samples, features))
        found.sum_duplicates()
        return found

    return draw


def _noise(samples: int, features: int) -> Callable[[Generator], Array]:
    return lambda rng: rng.standard_normal((samples, features))


def _factors(samples: int, features: int) -> Callable[[Generator], Array]:
    """A few planted groups in noise."""

    def draw(rng: Generator) -> Array:
        data = rng.standard_normal((samples, features))
        for group in range(3):
            data[:, 20 * group : 20 * group + 20] += 2.0 * rng.standard_normal((samples, 1))
        return data

    return draw


def _spread(samples: int, features: int) -> Callable[[Generator], Array]:
    return lambda rng: rng.standard_normal((samples, features)) * 10.0 ** np.linspace(0.0, 149.0, features)


def _solve(cardinality: int, **options: Any) -> Callable[[Any], Any]:
    def ask(data: Any) -> Any:
        import sparseigen as se

        return se.sparse_eigenvector(se.covariance(data), cardinality, **options)

    return ask


def _solve_matrix(cardinality: int, **options: Any) -> Callable[[Any], Any]:
    def ask(matrix: Any) -> Any:
        import sparseigen as se

        return se.sparse_eigenvector(matrix, cardinality, **options)

    return ask


def _path(cardinalities: Any) -> Callable[[Any], Any]:
    def ask(data: Any) -> Any:
        import sparseigen as se

        return se.cardinality_path(se.covariance(data), cardinalities).results[-1]

    return ask


def _components(data: Any) -> Any:
    import sparseigen as se

    return se.sparse_components(se.covariance(data), [20] * 5)[0]


def _estimate(data: Any) -> Any:
    from sparseigen.estimators import SparsePCA

    return SparsePCA().fit(data).results_[0]


def _graph(vertices: int, degree: int) -> Callable[[Generator], Any]:
    def draw(rng: Generator) -> Any:
        ends = rng.integers(vertices, size=(2, vertices * degree // 2))
        found = sp.csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), (vertices, vertices))
        return found + found.T

    return draw


def _densest(k: int) -> Callable[[Any], Any]:
    def ask(graph: Any) -> Any:
        import sparseigen as se

        return se.densest_k_subgraph(graph, k, self_loops="drop")

    return ask


CASES: dict[str, Case] = {
    "sparse 20,000 x 100,000, k = 100": Case(_sparse(20_000, 100_000, 100), _solve(100)),
    "sparse 100,000 x 1,000,000, k = 10": Case(_sparse(100_000, 1_000_000, 50), _solve(10)),
    "noise 500 x 5,000, k = 1,000": Case(_noise(500, 5_000), _solve(1_000)),
    "noise 500 x 5,000, k = 4,000": Case(_noise(500, 5_000), _solve(4_000)),
    "noise 5,000 x 5,000, k = 500": Case(_noise(5_000, 5_000), _solve(500)),
    "noise 2,000 x 60,000 (960 MB), k = 50": Case(_noise(2_000, 60_000), _solve(50)),
    "nonnegative 2 x 1,000, k = 500": Case(_noise(2, 1_000), _solve(500, nonnegative=True)),
    "two samples 2 x 1,000, k = 100": Case(_noise(2, 1_000), _solve(100)),
    "two samples 2 x 100,000, k = 100": Case(_noise(2, 100_000), _solve(100)),
    "two samples 2 x 20,000, sizes 1 ... 1e149, path": Case(_spread(2, 20_000), _path(range(1, 25))),
    "SparsePCA() 200 x 3,000, noise": Case(_noise(200, 3_000), _estimate),
    "SparsePCA() 300 x 5,000, three groups": Case(_factors(300, 5_000), _estimate),
    "5 components of 200 x 20,000": Case(_factors(200, 20_000), _components),
    "path 1 ... 100 of noise 300 x 5,000": Case(_noise(300, 5_000), _path(range(1, 101))),
    "ones 900 x 900, smallest, k = 450": Case(lambda rng: np.ones((900, 900)), _solve_matrix(450, which="smallest")),
    "indefinite 3,000 x 3,000, k = 300": Case(lambda rng: _symmetric(rng, 3_000), _solve_matrix(300)),
    "graph of 50,000 vertices, degree 20, k = 200": Case(_graph(50_000, 20), _densest(200)),
}
"""Name -> what is drawn and asked."""


def _symmetric(rng: Generator, size: int) -> Array:
    square = rng.standard_normal((size, size))
    return square + square.T


def _bytes(given: Any) -> int:
    return int(
        sum(part.nbytes for part in (given.data, given.indices, given.indptr)) if sp.issparse(given) else given.nbytes
    )


def measure_here(name: str) -> dict[str, Any]:
    """One case in this process."""
    import sparseigen as se  # what is loaded is no part of what a call takes

    se.sparse_eigenvector(np.eye(3), 2)
    given = CASES[name].draw(np.random.default_rng(0))
    with PeakMemory() as memory:
        began, clock = time.process_time(), time.perf_counter()
        found = CASES[name].ask(given)
        seconds, wall = time.process_time() - began, time.perf_counter() - clock
    proof = found.certificate
    return {
        "seconds": seconds,
        "wall": wall,
        "input": _bytes(given),
        "extra": memory.bytes,
        "low": proof.lower_bound,
        "high": proof.upper_bound,
        "stages": {stage.name: round(stage.seconds, 1) for stage in getattr(found, "stages", ())},
    }


def measure_apart(name: str, threads: int | None) -> dict[str, Any]:
    """The same in a process of its own; what went wrong where it did not end."""
    limits = {} if threads is None else dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), str(threads))
    command = [sys.executable, "-m", "benchmarks.worst", "--here", name]
    try:
        done = subprocess.run(command, env=os.environ | limits, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"failed": f"not ended after {PATIENCE:.0f} s"}
    if done.returncode != 0:
        return {"failed": (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def judge(found: dict[str, Any]) -> str:
    """Empty where the case is within its budget, else what it is above."""
    if "failed" in found:
        return str(found["failed"])
    problems = []
    if found["seconds"] > MOST_SECONDS:
        problems.append("TIME")
    if found["extra"] > MOST_INPUTS * found["input"] + MOST_BYTES:
        problems.append("MEMORY")
    if not -np.inf < found["low"] <= found["high"] < np.inf:
        problems.append("NO BRACKET")
    return " ".join(problems)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.worst", description=__doc__)
    parser.add_argument("words", nargs="*", help="only cases whose names have one of these words")
    parser.add_argument("--busy", action="store_true", help="beside a busy process per core, BLAS threads as they come")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        print(json.dumps(measure_here(options.here)))
        return 0
    print("| case | input MB | processor s | wall s | beyond the input MB | gap | longest stage | |")
    print("| --- " * 8 + "|")
    above = 0
    with busy_cores(os.cpu_count() or 1) if options.busy else contextlib.nullcontext():
        for name in CASES:
            if options.words and not any(word in name for word in options.words):
                continue
            found = measure_apart(name, None if options.busy else 2)
            verdict = judge(found)
            above += bool(verdict)
            if "failed" in found:
                print(f"| {name} | | | | | | | {verdict} |", flush=True)
                continue
            longest = max(found["stages"].items(), key=lambda stage: stage[1], default=("", ""))
            longest = "{} {}".format(*longest)
            gap = (found["high"] - found["low"]) / max(abs(found["low"]), abs(found["high"]), 1e-300)
            print(
                f"| {name} | {found['input'] / 1e6:.1f} | {found['seconds']:.1f} | {found['wall']:.1f} | "
                f"{found['extra'] / 1e6:.0f} | {gap:.2%} | {longest} | {verdict} |",
                flush=True,
            )
    print(f"\n{above} above the budget")
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
