"""A piece: one data set given to one solver, scored; the unit that is run, stored and named by claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Raw = Any
"""What one block of a piece returns: anything JSON can hold."""


@dataclass(frozen=True)
class Settings:
    """What the caller may choose."""

    seed: int = 2011
    repeats: int = 500


@dataclass
class Outcome:
    """The scores of a piece, and tables that belong to them."""

    measures: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def add(
        self,
        name: str,
        value: float | str | bool,
        *,
        error: float = 0.0,
        of: int | None = None,
        better: int = 0,
        detail: str = "",
    ) -> None:
        """A measured value; `error` is its standard error.

        For a curve the value is the number of points that agree, out of `of`, and `better` counts those that do not
        agree because they are better.
        """
        plain = value if isinstance(value, (str, bool, int)) else float(value)
        self.measures[name] = {"value": plain, "error": float(error), "of": of, "better": better, "detail": detail}

    def table(self, name: str, header: list[str], rows: list[list[Any]]) -> None:
        """A table that is written as CSV beside the page."""
        self.tables[name] = {"header": header, "rows": rows}


@dataclass(frozen=True)
class Piece:
    """`part`/`dataset`/`solver`, and how to run it.

    `run(settings, block)` does block number `block` of `blocks` and returns what JSON can hold; `score(settings,
    raws)` makes an `Outcome` of all blocks. `files` are read from the data folder: a piece whose files are missing is
    not runnable. A `timed` piece runs alone.
    """

    part: str
    dataset: str
    solver: str
    run: Callable[[Settings, int], Raw]
    score: Callable[[Settings, list[Raw]], Outcome]
    blocks: int = 1
    files: tuple[str, ...] = ()
    timed: bool = False

    @property
    def name(self) -> str:
        return f"{self.part}/{self.dataset}/{self.solver}"


@dataclass(frozen=True)
class Figure:
    """A figure of the page: `draw(outcomes by piece name)` returns a matplotlib figure."""

    name: str
    table: str
    caption: str
    pieces: tuple[str, ...]
    draw: Callable[[dict[str, Outcome]], Any]
