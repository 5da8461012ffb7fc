"""All peers on the same problems: every one in every cell, ours at every cardinality that a peer reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from benchmarks.speed.cells import Cell, cells
from benchmarks.speed.peers import DEFAULT, GRAPH_DEFAULT, PEERS, Peer
from benchmarks.speed.records import Record
from benchmarks.speed.worker import Limits, Outcome, Worker
from sparseigen.errors import MissingDataError

LIMITS = {
    "quick": Limits(search=10.0, fit=12.0, repeats=0.2, seeds=2),
    "full": Limits(search=120.0, fit=240.0, repeats=2.0),
}


def compare(
    mode: str,
    *,
    table_of_peers: str = "benchmarks.speed.peers",
    tell: Callable[[str], None] = print,
    only: str = "",
    limits: Limits | None = None,
) -> Iterator[list[Record]]:
    """Records of all peers, cell by cell, with our value at the same cardinality as reference."""
    every: list[Peer] = list(import_module(table_of_peers).PEERS.values())
    chosen = [peer for peer in every if peer.quick or mode != "quick"]
    workers = {peer.name: Worker(peer, table_of_peers) for peer in chosen}
    for needed in (DEFAULT, GRAPH_DEFAULT):
        workers.setdefault(needed, Worker(PEERS[needed]))
    try:
        yield _absent(chosen, workers, tell)
        for cell in cells(quick=mode == "quick"):
            if only in cell.name:
                records = _cell(cell, chosen, workers, limits or LIMITS[mode])
                tell(table(records))
                yield records
    finally:
        for worker in workers.values():
            worker.end()


def _absent(chosen: list[Peer], workers: Mapping[str, Worker], tell: Callable[[str], None]) -> list[Record]:
    """A record for every peer that cannot run at all, which is taken out of ``chosen``."""
    records = []
    for peer in list(chosen):
        if (problem := workers[peer.name].unusable()) is not None:
            chosen.remove(peer)
            setting = {"cell": "every cell"}
            records.append(Record("peer", peer.name, setting, status=problem.status, message=problem.message))
            tell(f"{peer.name}: {problem.status}: {problem.message}")
    return records


def _cell(cell: Cell, chosen: list[Peer], workers: Mapping[str, Worker], limits: Limits) -> list[Record]:
    try:
        facts = cell.make().facts
    except MissingDataError as error:
        return [Record("peer", "all peers", {"cell": cell.name}, status="no data", message=str(error))]
    graph = not cell.cardinalities
    asked = cell.cardinalities or (0,)
    found: list[tuple[Peer, int, Outcome]] = []
    ours = GRAPH_DEFAULT if graph else DEFAULT
    for peer in chosen:
        if peer.graphs == graph and peer.name != ours:
            outcomes = workers[peer.name].outcomes(cell.name, asked, limits)
            found += [(peer, k, outcome) for k, outcome in zip(asked, outcomes, strict=True)]
    reached = {outcome.cardinality for _, _, outcome in found if outcome.cardinality} | set(cell.cardinalities)
    sizes = sorted(reached)
    own = dict(zip(sizes, workers[ours].outcomes(cell.name, sizes, _patient(limits)), strict=True))
    found += [(PEERS[ours], size, outcome) for size, outcome in own.items()]
    return [_record(cell, facts, peer, k, outcome, own) for peer, k, outcome in found]


def _patient(limits: Limits) -> Limits:
    """Ours is the reference of the whole cell: it is never cut short by the limit meant for a search."""
    return replace(limits, fit=max(limits.fit, 120.0))


def _record(
    cell: Cell, facts: Mapping[str, int], peer: Peer, asked: int, outcome: Outcome, own: Mapping[int, Outcome]
) -> Record:
    reference = own.get(outcome.cardinality or -1)
    setting: dict[str, Any] = {"cell": cell.name, **facts}
    if asked:
        setting["k"] = asked
    return Record(
        "peer",
        peer.name,
        setting,
        status=outcome.status,
        message=outcome.message,
        seconds=outcome.seconds,
        value=outcome.value,
        reference=reference.value if reference is not None else None,
        details={**outcome.details, "cardinality": outcome.cardinality, "support": outcome.support},
    )


def table(records: Iterable[Record]) -> str:
    """A cell as text."""
    lines = [
        f"{'cell':<26}{'k':>5}  {'method':<41}{'kept':>5}{'fit s':>10}{'total s':>10}{'variance':>13}{'of ours':>11}"
    ]
    for record in sorted(records, key=lambda one: one.setting.get("k", 0)):
        start = f"{record.setting['cell']:<26}{record.setting.get('k', '-')!s:>5}  {record.name:<41}"
        if record.status != "ok" or record.seconds is None or record.value is None:
            lines.append(f"{start}  {record.status}: {' '.join(record.message.split())[:100]}")
            continue
        share = record.value / record.reference if record.reference else float("nan")
        lines.append(
            f"{start}{record.details['cardinality']:>5}{record.seconds.min:>10.4f}{record.seconds.total or 0.0:>10.3f}"
            f"{record.value:>13.6g}{share:>11.6f}"
        )
    return "\n".join(lines) + "\n"
