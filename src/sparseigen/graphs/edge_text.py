"""Edge lists with a header, with names for vertices, or with more columns than an edge needs."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np

from sparseigen.errors import GraphFileError
from sparseigen.inputs.graphs import FRAME_COLUMNS, Graph, graph_from_edges

LONGEST_LINE = 1 << 20
PEEK = 1 << 20
"""Bytes in which the first two lines that are not comments must lie."""


@dataclass(frozen=True)
class EdgeLayout:
    """Which columns of a text file are the ends and the weight."""

    names: tuple[str, ...] | None
    """The header, if there is one."""
    ends: tuple[int, int] = (0, 1)
    weight: int | None = None
    separator: str | None = None
    """Between cells; None is any white space."""
    labelled: bool = False
    """Whether vertices are names rather than numbers."""


def edge_layout(path: Path, weight: str | None) -> EdgeLayout | None:
    """How to read the file; None for plain numbers without a header, which need no help."""
    lines = _first_lines(path)
    if not lines:
        return None
    separator = next((mark for mark in (",", "\t", ";") if mark in lines[0]), None)
    cells = [_split(line, separator) for line in lines]
    if _numeric(cells[0][:2]):
        return None
    known = any(set(pair) <= {cell.lower() for cell in cells[0]} for pair in FRAME_COLUMNS)
    headed = known or (len(cells) > 1 and _numeric(cells[1][:2]))
    if len(cells) < 2 and (headed or not known):
        message = f"{path}: the only line is {lines[0][:60]!r}; an edge list needs edges, two ends a line."
        raise GraphFileError(message)
    names = tuple(cells[0]) if headed else None
    ends = _ends(names, len(cells[1]), path)
    chosen = _weight(names, len(cells[1]), ends, weight, path)
    return EdgeLayout(names, ends, chosen, separator, labelled=not _numeric([cells[1][j] for j in ends]))


def _first_lines(path: Path) -> list[str]:
    try:
        with _open_bytes(path) as file:
            text = file.read(PEEK).decode("utf-8-sig", "replace")
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path}: {error}. The file is damaged; download it again."
        raise GraphFileError(message) from error
    lines = (line for line in text.splitlines() if line.strip() and line.lstrip()[0] not in "#%")
    return [line for line, _ in zip(lines, range(2), strict=False)]


def _open_bytes(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path))
    return path.open("rb")


def _split(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]


def _numeric(cells: list[str]) -> bool:
    try:
        return bool([float(cell) for cell in cells])
    except ValueError:
        return False


def _ends(names: tuple[str, ...] | None, width: int, path: Path) -> tuple[int, int]:
    if names is not None and len(names) != width:
        message = f"{path}: the header has {len(names)} cells, the line after it {width}; they must agree."
        raise GraphFileError(message)
    if width < 2:
        message = f"{path}: lines have 1 column; an edge list has 2, or 3 with weights."
        raise GraphFileError(message)
    lower = [name.lower() for name in names or ()]
    for first, second in FRAME_COLUMNS:
        if first in lower and second in lower:
            return lower.index(first), lower.index(second)
    return 0, 1


def _weight(
    names: tuple[str, ...] | None, width: int, ends: tuple[int, int], wanted: str | None, path: Path
) -> int | None:
    if wanted is not None:
        if names is None or wanted not in names:
            have = "no header" if names is None else "the columns " + ", ".join(map(repr, names))
            message = f"weight={wanted!r} is not a column of {path}; it has {have}."
            raise GraphFileError(message, parameter="weight")
        return names.index(wanted)
    lower = [name.lower() for name in names or ()]
    if "weight" in lower:
        return lower.index("weight")
    rest = [j for j in range(width) if j not in ends]
    if len(rest) > 1:
        listed = ", ".join(map(repr, names)) if names is not None else f"{width} columns"
        message = f"{path} has {listed}: which of them is the weight? Name it ('weight')."
        raise GraphFileError(message, parameter="weight")
    return rest[0] if rest else None


def read_labelled(path: Path, layout: EdgeLayout) -> Graph:
    """A graph whose vertices are names; vertices are numbered in the order in which they occur."""
    ends: tuple[list[str], list[str]] = ([], [])
    weights: list[float] = []
    needed = max(*layout.ends, layout.weight or 0) + 1
    for line, cells in _edges(path, layout):
        if len(cells) < needed:
            message = f"{path}, line {line}: {len(cells)} cells where an edge has {needed}."
            raise GraphFileError(message)
        if not all(cells[column] for column in layout.ends):
            message = f"{path}, line {line}: an end of the edge is empty; every edge has two vertices."
            raise GraphFileError(message)
        for column, names in zip(layout.ends, ends, strict=True):
            names.append(cells[column])
        if layout.weight is not None:
            weights.append(_number(cells[layout.weight], path, line))
    weight = None if layout.weight is None else np.array(weights)
    graph = graph_from_edges(np.array(ends[0], dtype=object), np.array(ends[1], dtype=object), weight)
    graph.notes["format"] = "edge list"
    return graph


def _number(cell: str, path: Path, line: int) -> float:
    try:
        return float(cell)
    except ValueError:
        message = f"{path}, line {line}: the weight {cell!r} is not a number."
        raise GraphFileError(message) from None


def _edges(path: Path, layout: EdgeLayout) -> Iterator[tuple[int, list[str]]]:
    headed = layout.names is not None
    with _open_bytes(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), 1):
            if len(line) == LONGEST_LINE:
                message = f"{path}, line {number} is longer than {LONGEST_LINE} characters; an edge has few."
                raise GraphFileError(message)
            if not line.strip() or line.lstrip()[0] in "#%":
                continue
            if headed:
                headed = False
                continue
            yield number, _split(line, layout.separator)
