"""Timing that a noisy machine cannot fool easily (many repeats, interleaved, minima), and what machine it was."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import scipy

import sparseigen
from sparseigen.config import config

taken: list[tuple[str, str, list[float]]] = []
"""Every labelled time taken since the program began: label, run, seconds of its repeats. A caller may empty it."""


def best_of(
    runs: Mapping[str, Callable[[], object]], *, repeats: int = 7, label: str | None = None
) -> dict[str, float]:
    """Smallest seconds of each run; the runs take turns so that a slow moment of the machine hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    return _smallest(times, label)


def _smallest(times: Mapping[str, list[float]], label: str | None) -> dict[str, float]:
    if label is not None:
        taken.extend((label, name, seconds) for name, seconds in times.items())
    return {name: min(seconds) for name, seconds in times.items()}


def best_step(
    loops: Mapping[str, Callable[[], Iterator[object]]],
    *,
    burst: float = 0.12,
    repeats: int = 4,
    label: str | None = None,
) -> dict[str, float]:
    """Smallest seconds of one step of each loop, the loops taking turns of ``burst`` seconds.

    A step never runs alone in practice, and the threads of another library go on spinning for tens of milliseconds
    after its last call: each loop makes many steps in a row, so that most of them meet their own threads alone.
    """
    times: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(repeats):
        for name, loop in loops.items():
            running, until = loop(), time.perf_counter() + burst
            while time.perf_counter() < until:
                began = time.perf_counter()
                next(running)
                times[name].append(time.perf_counter() - began)
    return _smallest(times, label)


def processor() -> str:
    """The processor's own name where the system tells it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def memory_gb() -> float | None:
    """Memory of the machine in GiB; None where the system does not tell."""
    with contextlib.suppress(ValueError, OSError, AttributeError):
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    return None


def machine() -> str:
    """The machine in one line, to stand above every table."""
    facts = config()
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}, sparseigen {facts['sparseigen']} ({facts['kernels']} kernels, "
        f"{facts['threads']} threads), {time.strftime('%Y-%m-%d')}"
    )


__all__ = ["best_of", "best_step", "machine", "memory_gb", "processor", "sparseigen", "taken"]
