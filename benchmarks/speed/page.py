"""A page of plots from the records: one file, nothing loaded from elsewhere, light and dark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from benchmarks.speed.history import Change, changes, like_runs
from benchmarks.speed.peers import PLAIN
from benchmarks.speed.records import Record, Run
from benchmarks.speed.verdicts import Verdict
from benchmarks.speed.words import described_machine, milliseconds, place, share_of_ours
from sparseigen.report.page import TEMPLATES, Report, _packed_library, pack

PARTS = Path(__file__).with_name("page_parts")


def render(
    run: Run, records: Sequence[Record], verdicts: Sequence[Verdict], found: Sequence[tuple[Run, Record]]
) -> Report:
    """The page of one run; ``found`` are all measurements there are, this run's included."""
    peers = [record for record in records if record.kind == "peer"]
    changed = changes(found, run)
    payload = {
        "peers": _peer_points(peers),
        "axes": _axis_points(records),
        "history": _history(found, run),
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([PARTS, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    title = f"sparseigen: measurements ({run.mode})"
    html = environment.get_template("bench.html").render(
        title=title,
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        script="\n".join((folder / name).read_text(encoding="utf-8") for folder, name in SCRIPTS),
        library=_packed_library(),
        payload=pack(payload),
        asked=f"{run.date}, revision {run.revision}: {described_machine(run)}.",
        verdicts=verdicts,
        has={"peers": payload["peers"], "scaling": payload["axes"], "history": payload["history"]},
        peers=[_peer_row(record) for record in peers],
        scaling=[_scaling_row(record) for record in records if record.kind == "scaling"],
        exponents=[_exponent_row(record) for record in records if record.kind == "exponent"],
        parts=[_scaling_row(record)[:5] for record in records if record.kind == "part"],
        history_says=_history_says(changed, found, run),
        flagged=[_flagged_row(change) for change in changed if change.flagged],
        settings=[("mode", run.mode), ("date", run.date), ("revision", run.revision), *run.machine.items()],
        versions=list(run.versions.items()),
        data_facts=[],
    )
    return Report(title, html)


SCRIPTS = ((TEMPLATES, "common.js"), (PARTS, "bench.js"))


def _peer_points(peers: Sequence[Record]) -> list[dict[str, Any]]:
    plain = {
        (record.setting["cell"], record.setting.get("k")): record.seconds.min
        for record in peers
        if record.name == PLAIN and record.seconds is not None
    }
    points = []
    for record in peers:
        if record.seconds is None or record.value is None:
            continue
        base = plain.get((record.setting["cell"], record.setting.get("k")))
        points.append(
            {
                "method": record.name,
                "cell": record.setting["cell"],
                "k": record.setting.get("k"),
                "kept": record.details["cardinality"],
                "ms": 1e3 * record.seconds.min,
                "share": record.value / record.reference if record.reference else None,
                "times": record.seconds.min / base if base else None,
            }
        )
    return points


def _axis_points(records: Sequence[Record]) -> list[dict[str, Any]]:
    exponents = {record.name: record for record in records if record.kind == "exponent"}
    axes: dict[str, dict[str, Any]] = {}
    for record in records:
        if record.kind != "scaling" or record.seconds is None:
            continue
        grows = record.details["grows"]
        fixed = ", ".join(f"{name} = {value}" for name, value in record.setting.items() if name != grows)
        exponent = exponents.get(record.name)
        axis = axes.setdefault(
            record.name,
            {
                "name": record.name,
                "grows": grows,
                "fixed": fixed,
                "points": [],
                "exponent": exponent.value if exponent else None,
                **{name: exponent.details[name] if exponent else None for name in ("low", "high", "factor")},
            },
        )
        memory = record.memory_bytes
        point = {"size": record.setting[grows], "ms": 1e3 * record.seconds.min, "mb": memory and memory / 1e6}
        axis["points"].append(point)
    return list(axes.values())


def _history(found: Sequence[tuple[Run, Record]], run: Run) -> list[dict[str, Any]]:
    """Measurements that were made more than once."""
    series: dict[tuple[str, str], list[tuple[Run, Record]]] = defaultdict(list)
    for other, record in like_runs(found, run):
        if record.seconds is not None:
            series[record.key].append((other, record))
    return [
        {
            "name": f"{pairs[-1][1].name}: {place(pairs[-1][1])}",
            "dates": [other.date for other, _ in pairs],
            "ms": [1e3 * record.seconds.min for _, record in pairs if record.seconds is not None],
            "revisions": [other.revision for other, _ in pairs],
        }
        for pairs in series.values()
        if len(pairs) > 1
    ]


def _history_says(changed: Sequence[Change], found: Sequence[tuple[Run, Record]], run: Run) -> str:
    runs = {other.identity for other, _ in like_runs(found, run)} - {run.identity}
    if not runs:
        return "No earlier run in this mode on a machine of this kind."
    flagged = sum(change.flagged for change in changed)
    return (
        f"{len(runs)} earlier runs in this mode on a machine of this kind; {len(changed)} times compared with their "
        f"median, {flagged} changed by more than a fifth beyond the noise."
    )


def _peer_row(record: Record) -> list[str]:
    start = [record.name, record.setting["cell"], str(record.setting.get("k", "-"))]
    if record.seconds is None or record.value is None:
        return [*start, "-", "-", "-", "-", "-", f"{record.status}: {record.message}"]
    times = [milliseconds(record.seconds.min), milliseconds(record.seconds.total)]
    return [*start, str(record.details["cardinality"]), *times, f"{record.value:.8g}", share_of_ours(record), ""]


def _scaling_row(record: Record) -> list[str]:
    if record.seconds is None:
        return [record.name, place(record), "-", "-", "-", "-", f"{record.status}: {record.message}"]
    times = [milliseconds(record.seconds.min), milliseconds(record.seconds.median), str(record.seconds.repeats)]
    memory = "-" if record.memory_bytes is None else f"{record.memory_bytes / 1e6:.1f}"
    return [record.name, place(record), *times, memory, ""]


def _exponent_row(record: Record) -> list[str]:
    sizes = ", ".join(f"{size:,}" for size in record.setting["sizes"])
    return [record.name, sizes, f"{record.value:.3f}", f"{record.details['low']:.3f} to {record.details['high']:.3f}"]


def _flagged_row(change: Change) -> list[str]:
    record = change.record
    now = milliseconds(record.seconds.min if record.seconds else None)
    return [record.name, place(record), now, f"{change.ratio:.2f}", f"{change.noise:.0%}", str(change.runs)]
