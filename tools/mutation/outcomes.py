"""What came of every fault tried, kept between runs, and why some of them are not noticed."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.mutation.faults import Fault

KEPT = Path(__file__).with_name("outcomes.jsonl")
EXPLAINED = Path(__file__).with_name("survivors.toml")
NOTICED = ("killed", "timeout")


def record(fault: Fault, outcome: str, tests: int, seconds: float) -> dict[str, Any]:
    """One line of the file."""
    return {
        "key": fault.key,
        "version": fault.version,
        "outcome": outcome,
        "tests": tests,
        "seconds": round(seconds, 1),
    }


def keep(result: dict[str, Any], kept: Path = KEPT) -> None:
    """Add one; the last of a fault counts."""
    with kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")


def known(faults: Iterable[Fault], kept: Path = KEPT) -> dict[str, dict[str, Any]]:
    """The outcomes of these faults, without those whose function has changed since."""
    versions = {fault.key: fault.version for fault in faults}
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    everything = {one["key"]: one for one in map(json.loads, lines)}
    return {key: one for key, one in everything.items() if versions.get(key) == one["version"]}


def noticed(result: dict[str, Any]) -> bool:
    """Whether a test failed or took far too long."""
    return result["outcome"] in NOTICED


def explanations(path: Path = EXPLAINED) -> dict[str, tuple[str, str]]:
    """For every survivor that was looked at its kind and the reason."""
    kinds = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {key: (kind, reason) for kind, reasons in kinds.items() for key, reason in reasons.items()}
