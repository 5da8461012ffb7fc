"""Measurements as JSON lines: one object each, with run, machine and versions, so that a line stands alone; and
which times changed by more than their noise since earlier runs on a like machine.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.timing import memory_gb, processor
from sparseigen.config import config

SCHEMA = 1
FOLDER = Path("bench-results")
STATUSES = ("ok", "failed", "not installed", "time limit", "no data")


@dataclass(frozen=True)
class Seconds:
    """Times of the same call."""

    min: float
    median: float
    repeats: int
    total: float | None = None
    """Everything that was needed for the answer: the search for a penalty, every seed."""

    @classmethod
    def of(cls, times: Sequence[float], total: float | None = None) -> Seconds:
        return cls(min(times), median(times), len(times), total)


@dataclass(frozen=True)
class Record:
    """One measurement. ``name`` and ``setting`` together say what was measured, and are the key of its history."""

    kind: str
    """"peer", "scaling", "exponent", "verdict" or "part"."""
    name: str
    setting: Mapping[str, Any] = field(default_factory=dict)
    status: str = "ok"
    message: str = ""
    seconds: Seconds | None = None
    value: float | None = None
    """What was reached: a variance, a density, an exponent."""
    reference: float | None = None
    """Our default's value in the same cell at the same cardinality."""
    memory_bytes: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status {self.status!r} is not one of {', '.join(STATUSES)}.")

    @property
    def key(self) -> tuple[str, str]:
        return self.name, json.dumps(self.setting, sort_keys=True)


@dataclass(frozen=True)
class Run:
    """What all measurements of a run share."""

    identity: str
    mode: str
    date: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    revision: str

    @property
    def comparable(self) -> str:
        """Runs with the same text may be compared in time."""
        names = ("processor", "cores", "kernels", "threads")
        return json.dumps([self.machine.get(name) for name in names])


def this_run(mode: str, packages: Iterable[str] = ()) -> Run:
    """The run that begins now."""
    now = time.time()
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    facts = config()
    machine = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": memory_gb(),
        "kernels": facts["kernels"],
        "threads": int(facts["threads"]),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }
    versions = {"python": platform.python_version(), "sparseigen": facts["sparseigen"]}
    versions |= {name: package_version(name) for name in ("numpy", "scipy", *packages)}
    return Run(f"{date}-{os.getpid()}", mode, date, machine, versions, _revision())


def package_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def append(records: Iterable[Record], run: Run, path: Path) -> None:
    """Add the measurements to the end of a file, each on a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for record in records:
            line = {"schema": SCHEMA, "run": asdict(run), **asdict(record)}
            file.write(json.dumps(line, allow_nan=False, default=_plain) + "\n")


def read(folder: Path = FOLDER) -> list[tuple[Run, Record]]:
    """All measurements of the files of a folder, oldest first. A broken line is an error that names its place."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                found.append(_parsed(json.loads(line)))
            except (ValueError, TypeError, KeyError) as error:
                raise ValueError(f"{path}, line {number} is not a measurement ({error}); remove it.") from error
    return sorted(found, key=lambda pair: pair[0].date)


def _parsed(line: dict[str, Any]) -> tuple[Run, Record]:
    if line.pop("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    run = Run(**line.pop("run"))
    known = {entry.name for entry in fields(Record)}
    if unknown := sorted(set(line) - known):
        raise ValueError(f"unknown field {unknown[0]!r}")
    seconds = line.pop("seconds")
    return run, Record(**line, seconds=Seconds(**seconds) if seconds else None)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _revision() -> str:
    """The commit, with a mark where files differ from it."""
    root = Path(__file__).resolve().parents[2]
    try:
        command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


CHANGE = 1.2
"""A change below a fifth is not worth a reader's time."""


@dataclass(frozen=True)
class Change:
    """A time of the last run against the median of the earlier ones."""

    record: Record
    ratio: float
    noise: float
    """Relative scatter of the times compared."""
    runs: int

    @property
    def flagged(self) -> bool:
        """Beyond a fifth and the noise together, in either direction."""
        return abs(math.log(self.ratio)) > math.log(CHANGE) + math.log1p(self.noise)


def like_runs(found: Sequence[tuple[Run, Record]], run: Run) -> list[tuple[Run, Record]]:
    """The measurements of runs in the same mode on a machine of the same kind, this run's included."""
    return [(other, record) for other, record in found if other.mode == run.mode and other.comparable == run.comparable]


def changes(found: Sequence[tuple[Run, Record]], run: Run) -> list[Change]:
    """One entry for every time of ``run`` that an earlier run took too."""
    earlier: dict[tuple[str, str], list[Record]] = defaultdict(list)
    current: list[Record] = []
    for other, record in like_runs(found, run):
        if record.seconds is not None:
            if other.identity == run.identity:
                current.append(record)
            elif other.date <= run.date:
                earlier[record.key].append(record)
    return [_change(record, earlier[record.key]) for record in current if earlier.get(record.key)]


def _change(record: Record, before: list[Record]) -> Change:
    times = [one.seconds.min for one in before if one.seconds is not None]
    middle = median(times)
    between_runs = median(abs(time - middle) for time in times) / middle
    both = [one.seconds for one in (record, *before) if one.seconds is not None]
    within_runs = max(seconds.median / seconds.min - 1.0 for seconds in both)
    return Change(record, both[0].min / middle, max(between_runs, within_runs), len(before))
