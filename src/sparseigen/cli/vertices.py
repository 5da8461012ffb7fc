"""A table of the vertices of a graph: their names, and where they are on the map."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparseigen.errors import InputError, ShapeError

LATITUDE, LONGITUDE = ("latitude", "lat"), ("longitude", "lon", "lng", "long")
NAMES = ("name", "city", "label", "title", "iata")


@dataclass(frozen=True)
class Places:
    """Vertex, as text, to its name and, if the table has them, to (latitude, longitude)."""

    names: dict[str, str]
    positions: dict[str, tuple[float, float]] | None

    def check(self, graph: Any) -> None:
        """Every vertex must be in the table: names of another graph would be wrong names."""
        missing = [node for node in _nodes(graph) if str(node) not in self.names]
        if missing:
            message = (
                f"vertex {missing[0]!r} is not in the vertex table ({len(missing)} of {graph.n_vertices} are not). "
                "Is it the table of this graph?"
            )
            raise InputError(message)

    def positions_of(self, graph: Any) -> dict[Any, tuple[float, float]] | None:
        """Places of all vertices by the graph's own labels."""
        return None if self.positions is None else {node: self.positions[str(node)] for node in _nodes(graph)}


def _nodes(graph: Any) -> list[Any]:
    return [graph.label(i) for i in range(graph.n_vertices)]


def read_places(path: Path) -> Places:
    """The first column is the vertex; one called name, city, label, ... is its name."""
    from sparseigen.io.text import read_cells

    header, rows = read_cells(path)
    if header is None or len(header) < 2:
        message = f"{path.name} needs a header line and at least two columns: the vertex and its name."
        raise ShapeError(message)
    lower = [cell.strip().lower() for cell in header]
    name = _first(lower, NAMES)
    across, along = _first(lower, LATITUDE), _first(lower, LONGITUDE)
    names = {row[0]: row[1 if name is None else name] for row in rows}
    if across is None or along is None:
        return Places(names, None)
    return Places(names, {row[0]: (_degrees(row[across], path), _degrees(row[along], path)) for row in rows})


def _first(cells: list[str], wanted: Iterable[str]) -> int | None:
    return next((cells.index(name) for name in wanted if name in cells), None)


def _degrees(cell: str, path: Path) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = float("nan")
    if not -360.0 <= number <= 360.0:
        message = f"{path.name}: {cell!r} is not a latitude or longitude in degrees."
        raise InputError(message)
    return number
