"""A whole run: peers, growth, the parts; results to JSON lines and tables in Markdown."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from benchmarks import timing
from benchmarks.speed import markdown, records
from benchmarks.speed.comparison import compare
from benchmarks.speed.markdown import described_machine, place, versions_line
from benchmarks.speed.peers import PEERS
from benchmarks.speed.peers.r_packages import missing, r_version
from benchmarks.speed.records import Record, Run, Seconds, changes
from benchmarks.speed.scaling import measure_scaling
from benchmarks.speed.verdicts import Verdict, verdict_records, verdicts
from sparseigen.errors import ConvergenceWarning


@dataclass(frozen=True)
class Places:
    """Where results go."""

    results: Path = records.FOLDER
    markdown: Path = Path("build/benchmarks.md")


def begin(mode: str) -> Run:
    """The run that begins now, with the versions of all peers."""
    packages = [peer.package for peer in PEERS.values()]
    run = records.this_run(mode, dict.fromkeys(name for name in packages if not name.startswith("R:")))
    of_r = dict.fromkeys(name.removeprefix("R:") for name in packages if name.startswith("R:"))
    found = {f"R {name}": "not installed" if missing(name) else r_version(name) for name in of_r}
    return Run(run.identity, mode, run.date, run.machine, {**run.versions, **found}, run.revision)


def measure(mode: str, places: Places, parts: Mapping[str, Callable[[], None]], *, only: str = "") -> int:
    """Run everything of a mode; 0 if the verdicts hold, 1 if not, as a program's exit status."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    run = begin(mode)
    print(f"{described_machine(run)}\n{versions_line(run)}\nrevision {run.revision}, {run.date}\n", flush=True)
    found: list[Record] = []
    path = places.results / "speed.jsonl"

    def keep(new: list[Record]) -> None:
        # Written at once: an interrupted run keeps what it has measured.
        records.append(new, run, path)
        found.extend(new)

    def tell(text: str) -> None:
        print(text, flush=True)

    for measured in chain(compare(mode, tell=tell, only=only), measure_scaling(mode, tell=tell, only=only)):
        keep(measured)
    for name, show in parts.items():
        keep(part_records(name, show))
    said = [] if only else verdicts(found)
    keep(verdict_records(said))
    _publish(run, found, said, places)
    for verdict in said:
        print(verdict)
    return int(not all(verdict.holds for verdict in said))


def part_records(name: str, show: Callable[[], None]) -> list[Record]:
    """Run one of the printed tables and collect the times it took."""
    timing.taken.clear()
    show()
    print(flush=True)
    return [
        Record("part", f"{name}: {run}", {"what": label}, seconds=Seconds.of(times))
        for label, run, times in timing.taken
    ]


def _publish(run: Run, found: list[Record], said: list[Verdict], places: Places) -> None:
    flagged = [change for change in changes(records.read(places.results), run) if change.flagged]
    for change in flagged:
        was = f"{change.ratio:.2f} times the median of {change.runs} earlier runs (noise {change.noise:.0%})"
        print(f"changed: {change.record.name}, {place(change.record)}: {was}")
    if said:  # tables of a part of the run would pass for the whole
        markdown.write(places.markdown, markdown.page(run, found, said, len(flagged)))
        print(f"tables: {places.markdown}")
    print(f"results: {places.results / 'speed.jsonl'}")
