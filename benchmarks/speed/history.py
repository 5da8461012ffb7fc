"""Earlier runs on a like machine, and which times changed by more than their noise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.speed.records import Record, Run

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
