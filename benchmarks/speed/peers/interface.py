"""What a peer is: a name, the package it comes in, and one function from a problem to loadings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.speed.cells import Problem

Fit = Callable[[Problem, float, int], Any]
"""(problem, cardinality or penalty, seed) -> loadings, or the vertices of a dense subgraph, or `Timed`."""


@dataclass(frozen=True)
class Timed:
    """An answer whose time was taken elsewhere: in another program, without the way there and back."""

    answer: np.ndarray
    seconds: float


@dataclass(frozen=True)
class Peer:
    """A row of the table of peers.

    ``tuning`` says what the second argument of ``fit`` is: "cardinality" for methods that are told k, "penalty" for
    those whose penalty is searched until k variables are left (``largest_penalty`` says where the search begins),
    "own size" for dense-subgraph methods that choose the size themselves.
    """

    name: str
    package: str
    """The distribution whose version is recorded; its absence is recorded as "not installed"."""
    fit: Fit
    tuning: str = "cardinality"
    largest_penalty: Callable[[Problem], float] | None = None
    seeds: int = 1
    """How many seeds a random method may try; the best answer counts."""
    quick: bool = True
    """Whether the quick run has time for it; the full run has all."""
    graphs: bool = False
    ours: bool = False
    available: Callable[[], str] = lambda: ""
    """Why it cannot run here; empty if it can. The package itself is looked up without this."""

    def __post_init__(self) -> None:
        if self.tuning not in ("cardinality", "penalty", "own size"):
            raise ValueError(f"tuning {self.tuning!r} must be 'cardinality', 'penalty' or 'own size'.")
        if (self.tuning == "penalty") != (self.largest_penalty is not None):
            raise ValueError(f"{self.name}: a penalised peer, and no other, says where its search begins.")
