"""The default answer: its cost beside a plain run, what it proves, and what an earlier version did on the same rows.

Rows that a version does not finish in time say so. The table ends in the targets, each with its figure and its goal.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.certificates.rows import DATA, Row, chosen
from benchmarks.certificates.targets import Figures, Record, ratio, targets
from benchmarks.certificates.worker import Worker
from benchmarks.timing import machine

HEADS = (
    "row", "plain ms", "default s", "plain runs", "value", "gap %", "proven", "thorough gap %", "thorough s",
    "before s", "before gap %", "speedup", "worse", "stages (ms)",
)  # fmt: skip
LIMIT = 60.0
"""Seconds that one version may take for one row."""
REPEATING, REPEATING_QUICK = 2.0, 0.4


def table(
    *, quick: bool = False, rows: str = "", before: str = "", results: Path | None = None, limit: float = LIMIT
) -> bool:
    """Measure and print; whether no target is missed.

    ``before`` is a Python that imports an earlier version, or the JSON file that a run of that version has written;
    ``results`` is where this run writes its own, row by row.
    """
    asked = chosen(quick=quick, named=rows)
    print(f"\n## The default answer\n\n{machine()}\n\nSmallest times, each solve on an operator nobody has used.\n")
    print(f"| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}", flush=True)
    found: list[Record] = []
    for record in measure(asked, before, repeating=REPEATING_QUICK if quick else REPEATING, limit=limit, quick=quick):
        found.append(record)
        print(line(record), flush=True)
        if results is not None:
            write(results, found)
    print("\n| target | measured | goal | verdict | misses |\n| --- | --- | --- | --- | --- |")
    said = targets(found)
    for target in said:
        print(target)
    return all(target.holds is not False for target in said)


def measure(asked: Sequence[Row], before: str, *, repeating: float, limit: float, quick: bool) -> Iterable[Record]:
    """Row by row, the versions one after the other."""
    workers = [Worker(sys.executable, limit)]
    try:
        efforts = workers[0].efforts()
        earlier = earlier_figures(before, workers, limit, repeating)
        for row in asked:
            data = DATA[row.data]
            now = workers[0].figures(row, seconds=repeating)
            # Only real data have a target for it; the rest is for whoever has the time.
            wanted = "thorough" in efforts and row.task == "solve" and (data.real or not quick)
            thorough = workers[0].figures(row, effort="thorough", seconds=0.0) if wanted else None
            yield Record(
                row.task, row.data, row.k, data.n, data.p, data.real, now, before=earlier(row), thorough=thorough
            )
    finally:
        for worker in workers:
            worker.end()


def earlier_figures(
    before: str, workers: list[Worker], limit: float, repeating: float
) -> Callable[[Row], Figures | None]:
    """What answers for the earlier version: nobody, a file, or a process that joins the workers."""
    if not before:
        return lambda _: None
    if before.endswith(".json"):
        stored = {(one.task, one.data, one.k): one.now for one in read(Path(before))}
        return lambda row: stored.get((row.task, row.data, row.k))
    # The process runs elsewhere; links stay, because they make a virtual environment what it is.
    worker = Worker(os.path.abspath(before) if os.sep in before else before, limit)
    workers.append(worker)
    return lambda row: worker.figures(row, seconds=repeating)


def line(record: Record) -> str:
    """A record as a row of the table."""
    now, before, thorough = record.now, record.before or Figures(), record.thorough or Figures()
    runs = ratio(now.seconds, now.plain if now.one is None else now.one)
    cells = [
        record.name,
        number(now.plain, 1e3),
        now.failed or number(now.seconds),
        number(runs) + (" solves" if now.one is not None else ""),
        f"{now.values[0]:.9g}" if len(now.values) == 1 else "-",
        percent(now.gap),
        "yes" if now.optimal else "no" if now.gap is not None else "-",
        thorough.failed or percent(thorough.gap),
        number(thorough.seconds),
        before.failed or number(before.seconds),
        percent(before.gap),
        number(record.speedup()),
        " ".join(record.marks()),
        now.stages,
    ]
    return f"| {' | '.join(cells)} |"


def number(value: float | None, factor: float = 1.0) -> str:
    return "-" if value is None else f"{factor * value:.3g}"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100.0 * share:.3g}"


def write(path: Path, records: Sequence[Record]) -> None:
    path.write_text(json.dumps([asdict(record) for record in records], indent=1), encoding="utf-8")


def read(path: Path) -> list[Record]:
    """What `write` has written."""

    def figures(stored: dict[str, object] | None) -> Figures | None:
        return None if stored is None else Figures(**stored)  # type: ignore[arg-type]

    return [
        Record(**{**one, **{name: figures(one[name]) for name in ("now", "before", "thorough")}})
        for one in json.loads(path.read_text(encoding="utf-8"))
    ]
