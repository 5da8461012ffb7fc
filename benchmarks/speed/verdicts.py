"""The three verdicts on a run, each computed from its records alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.speed.peers import PEERS, PLAIN, SPARSE_PCA
from benchmarks.speed.records import Record

TOLERANCE = 1e-12
"""Relative: what rounding of an eigenvalue may differ by."""
TIMES_FASTER = 100.0
RATIO_CELLS = "noise"
"""The cells of the speed ratio begin with this: Gaussian data, as in the paper's own table of seconds."""


@dataclass(frozen=True)
class Verdict:
    """``holds`` is False too where nothing was measured: a sentence without evidence is not true."""

    name: str
    holds: bool
    text: str

    def __str__(self) -> str:
        return f"{'PASS' if self.holds else 'FAIL'}  {self.name}: {self.text}"


def verdicts(records: Sequence[Record]) -> list[Verdict]:
    return [no_peer_above(records), faster_than_sparse_pca(records), growth(records)]


def no_peer_above(records: Iterable[Record]) -> Verdict:
    """(a) Our default is no lower than any peer in any cell, at the same cardinality."""
    compared, losses, without = 0, [], []
    for record in records:
        if record.kind != "peer" or record.status != "ok" or _is_ours(record) or record.value is None:
            continue
        place = f"{record.name} in {record.setting['cell']} at {record.details.get('cardinality')}"
        if record.reference is None:
            without.append(place)
            continue
        compared += 1
        if record.reference < record.value * (1.0 - TOLERANCE):
            losses.append(f"{place} by {record.value / record.reference - 1.0:.1e}")
    failed = sum(record.kind == "peer" and record.status != "ok" for record in records)
    text = f"{compared} answers of peers compared, {len(losses)} above ours ({failed} without an answer)"
    if losses:
        text += ": " + "; ".join(losses)
    if without:
        text += f"; ours has no answer for {'; '.join(without)}"
    return Verdict("variance", bool(compared) and not losses and not without, text)


def _is_ours(record: Record) -> bool:
    return record.name in PEERS and PEERS[record.name].ours


def ratios(records: Iterable[Record]) -> dict[tuple[str, Any], float]:
    """(cell, k) -> seconds of one SparsePCA fit, its penalty known, over seconds of Algorithm 1.

    Only where SparsePCA kept exactly k variables: a fit that keeps another number takes another time.
    """
    seconds = {
        (record.name, record.setting["cell"], record.setting.get("k")): record.seconds.min
        for record in records
        if record.kind == "peer"
        and record.status == "ok"
        and record.seconds is not None
        and record.details["cardinality"] == record.setting.get("k")
    }
    return {
        (cell, k): theirs / seconds[PLAIN, cell, k]
        for (name, cell, k), theirs in seconds.items()
        if name == SPARSE_PCA and (PLAIN, cell, k) in seconds
    }


def faster_than_sparse_pca(records: Iterable[Record]) -> Verdict:
    """(b) Algorithm 1 is at least a hundred times as fast as SparsePCA on Gaussian data, answers and data the same."""
    all_ratios = ratios(records)
    noise = {place: ratio for place, ratio in all_ratios.items() if place[0].startswith(RATIO_CELLS)}
    others = [ratio for place, ratio in all_ratios.items() if place not in noise]
    text = ", ".join(f"{cell}, k = {k}: {ratio:.0f}x" for (cell, k), ratio in noise.items()) or "nothing measured"
    if others:
        text += f" (real data and toy model, not part of this verdict: {min(others):.0f}x to {max(others):.0f}x)"
    return Verdict("speed", bool(noise) and min(noise.values()) >= TIMES_FASTER, text)


def growth(records: Iterable[Record]) -> Verdict:
    """(c) The plain iteration grows no faster than its work, within a tenth, on data and on a matrix."""
    found = [record for record in records if record.kind == "exponent" and record.details.get("limit") is not None]
    text = ", ".join(
        f"{record.name}: {record.value:.2f} [{record.details['low']:.2f}, {record.details['high']:.2f}]"
        for record in found
    )
    holds = bool(found) and all(
        record.value is not None and record.value <= record.details["limit"] for record in found
    )
    return Verdict("growth", holds, text or "nothing measured")


def verdict_records(found: Iterable[Verdict]) -> list[Record]:
    return [Record("verdict", one.name, value=float(one.holds), message=one.text) for one in found]
