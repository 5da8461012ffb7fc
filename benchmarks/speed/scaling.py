"""Time and peak memory against n, p, k, non-zeros, arcs and threads; every point in a process of its own.

The sizes are chosen so that what is walked through is larger than the processor's caches at every point of an axis
that has an exponent to keep: data of one size in the cache and of the next outside would show as growth. The rounds
go over all points of an axis before the next, so that a slow minute of the machine meets all points alike. One thread
and processor time, but on the axes of threads, which have two and more and the clock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.speed.records import Record, Seconds
from benchmarks.speed.worker import THREADS

LARGEST_EXPONENT = 1.1


@dataclass(frozen=True)
class Axis:
    """One quantity that grows, everything else fixed."""

    name: str
    task: str
    """A row of `TASKS` in `scaling_tasks.py`."""
    grows: str
    sizes: tuple[int, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    quick_sizes: tuple[int, ...] = ()
    """Empty: only in the full run."""
    limit: float | None = None
    """The largest exponent that this axis may have."""


AXES: tuple[Axis, ...] = (
    Axis(
        "plain iteration, data, p",
        "data step",
        "p",
        (32000, 48000, 64000, 96000, 128000),  # below 128 MB part of the data stays in the last cache
        {"n": 500, "k": 500},
        (32000, 48000, 64000, 96000),
        limit=LARGEST_EXPONENT,
    ),
    Axis(
        "plain iteration, matrix, p",
        "matrix step",
        "p",
        (4000, 5000, 6500, 8000, 11000, 16000),
        {"k": 2000},
        (4000, 5000, 6500, 8000),
        limit=LARGEST_EXPONENT,
    ),
    Axis("plain iteration, data, n", "data step", "n", (1000, 2000, 4000, 8000), {"p": 16000, "k": 500}),
    Axis("plain iteration, data, k", "data step", "k", (250, 500, 1000, 2000, 4000), {"n": 500, "p": 32000}),
    Axis("plain iteration, matrix, k", "matrix step", "k", (1000, 2000, 3000, 4000, 6000), {"p": 8000}),
    Axis(
        "plain iteration, sparse data, non-zeros",
        "sparse step",
        "nnz",
        (10_000_000, 20_000_000, 40_000_000, 60_000_000),
        {"n": 20000, "p": 20000, "k": 1000},
    ),
    Axis(
        "default solve without certificate, p",
        "default solve",
        "p",
        (1000, 2000, 4000, 8000, 16000),
        {"n": 200, "k": 50},
        (1000, 2000, 4000),
    ),
    Axis("default solve without certificate, n", "default solve", "n", (100, 200, 400, 800), {"p": 4000, "k": 50}),
    Axis("default solve without certificate, k", "default solve", "k", (10, 20, 40, 80, 160), {"n": 200, "p": 4000}),
    Axis(
        "certified solve, p",
        "certified solve",
        "p",
        (1000, 2000, 4000, 8000),
        {"n": 200, "k": 50},
        (500, 1000, 2000),
    ),
    Axis("certified solve, k", "certified solve", "k", (10, 20, 40, 80, 160), {"n": 200, "p": 2000}),
    Axis(
        "densest k-subgraph, arcs",
        "graph",
        "arcs",
        (200_000, 400_000, 800_000, 1_600_000, 3_200_000),
        {"k": 100},
        (100_000, 200_000, 400_000),
    ),
    Axis("densest k-subgraph, k", "graph", "k", (50, 100, 200, 400, 800), {"arcs": 800_000}),
    Axis("plain iteration, threads", "data step", "threads", (1, 2, 4, 8), {"n": 500, "p": 32000, "k": 500}, (1, 2)),
    Axis("certified solve, threads", "certified solve", "threads", (1, 2, 4, 8), {"n": 200, "p": 2000, "k": 50}),
)


def axes(mode: str) -> list[tuple[Axis, tuple[int, ...]]]:
    """The axes of a run with their sizes; threads only as many as there are cores."""
    chosen = []
    for axis in AXES:
        sizes = axis.quick_sizes if mode == "quick" else axis.sizes
        if axis.grows == "threads":
            sizes = tuple(size for size in sizes if size <= (os.cpu_count() or 1))
        if sizes:
            chosen.append((axis, sizes))
    return chosen


def measure_scaling(mode: str, *, tell: Callable[[str], None] = print, only: str = "") -> Iterator[list[Record]]:
    """Records of every point and of the exponent, axis by axis."""
    for axis, sizes in axes(mode):
        if only in axis.name:
            points = _measure(axis, sizes, rounds=2 if axis.limit is not None or mode == "full" else 1)
            exponent = exponent_record(axis, points)
            tell(table(axis, points, exponent))
            yield [*points, *([exponent] if exponent else [])]


def _measure(axis: Axis, sizes: Iterable[int], rounds: int) -> list[Record]:
    found: dict[int, list[dict[str, Any]]] = {size: [] for size in sizes}
    failures: dict[int, str] = {}
    for _ in range(rounds):
        for size, answers in found.items():
            try:
                answers.append(run_point(axis.task, {**axis.fixed, axis.grows: size}))
            except PointError as error:
                failures[size] = str(error)
    return [_point(axis, size, answers, failures.get(size, "")) for size, answers in found.items()]


def _point(axis: Axis, size: int, answers: list[dict[str, Any]], failure: str) -> Record:
    setting = {**axis.fixed, axis.grows: size}
    if failure or not answers:
        return Record("scaling", axis.name, setting, status="failed", message=failure)
    times = [time for answer in answers for time in answer["times"]]
    return Record(
        "scaling",
        axis.name,
        setting,
        seconds=Seconds.of(times),
        value=answers[0]["value"],
        memory_bytes=max(answer["memory"] for answer in answers),
        details={"grows": axis.grows, "input_bytes": answers[0]["input_bytes"]},
    )


class PointError(RuntimeError):
    """A point's process ended with an error."""


def run_point(task: str, parameters: Mapping[str, Any], *, limit: float = 900.0) -> dict[str, Any]:
    """One point in a fresh process."""
    environment = os.environ | dict.fromkeys(THREADS, str(parameters.get("threads", 1)))
    command = [sys.executable, "-m", "benchmarks.speed.scaling_tasks", task, json.dumps(parameters)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise PointError(f"stopped after {limit:.0f} s") from error
    if done.returncode:
        raise PointError((done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1][:300])
    return dict(json.loads(done.stdout))


@dataclass(frozen=True)
class Exponent:
    """seconds ~ size ** slope; ``low`` and ``high`` hold it with the stated confidence if the errors are normal."""

    slope: float
    low: float
    high: float
    factor: float
    """Seconds at size 1 of the fitted line."""

    def __str__(self) -> str:
        return f"{self.slope:.2f} [{self.low:.2f}, {self.high:.2f}]"


def fit_exponent(sizes: Sequence[float], seconds: Sequence[float], *, confidence: float = 0.95) -> Exponent:
    """Least squares on logarithms, Student's interval; needs three different sizes."""
    if len(sizes) != len(seconds):
        raise ValueError(f"{len(sizes)} sizes and {len(seconds)} times: there must be one time per size.")
    if len(set(sizes)) < 3:
        raise ValueError(f"{len(set(sizes))} different sizes; an exponent with an interval needs at least 3.")
    if min(sizes) <= 0 or min(seconds) <= 0:
        raise ValueError("sizes and times must be positive; logarithms are taken.")
    found = stats.linregress(np.log(sizes), np.log(seconds))
    spread = float(np.nan_to_num(found.stderr))  # all times equal: scipy divides nothing by nothing
    width = float(stats.t.ppf(0.5 + confidence / 2.0, len(sizes) - 2)) * spread
    slope = float(found.slope)
    return Exponent(slope, slope - width, slope + width, float(np.exp(found.intercept)))


def exponent_record(axis: Axis, points: Iterable[Record]) -> Record | None:
    """The growth of the smallest times; None for threads and where fewer than three points were measured."""
    measured = [(point.setting[axis.grows], point.seconds.min) for point in points if point.seconds is not None]
    if axis.grows == "threads" or len(measured) < 3:
        return None
    sizes, seconds = zip(*measured, strict=True)
    found = fit_exponent(sizes, seconds)
    details = {"low": found.low, "high": found.high, "factor": found.factor, "limit": axis.limit, "grows": axis.grows}
    setting = {**axis.fixed, "sizes": list(sizes)}
    return Record("exponent", axis.name, setting, value=found.slope, details=details)


def table(axis: Axis, points: Iterable[Record], exponent: Record | None) -> str:
    fixed = ", ".join(f"{name} = {value}" for name, value in axis.fixed.items())
    lines = [
        f"{axis.name} ({fixed})",
        f"{axis.grows:>12}{'min ms':>12}{'median ms':>12}{'peak MB':>10}{'input MB':>10}",
    ]
    for point in points:
        size = point.setting[axis.grows]
        if point.seconds is None:
            lines.append(f"{size:>12}  {point.status}: {point.message}")
            continue
        lines.append(
            f"{size:>12}{point.seconds.min * 1e3:>12.2f}{point.seconds.median * 1e3:>12.2f}"
            f"{(point.memory_bytes or 0) / 1e6:>10.1f}{point.details['input_bytes'] / 1e6:>10.1f}"
        )
    if exponent is not None and exponent.value is not None:
        low, high = exponent.details["low"], exponent.details["high"]
        lines.append(f"  time grows as {axis.grows} ** {exponent.value:.2f}, 95 % interval [{low:.2f}, {high:.2f}]")
    return "\n".join(lines) + "\n"
