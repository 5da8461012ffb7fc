"""What is read: tables, graphs, names of variables and vertices, from files or standard input."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparseigen.cli.commands import bad_usage, one_line
from sparseigen.cli.options import GraphReading, Reading
from sparseigen.errors import (
    ConstantColumnWarning,
    InputError,
    NonFiniteError,
    NotSymmetricError,
    ShapeError,
    TooFewSamplesError,
    one_of,
)

MAGIC = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"%%Matrix": "mtx",
    b"PAR1": "parquet",
    b"\x89HDF": "h5ad",
    b"<?xml": "graphml",
}
"""How files begin -> their format, for standard input."""
BLOCK = 1 << 20
LATITUDE, LONGITUDE = ("latitude", "lat"), ("longitude", "lon", "lng", "long")
VERTEX_NAMES = ("name", "city", "label", "title", "iata")
"""Headers of the columns that a table of vertices may have."""


@dataclass
class Loaded:
    """A table and the operator that stands for its covariance."""

    source: str
    table: Any
    operator: Any
    is_covariance: bool
    label: str | None = None
    """What the groups of the samples are: the column that --label names."""

    def facts(self) -> dict[str, Any]:
        """What was read, for result.json and the report."""
        rows, columns = self.table.values.shape
        kind = "covariance" if self.is_covariance else "data"
        return {"file": self.source, "kind": kind, "rows": rows, "columns": columns, "notes": list(self.table.notes)}

    def title(self) -> str:
        """One line about the data."""
        rows, columns = self.table.values.shape
        subject = f"{columns} variables (covariance)" if self.is_covariance else f"{rows} samples x {columns} variables"
        notes = "".join(f"; {text}" for text in self.table.notes)
        return f"{self.source}: {subject}{notes}"

    def scores(self, vectors: list[Any]) -> Any:
        """The centred (and scaled) data times the loadings; None for a covariance matrix."""
        import numpy as np

        if self.is_covariance:
            return None
        weights = np.column_stack(vectors) / self.operator.deviations[:, None]
        return np.asarray(self.table.values @ weights) - self.operator.means @ weights


def load(data: str, reading: Reading) -> Loaded:
    """Read the data and check them."""
    from sparseigen.io.tables import read_table
    from sparseigen.operators import as_operator
    from sparseigen.operators import covariance as covariance_of

    if reading.covariance and reading.scale:
        message = "--scale is for data; a --covariance matrix is taken as it is."
        raise bad_usage(message)
    with local_file(data, reading.format) as (path, kind):
        table = read_table(
            path,
            kind=kind,
            header=reading.header,
            index=reading.index,
            label=reading.label,
            drop_text=reading.drop_text,
            array=reading.array,
            missing=reading.missing,
        )
    if reading.transpose:
        table = table.transpose()
    if not reading.covariance and table.names is not None and table.names == table.row_labels:
        table = replace(table, notes=(*table.notes, "rows and columns have the same names: a --covariance matrix?"))
    if reading.names is not None:
        table = table.with_names(read_names(reading.names, table.values.shape[1]))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConstantColumnWarning)
            operator = as_operator(table) if reading.covariance else covariance_of(table, scale=reading.scale)
    except NonFiniteError as error:
        error.parameter = "missing"  # a way out that the library's own argument does not have
        raise
    except (NotSymmetricError, ShapeError, TooFewSamplesError) as error:
        error.parameter = "covariance"
        raise
    for warning in caught:
        if issubclass(warning.category, ConstantColumnWarning):
            table = replace(table, notes=(*table.notes, str(warning.message).rstrip(".")))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    source = "standard input" if data == "-" else one_line(Path(data).name)
    return Loaded(source, table, operator, reading.covariance, reading.label)


@contextmanager
def local_file(data: str, kind: str | None) -> Iterator[tuple[Path, str | None]]:
    """The path and, where the name does not say it, the format; standard input is copied to a temporary file."""
    if data != "-":
        yield Path(data), kind
        return
    if sys.stdin.isatty():
        message = "'-' reads standard input, which is a terminal; pipe a file into it or name one."
        raise bad_usage(message)
    import tempfile

    stream = sys.stdin.buffer
    first = stream.read(BLOCK)
    kind = kind or next((name for magic, name in MAGIC.items() if first.startswith(magic)), "csv")
    packed = ".gz" if first.startswith(b"\x1f\x8b") else ""
    # Read from inside its folder the copy is "standard input.csv" in errors: its path means nothing to the user.
    with tempfile.TemporaryDirectory(prefix="sparseigen-") as folder, chdir(folder):
        path = Path(f"standard input.{kind}{packed}")
        with path.open("wb") as file:
            while first:
                file.write(first)
                first = stream.read(BLOCK)
        yield path, kind


def read_names(text: str, count: int) -> tuple[str, ...]:
    """Names from FILE or FILE:COLUMN, one per line; with one column that is text, that one."""
    from sparseigen.io.text import read_cells

    name, _, column = text.rpartition(":")
    if not name or Path(text).is_file():
        name, column = text, ""
    header, rows = read_cells(Path(name))
    if column and (header is None or column not in header):
        message = (
            f"--names: {column!r} is not a column of {name}; it has {', '.join(map(repr, header or ['no header']))}."
        )
        raise bad_usage(message)
    if column and header is not None:
        position = header.index(column)
    else:
        texts = [j for j, cell in enumerate(rows[0]) if not _is_number(cell)] if rows else []
        position = texts[0] if len(texts) == 1 else 0
        if len(texts) > 1:
            message = f"--names {name} has {len(texts)} columns of text; say which: {name}:COLUMN."
            raise bad_usage(message)
    names = tuple(row[position] for row in rows)
    if len(names) != count:
        message = f"{name} has {len(names)} names for {count} variables; there must be one for each."
        raise ShapeError(message, parameter="names")
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Places:
    """Vertex, as text, to its name and, if the table has them, to (latitude, longitude)."""

    names: dict[str, str]
    positions: dict[str, tuple[float, float]] | None

    def check(self, graph: Any) -> None:
        """Every vertex must be in the table: names of another graph would be wrong names."""
        missing = [node for node in _list_vertices(graph) if str(node) not in self.names]
        if missing:
            message = (
                f"vertex {missing[0]!r} is not in the vertex table ({len(missing)} of {graph.n_vertices} are not). "
                "Is it the table of this graph?"
            )
            raise InputError(message, parameter="vertices")

    def positions_of(self, graph: Any) -> dict[Any, tuple[float, float]] | None:
        """Places of all vertices by the graph's own labels."""
        return None if self.positions is None else {node: self.positions[str(node)] for node in _list_vertices(graph)}


def _list_vertices(graph: Any) -> list[Any]:
    return [graph.label(i) for i in range(graph.n_vertices)]


def read_places(path: Path) -> Places:
    """The first column is the vertex; one called name, city, label, ... is its name."""
    from sparseigen.io.text import read_cells

    header, rows = read_cells(path)
    if header is None or len(header) < 2:
        message = f"{path.name} needs a header line and at least two columns: the vertex and its name."
        raise ShapeError(message, parameter="vertices")
    lower = [cell.strip().lower() for cell in header]
    name = _find_column(lower, VERTEX_NAMES)
    across, along = _find_column(lower, LATITUDE), _find_column(lower, LONGITUDE)
    names = {row[0]: row[1 if name is None else name] for row in rows}
    if across is None or along is None:
        return Places(names, None)
    return Places(names, {row[0]: (_read_degrees(row[across], path), _read_degrees(row[along], path)) for row in rows})


def _find_column(cells: list[str], wanted: Iterable[str]) -> int | None:
    return next((cells.index(name) for name in wanted if name in cells), None)


def _read_degrees(cell: str, path: Path) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = float("nan")
    if not -360.0 <= number <= 360.0:
        message = f"{path.name}: {cell!r} is not a latitude or longitude in degrees."
        raise InputError(message, parameter="vertices")
    return number


@dataclass
class LoadedGraph:
    """A graph and what is known of its vertices."""

    source: str
    graph: Any
    places: Places | None

    def facts(self) -> dict[str, Any]:
        """What was read, for result.json and the report."""
        notes = {key: str(value) for key, value in self.graph.notes.items()}
        return {"file": self.source, "vertices": self.graph.n_vertices, "arcs": int(self.graph.matrix.nnz), **notes}

    def title(self) -> str:
        """One line about the graph."""
        return f"{self.source}: {self.graph.n_vertices} vertices, {self.graph.matrix.nnz} arcs"

    def note_unused(self) -> list[str]:
        """A line for people where edges carry numbers that are not used as weights."""
        unused = self.graph.notes.get("unused_attributes")
        if not unused:
            return []
        listed = ", ".join(map(repr, unused))
        return [f"every edge counts 1: the numbers of the edges are not used ({listed}); --weight {unused[0]} uses one"]

    def name(self, node: Any) -> str:
        """How to show a vertex."""
        return str(node) if self.places is None else self.places.names.get(str(node), str(node))


def load_graph(graph: str, reading: GraphReading, on_progress: Callable[[int, int], None]) -> LoadedGraph:
    """Read the graph and what is known of its vertices."""
    from sparseigen.checks.graphs import WEIGHT
    from sparseigen.graphs import read_graph
    from sparseigen.io.formats import find_endings

    if reading.format is not None and graph != "-":
        message = "--format is for standard input; the name of a file says its format."
        raise bad_usage(message)
    endings = find_endings("graph")
    if reading.format is not None and f".{reading.format}" not in endings:
        message = f"--format {reading.format!r} is not known. Allowed: {one_of(ending[1:] for ending in endings)}."
        raise bad_usage(message)
    places = None if reading.vertices is None else read_places(reading.vertices)
    with local_file(graph, reading.format) as (path, _):
        found = read_graph(path, weight=WEIGHT if reading.weight is None else reading.weight, on_progress=on_progress)
    if places is not None:
        places.check(found)
    return LoadedGraph("standard input" if graph == "-" else one_line(Path(graph).name), found, places)
