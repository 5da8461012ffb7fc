"""Which faults are tried first."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tools.mutation.faults import Fault, faults

PACKAGES = ("certificates", "solvers")
FEWEST = 2
"""Of every module, before any gets its share."""


def everything(source: Path) -> dict[str, list[Fault]]:
    """Every fault of every module."""
    paths = [path for part in PACKAGES for path in sorted((source / "sparseigen" / part).glob("*.py"))]
    return {name: faults(source, name) for name in (path.relative_to(source).as_posix() for path in paths)}


def sample(possible: dict[str, list[Fault]], count: int, seed: int) -> list[Fault]:
    """The first so many of an order in which every beginning has of each module its share, and two at least.

    Inside a module the order is that of digests of the faults' names: edits elsewhere do not change it.
    """
    ranked: list[tuple[float, str, Fault]] = []
    for every in possible.values():
        mixed = sorted(
            (hashlib.sha256(f"{seed} {fault.key}".encode()).hexdigest(), fault.key, fault) for fault in every
        )
        for place, (digest, _, fault) in enumerate(mixed):
            ranked.append((0.0 if place < FEWEST else (place + 0.5) / len(mixed), digest, fault))
    ranked.sort(key=lambda one: one[:2])
    return [fault for *_, fault in ranked[:count]]
