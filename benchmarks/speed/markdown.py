"""Records in words, and the tables of a run in Markdown: build/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.speed.records import CHANGE, Record, Run
from benchmarks.speed.verdicts import TIMES_FASTER, Verdict

HOW = f"""\
Every method gets the same data and the same number of variables k, one thread, and a process of its own. Methods with a
penalty get it by bisection until k variables are left; `fit` is the time of that one fit, `total` that of the whole
search. Random methods try several seeds; the best counts. Every support is then given its best
weights, so nobody loses by shrinkage. Where a method cannot keep exactly k variables, the nearest number below counts
(`kept`), and `of ours` compares with our default at that same number. For graphs the value is the average degree inside
the set that networkx returned, and ours is asked for as many vertices. Our own times begin at the array or matrix,
as theirs do. Times are processor seconds of one thread, the smallest of their repeats: the clock's on an idle machine.
`PASS` for speed means at least {TIMES_FASTER:.0f} times as fast as one SparsePCA fit, its penalty known, on Gaussian
data.
"""


def page(run: Run, records: Sequence[Record], verdicts: Iterable[Verdict], flagged: int = 0) -> str:
    parts = [
        "# Benchmarks",
        f"Made by `python -m benchmarks.speed {run.mode}` on {run.date}, revision `{run.revision}`: "
        f"{described_machine(run)}. Versions: {versions_line(run)}."
        + (
            f" {flagged} times differ from earlier runs by more than {CHANGE - 1:.0%} and their noise."
            if flagged
            else ""
        ),
        "## Verdicts\n\n" + "\n".join(f"- {_cell(str(verdict))}" for verdict in verdicts),
        "## Other packages\n\n" + HOW,
        _peers([record for record in records if record.kind == "peer"]),
        "## Growth\n\nSeconds ~ size to the exponent, least squares on logarithms of the smallest times, 95 % interval."
        " Memory is what the call takes beyond its input.",
        _growth(records),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _cell(text: str) -> str:
    """Text for a table: no character of it ends a cell or starts markup."""
    for mark in ("\\", "|", "*", "_", "`", "<", ">", "[", "]"):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def _rows(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)])


def _peers(records: Iterable[Record]) -> str:
    rows = []
    for record in sorted(records, key=lambda one: (one.setting["cell"], one.setting.get("k", 0))):
        start = [record.setting["cell"], str(record.setting.get("k", "-")), record.name]
        if record.seconds is None or record.value is None:
            rows.append([*start, "-", "-", "-", "-", f"{record.status}: {record.message}"])
            continue
        times = [milliseconds(record.seconds.min), milliseconds(record.seconds.total)]
        rows.append([*start, str(record.details["cardinality"]), *times, f"{record.value:.6g}", share_of_ours(record)])
    return _rows(["cell", "k", "method", "kept", "fit ms", "total ms", "value", "of ours"], rows)


def _growth(records: Iterable[Record]) -> str:
    rows = []
    for record in records:
        if record.kind == "exponent" and record.value is not None:
            interval = f"[{record.details['low']:.2f}, {record.details['high']:.2f}]"
            sizes = ", ".join(f"{size:,}" for size in record.setting["sizes"])
            rows.append([record.name, sizes, f"{record.value:.2f}", interval, _memory(records, record.name)])
    return _rows(["what", "sizes", "exponent", "95 %", "peak MB at the largest"], rows)


def _memory(records: Iterable[Record], name: str) -> str:
    points = [one for one in records if one.kind == "scaling" and one.name == name and one.memory_bytes is not None]
    return f"{(points[-1].memory_bytes or 0) / 1e6:.1f}" if points else "-"


def described_machine(run: Run) -> str:
    facts = run.machine
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB, {facts['system']}, "
        f"{facts['kernels']} kernels; load before the run {facts['load_before']}"
    )


def versions_line(run: Run) -> str:
    return ", ".join(f"{name} {version}" for name, version in run.versions.items())


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    value = 1e3 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def share_of_ours(record: Record) -> str:
    """The value over ours at the same cardinality; all digits that tell a loss from a tie."""
    if record.value is None or not record.reference:
        return "-"
    share = record.value / record.reference
    return "1" if abs(share - 1.0) <= 1e-12 else f"{share:.6f}" if abs(share - 1.0) > 1e-6 else f"1{share - 1.0:+.1e}"


def place(record: Record) -> str:
    """The setting in one line."""
    return ", ".join(f"{name} = {value}" if name != "cell" else str(value) for name, value in record.setting.items())
