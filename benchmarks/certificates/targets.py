"""Figures of rows, and the targets they are held against: computed from the records alone."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import median

LOWER = 1e-9
"""Relative: a value this much lower than the earlier one is a worse answer, not another rounding."""
SPEEDUP = 5.0
PLAIN_RUNS = 50.0
SECONDS, SECONDS_P, SECONDS_N = 1.0, 20_000, 200
MEDIAN_GAP, REAL_GAP, THOROUGH_GAP = 1e-3, 2e-2, 2e-3
EXACT_SECONDS = 20.0
EXACT_USED = 0.95
"""The share of its time limit that an exact search without a proof has to use."""
COMPONENTS_SOLVES = PATH_SOLVES = 6.0
PITPROPS_SECONDS = 2e-3
SHOWN = 8
"""The most misses of one target that are told."""


@dataclass(frozen=True)
class Figures:
    """What one version did on one row. ``failed`` says why there is nothing else, but the seconds it was given."""

    seconds: float | None = None
    """Of the task on an operator nobody has used; ``_again`` is the same once more on the same operator."""
    seconds_again: float | None = None
    plain: float | None = None
    plain_again: float | None = None
    one: float | None = None
    """One default solve, where the task is many."""
    values: list[float] = field(default_factory=list)
    gap: float | None = None
    """Relative, the widest of a path; None if nothing was proven."""
    upper: float | None = None
    optimal: bool = False
    stages: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Record:
    """A row with its figures: now, before, and at the effort "thorough"."""

    task: str
    data: str
    k: int
    n: int | None
    p: int
    real: bool
    now: Figures
    before: Figures | None = None
    thorough: Figures | None = None

    @property
    def name(self) -> str:
        return f"{self.data}, k = {self.k}" if self.task == "solve" else f"{self.task}, {self.data}, k = {self.k}"

    def marks(self) -> list[str]:
        """What is worse than before, in capitals where it is a miss."""
        before, now = self.before, self.now
        if before is None or before.failed:
            return []
        if now.failed:
            return ["FAILED"]
        upper = {"LOWER": is_lower(now.values, before.values), "UNCERTIFIED": lost_proof(now, before)}
        upper["CONTRADICTION"] = exceeds(now, before) or exceeds(before, now)
        found = [mark for mark, holds in upper.items() if holds]
        if before.gap is not None and now.gap is not None and now.gap > before.gap + 1e-6:
            found.append("wider")
        return found

    def speedup(self) -> float | None:
        return None if self.before is None else ratio(self.before.seconds, self.now.seconds)


def is_lower(now: Sequence[float], before: Sequence[float]) -> bool:
    return any(new < old - LOWER * abs(old) for new, old in zip(now, before, strict=True))


def lost_proof(now: Figures, before: Figures) -> bool:
    return (before.optimal and not now.optimal) or (before.gap is not None and now.gap is None)


def exceeds(one: Figures, other: Figures) -> bool:
    """Whether a value of one version lies above what the other has proven: then a proof is wrong."""
    return other.upper is not None and any(value > other.upper * (1.0 + LOWER) for value in one.values)


def ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


@dataclass(frozen=True)
class Target:
    """``holds`` is None where nothing was measured: that is neither a success nor a miss."""

    name: str
    figure: str
    goal: str
    holds: bool | None
    misses: Sequence[str] = ()

    def __str__(self) -> str:
        verdict = {True: "ok", False: "MISS", None: "-"}[self.holds]
        more = [f"and {len(self.misses) - SHOWN} more"] if len(self.misses) > SHOWN else []
        misses = "; ".join([*self.misses[:SHOWN], *more])
        return f"| {self.name} | {self.figure} | {self.goal} | {verdict} | {misses} |"


def targets(records: Sequence[Record]) -> list[Target]:
    """A row without an answer misses what it belongs to: it took all its seconds and has proven nothing."""
    solves = [record for record in records if record.task == "solve"]
    real = [record for record in solves if record.real]
    pitprops = [record for record in solves if record.data == "PitProps"]
    return [
        Target("rows without an answer", *_none([record.name for record in records if record.now.failed], records)),
        *_compared(records),
        speedup(solves),
        _largest("plain runs for an answer proven optimal", _plain_runs(solves), PLAIN_RUNS, "{:.0f}"),
        _largest(f"seconds, p <= {SECONDS_P:,}, n <= {SECONDS_N}", _seconds(_small(solves)), SECONDS, "{:.2f} s"),
        _largest("seconds, PitProps", _seconds(pitprops), PITPROPS_SECONDS, "{:.4f} s"),
        median_gap(solves),
        _largest("gap on real data", _gaps(real), REAL_GAP, "{:.2%}"),
        _largest("gap on real data, thorough", _thorough(real), THOROUGH_GAP, "{:.2%}"),
        exact(records),
        _many("five components", "components", records, COMPONENTS_SOLVES),
        _many("path of 24", "path", records, PATH_SOLVES),
    ]


def _none(found: Sequence[str], among: Sequence[object]) -> tuple[str, str, bool | None, Sequence[str]]:
    return f"{len(found)} of {len(among)}", "0", not found if among else None, found


def _compared(records: Iterable[Record]) -> Iterable[Target]:
    """Of the rows with figures from before: never lower, never less certified, no value above a proven bound."""
    both = [record for record in records if record.before is not None and not record.before.failed]
    for name, mark in (
        ("value lower than before", "LOWER"),
        ("certified before, uncertified now", "UNCERTIFIED"),
        ("value above the other version's bound", "CONTRADICTION"),
    ):
        yield Target(name, *_none([record.name for record in both if mark in record.marks()], both))


def speedup(solves: Iterable[Record]) -> Target:
    """Rows that were not finished count with the seconds they were given."""
    found = [times for record in solves if (times := record.speedup()) is not None]
    if not found:
        return Target("median speedup", "not measured", f">= {SPEEDUP:g}x", None)
    figure = f"{median(found):.1f}x of {len(found)} rows, least {min(found):.2f}x"
    return Target("median speedup", figure, f">= {SPEEDUP:g}x", median(found) >= SPEEDUP)


def median_gap(solves: Sequence[Record]) -> Target:
    """Of all rows; beside it of each kind, because pure noise has wide gaps whatever the method."""
    gaps = _gaps(solves)
    if not gaps:
        return Target("median gap", "not measured", f"<= {MEDIAN_GAP:.1%}", None)
    kinds: dict[str, list[float]] = {}
    for record in solves:
        kinds.setdefault("real" if record.real else record.data.split()[0], []).append(gaps[record.name])
    parts = ", ".join(f"{kind} {median(of_kind):.3%}" for kind, of_kind in kinds.items())
    middle = median(gaps.values())
    return Target("median gap", f"{middle:.3%} ({parts})", f"<= {MEDIAN_GAP:.1%}", middle <= MEDIAN_GAP)


def exact(records: Iterable[Record]) -> Target:
    """Proven within the limit; a search that proved nothing has at least used its time."""
    found = [record for record in records if record.task == "exact"]
    open_ones = [record for record in found if not record.now.optimal]
    misses = [f"{record.name}: {_open(record.now)}" for record in open_ones]
    goal = f"all within {EXACT_SECONDS:.0f} s"
    if not found:
        return Target("exact, proven", "not measured", goal, None)
    return Target("exact, proven", f"{len(found) - len(open_ones)} of {len(found)}", goal, not open_ones, misses)


def _open(now: Figures) -> str:
    if now.failed:
        return now.failed
    spent = now.seconds or 0.0
    left = "nothing proven" if now.gap is None else f"{now.gap:.2%} open"
    return left if spent >= EXACT_USED * EXACT_SECONDS else f"{left} after only {spent:.1f} s"


def _largest(name: str, figures: dict[str, float], goal: float, form: str) -> Target:
    told = f"<= {form.format(goal)}"
    if not figures:
        return Target(name, "not measured", told, None)
    worst_first = sorted(figures.items(), key=lambda one: -one[1])
    misses = [f"{row}: {form.format(figure)}" for row, figure in worst_first if figure > goal]
    worst = max(figures.values())
    return Target(name, f"{form.format(worst)} at most of {len(figures)} rows", told, not misses, misses)


def _plain_runs(solves: Iterable[Record]) -> dict[str, float]:
    """Like with like: on new operators, and on operators that were used; the larger ratio counts."""
    found = {}
    for record in solves:
        now = record.now
        ratios = [ratio(now.seconds, now.plain), ratio(now.seconds_again, now.plain_again)]
        if now.optimal and any(one is not None for one in ratios):
            found[record.name] = max(one for one in ratios if one is not None)
    return found


def _small(solves: Iterable[Record]) -> Iterable[Record]:
    return (one for one in solves if one.n is not None and one.p <= SECONDS_P and one.n <= SECONDS_N)


def _seconds(solves: Iterable[Record]) -> dict[str, float]:
    return {record.name: inf if record.now.seconds is None else record.now.seconds for record in solves}


def _gaps(solves: Iterable[Record]) -> dict[str, float]:
    """An answer without a certificate counts as a gap of 100 %."""
    return {record.name: 1.0 if record.now.gap is None else record.now.gap for record in solves}


def _thorough(solves: Iterable[Record]) -> dict[str, float]:
    return {
        record.name: 1.0 if record.thorough.gap is None else record.thorough.gap
        for record in solves
        if record.thorough is not None
    }


def _many(name: str, task: str, records: Iterable[Record], goal: float) -> Target:
    found = {record.name: ratio(record.now.seconds, record.now.one) or inf for record in records if record.task == task}
    return _largest(f"{name}, in default solves", found, goal, "{:.1f}")


def run_parts(
    parser: ArgumentParser, given: Namespace, parts: Mapping[str, Callable[[Namespace], list[Target]]]
) -> int:
    """Run the parts named on the command line, or all, and print what they reached; 1 where a target is missed."""
    for part in given.parts:
        if part not in parts:
            parser.error(f"{part!r} is not a part; choose from {', '.join(parts)}")
    reached = [target for part in given.parts or parts for target in parts[part](given)]
    print("\n| target | reached | goal | verdict | misses |\n| --- | --- | --- | --- | --- |")
    print("\n".join(map(str, reached)))
    return int(any(target.holds is False for target in reached))
