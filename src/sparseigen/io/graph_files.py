"""Graphs from files: edge lists as text, Matrix Market, NumPy and scipy archives, edge tables, GraphML.

Edge lists say in their first lines which column is what. Vertices that are names are read line by line, very many
vertices that are numbers a block of lines at a time.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.checks.graph_objects import check_graph, choose_weights
from sparseigen.checks.graphs import (
    FRAME_COLUMNS,
    WEIGHT,
    Graph,
    as_path,
    check_vertex_numbers,
    graph_from_edges,
    graph_from_matrix,
)
from sparseigen.checks.memory import check_fits
from sparseigen.checks.sparse import build_saved
from sparseigen.config import require
from sparseigen.errors import GraphFileError, one_of
from sparseigen.io.arrow import read_whole
from sparseigen.io.formats import (
    BY_ENDING,
    EDGES,
    OnProgress,
    count_bytes_read,
    ending_of,
    explain_damage,
    find_endings,
    find_reader,
    open_bytes,
)
from sparseigen.io.matrix_market import read_matrix
from sparseigen.io.npy import read_archive
from sparseigen.io.text import SEPARATORS, is_number, line_blocks, parse_numbers, text_rows

MOST_VERTICES = 2**31 - 1
VERTEX_BYTES = 64
"""Bytes that a vertex costs a search at least, for refusing graphs that cannot fit."""
NAMED_WEIGHTS = (EDGES, *(f"io.graph_files:{reader}" for reader in ("read_edges", "read_graphml", "read_gml")))
"""Readers of formats whose edges may have several numbers, each with a name."""
COMMENTS = "#%"
LONGEST_NAMED, LONGEST_LINE = 1 << 20, 1 << 26
"""Characters of a line of names, and of plain numbers: more is refused."""
PEEK = 1 << 20
"""Bytes in which the first two lines that are not comments must lie."""


def read_file(path: Any, on_progress: OnProgress | None = None, weight: str | None = WEIGHT) -> Graph:
    """Read a graph from one file into memory; ``weight`` as in `read_graph`."""
    file = as_path(path)
    if file is None:
        message = f"path={path!r} must be a path (str or os.PathLike)."
        raise GraphFileError(message)
    ending = ending_of(file)
    reader = find_reader(ending, "graph")
    if reader is None:
        message = f"{file}: the format {ending!r} is not known. Allowed: {one_of(find_endings('graph'))}."
        raise GraphFileError(message)
    if not file.is_file():
        message = f"{file} does not exist. Check the path."
        raise GraphFileError(message)
    named = [known for known, form in BY_ENDING.items() if form.graph in NAMED_WEIGHTS]
    if weight not in (None, WEIGHT) and ending not in named:
        message = f"weight={weight!r} is for edge lists ({one_of(named)}); {file.name} has weights of its own."
        raise GraphFileError(message, parameter="weight")
    with explain_damage(file.name, ending, GraphFileError):
        if ending in named:
            graph: Graph = reader(file, on_progress, weight)
        else:
            graph = choose_weights(reader(file, on_progress), weight, file.name)
    return graph


@dataclass(frozen=True)
class EdgeLayout:
    """Which columns of a text file are the ends and the weight."""

    names: tuple[str, ...] | None
    """The header, if there is one."""
    ends: tuple[int, int] = (0, 1)
    weight: int | None = None
    separator: str = " "
    """Between cells; a space is any white space."""
    labelled: bool = False
    """Whether vertices are names rather than numbers."""


def read_edge_list(path: Path, on_progress: OnProgress | None = None, weight: str | None = WEIGHT) -> Graph:
    """The graph of a text file with one edge per line; ``weight`` as in `read_graph`."""
    with explain_damage(path.name, "an edge list", GraphFileError):
        try:
            layout = find_layout(path, weight)
            if layout is not None and layout.labelled:
                graph = _read_names(path, layout)
            else:
                graph = _read_numbers(path, on_progress, layout, most=2 if weight is None else 3)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            message = f"{path}: {error}. The file is damaged; download it again."
            raise GraphFileError(message) from error
    graph.notes["format"] = "edge list"
    return graph


def find_layout(path: Path, weight: str | None) -> EdgeLayout | None:
    """How to read the file; None for plain numbers without a header, which need no help."""
    with open_bytes(path) as file:
        text = file.read(PEEK).decode("utf-8-sig", "replace")
    lines = [line for line in text.splitlines() if line.strip() and line.lstrip()[0] not in COMMENTS][:2]
    if not lines:
        return None
    separator = next((mark for mark in SEPARATORS if mark in lines[0]), " ")
    cells = [_split(line, separator) for line in lines]
    if _are_numbers(cells[0][:2]):
        if weight not in (None, WEIGHT):
            raise _not_a_column(weight, None, path)
        return None
    known = any(set(pair) <= {cell.lower() for cell in cells[0]} for pair in FRAME_COLUMNS)
    headed = known or (len(cells) > 1 and _are_numbers(cells[1][:2]))
    if len(cells) < 2:
        message = f"{path}: the only line is {lines[0][:60]!r}; an edge list needs edges, two ends per line."
        raise GraphFileError(message)
    names = tuple(cells[0]) if headed else None
    ends = _find_ends(names, len(cells[1]), path)
    chosen = _find_weight(names, len(cells[1]), ends, weight, path)
    return EdgeLayout(names, ends, chosen, separator, labelled=not _are_numbers([cells[1][j] for j in ends]))


def _split(line: str, separator: str) -> list[str]:
    cells = line.split() if separator == " " else next(csv.reader([line], delimiter=separator))
    return [cell.strip() for cell in cells]


def _are_numbers(cells: list[str]) -> bool:
    return bool(cells) and all(is_number(cell) for cell in cells)


def _find_ends(names: tuple[str, ...] | None, width: int, path: Path) -> tuple[int, int]:
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


def _find_weight(
    names: tuple[str, ...] | None, width: int, ends: tuple[int, int], wanted: str | None, path: Path
) -> int | None:
    if wanted is None:
        return None
    if names is not None and wanted in names:
        return names.index(wanted)
    if wanted != WEIGHT:
        raise _not_a_column(wanted, names, path)
    lower = [name.lower() for name in names or ()]
    if "weight" in lower:
        return lower.index("weight")
    rest = [j for j in range(width) if j not in ends]
    if len(rest) > 1:
        listed = ", ".join(map(repr, names)) if names is not None else f"{width} columns"
        message = f"{path} has {listed}: which of them is the weight? Name it ('weight')."
        raise GraphFileError(message, parameter="weight")
    return rest[0] if rest else None


def _not_a_column(weight: str | None, names: tuple[str, ...] | None, path: Path) -> GraphFileError:
    have = "no header" if names is None else "the columns " + ", ".join(map(repr, names))
    return GraphFileError(f"weight={weight!r} is not a column of {path}; it has {have}.", parameter="weight")


def _read_names(path: Path, layout: EdgeLayout) -> Graph:
    """A graph whose vertices are names; vertices are numbered in the order in which they occur."""
    ends: tuple[list[str], list[str]] = ([], [])
    weights: list[float] = []
    needed = max(*layout.ends, layout.weight or 0) + 1
    rows = text_rows(path, layout.separator, comments=COMMENTS, longest=LONGEST_NAMED)
    if layout.names is not None:
        next(rows, None)
    for line, row in rows:
        cells = [cell.strip() for cell in row]
        if len(cells) < needed:
            message = f"{path}, line {line}: {len(cells)} cells where an edge has {needed}."
            raise GraphFileError(message)
        if not all(cells[column] for column in layout.ends):
            message = f"{path}, line {line}: an end of the edge is empty; every edge has two vertices."
            raise GraphFileError(message)
        for column, names in zip(layout.ends, ends, strict=True):
            names.append(cells[column])
        if layout.weight is not None:
            if not is_number(cells[layout.weight]):
                message = f"{path}, line {line}: the weight {cells[layout.weight]!r} is not a number."
                raise GraphFileError(message)
            weights.append(float(cells[layout.weight]))
    weight = None if layout.weight is None else np.array(weights)
    return graph_from_edges(np.array(ends[0], dtype=object), np.array(ends[1], dtype=object), weight)


def _read_numbers(path: Path, on_progress: OnProgress | None, layout: EdgeLayout | None, most: int) -> Graph:
    """A graph whose vertices are numbers, from at most so many columns, a block of lines at a time."""
    parts: list[list[NDArray[Any]]] = [[], [], []]
    directed: bool | None = None
    widths: set[int] = set()
    for comments, block in _number_blocks(path, on_progress, layout):
        if "undirected" in comments:
            directed = False
        elif "directed graph" in comments:
            directed = True
        if block.size:
            widths.add(block.shape[1])
            for column in range(min(most, block.shape[1])):
                parts[column].append(_compact(block[:, column], path) if column < 2 else block[:, 2].copy())
    if len(widths) != 1 or widths - {2, 3}:
        message = f"{path}: lines have {sorted(widths) or 'no'} columns; an edge list has 2, or 3 with weights."
        raise GraphFileError(message)
    columns = []
    while parts and parts[0]:  # each column's blocks are let go as soon as they are joined
        columns.append(np.concatenate(parts.pop(0)))
    return graph_from_edges(*columns, directed=directed)


def _compact(numbers: NDArray[np.float64], path: Path) -> NDArray[Any]:
    """Vertex numbers of a block in four bytes each where they fit."""
    whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
    if not whole.all():
        message = f"{path}: {float(numbers[~whole][0])} is not a vertex number; the first two columns must be whole."
        raise GraphFileError(message)
    check_vertex_numbers(numbers, str(path))
    return numbers.astype(np.int32 if float(np.abs(numbers).max()) < 2.0**31 else np.int64)


def _number_blocks(
    path: Path, on_progress: OnProgress | None, layout: EdgeLayout | None
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Comments (lower case) and numbers of the file, a block of whole lines at a time; a header is skipped."""
    total = path.stat().st_size
    headed = layout is not None and layout.names is not None
    with open_bytes(path) as file:
        for number, text in enumerate(line_blocks(file, path, LONGEST_LINE)):
            comments, lines = _split_comments(text)
            if headed and lines:
                lines, headed = lines.partition(b"\n")[2].strip(), False
            try:
                block = _parse(lines, layout)
            except ValueError as error:
                message = f"{path}, block {number}: {error}. Vertices must be whole numbers, or names in every line."
                raise GraphFileError(message) from error
            yield comments, block
            if on_progress is not None:
                on_progress(count_bytes_read(file), total)


def _split_comments(lines: bytes) -> tuple[str, bytes]:
    comments = ""
    if b"#" in lines or b"%" in lines:
        kept = []
        for line in lines.splitlines():
            if line.lstrip()[:1] in (b"#", b"%"):
                comments += line.decode("utf-8", "replace").lower() + "\n"
            else:
                kept.append(line)
        lines = b"\n".join(kept)
    return comments, lines.strip()


def _parse(lines: bytes, layout: EdgeLayout | None) -> NDArray[np.float64]:
    if layout is None:
        lines = lines.replace(b",", b" ").replace(b";", b" ").strip()
    if not lines:
        return np.zeros((0, 2))
    if layout is None:
        return parse_numbers(lines)
    # Cells of other columns may be empty or hold spaces and separators: only this separator counts columns right.
    separator = None if layout.separator == " " else layout.separator
    columns = [*layout.ends, *([] if layout.weight is None else [layout.weight])]
    return parse_numbers(lines, usecols=columns, delimiter=separator, comments=None, quotechar='"')


def read_mtx(path: Path, on_progress: OnProgress | None) -> Graph:
    """The graph whose adjacency matrix is in a Matrix Market file."""
    matrix = read_matrix(path, column_bytes=VERTEX_BYTES, on_progress=on_progress)
    graph = graph_from_matrix(matrix if sp.issparse(matrix) else sp.csr_array(matrix))
    graph.notes["format"] = "matrix market"
    return graph


def read_npz(path: Path, on_progress: OnProgress | None) -> Graph:
    """The ends of all edges in arrays src and dst (weight, num_nodes), or a matrix saved by scipy."""
    arrays = read_archive(path)
    if {"src", "dst"} <= set(arrays):
        return _from_arrays(path.name, arrays)
    if not {"format", "shape"} <= set(arrays):
        message = f"{path}: holds {sorted(arrays)}; needed: src and dst, or a matrix saved by scipy.sparse.save_npz."
        raise GraphFileError(message)
    return graph_from_matrix(build_saved(arrays, path.name))


def _from_arrays(name: str, arrays: dict[str, NDArray[Any]]) -> Graph:
    source, target = arrays["src"], arrays["dst"]
    weight = arrays["weight"] if "weight" in arrays else np.ones(source.shape, dtype=np.int8)
    declared = arrays.get("num_nodes")
    whole = [column for column in (source, target, declared) if column is not None]
    if any(column.dtype.kind not in "iu" for column in whole) or (declared is not None and declared.size != 1):
        message = f"{name}: src, dst and num_nodes must be whole numbers, num_nodes a single one."
        raise GraphFileError(message)
    if source.ndim != 1 or not source.shape == target.shape == weight.shape or source.size == 0:
        message = f"{name}: src, dst and weight have the shapes {source.shape}, {target.shape}, {weight.shape}."
        raise GraphFileError(message + " They must be one-dimensional, equally long and not empty.")
    high = max(int(source.max()), int(target.max()))
    size = high + 1 if declared is None else int(declared.reshape(-1)[0])
    if min(int(source.min()), int(target.min())) < 0 or high >= min(size, MOST_VERTICES):
        message = f"{name}: src and dst must lie in 0..num_nodes-1 (num_nodes={size}, at most {MOST_VERTICES})."
        raise GraphFileError(message)
    check_fits(VERTEX_BYTES * size, f"{name}: a graph of {size} vertices")
    ends = (source.astype(np.int32), target.astype(np.int32))
    graph = graph_from_matrix(sp.coo_array((weight, ends), shape=(size, size)))
    graph.notes["format"] = "npz"
    return graph


def read_edges(path: Path, on_progress: OnProgress | None, weight: str | None = WEIGHT) -> Graph:
    """The edges in a parquet or Arrow table."""
    return check_graph(read_whole(path), weight)


def read_graphml(path: Path, on_progress: OnProgress | None, weight: str | None = WEIGHT) -> Graph:
    """A GraphML file, through networkx."""
    return check_graph(require("networkx", purpose="a GraphML file").read_graphml(path), weight)


def read_gml(path: Path, on_progress: OnProgress | None, weight: str | None = WEIGHT) -> Graph:
    """A GML file, through networkx; files without labels are read by the numbers of their vertices."""
    networkx = require("networkx", purpose="a GML file")
    try:
        found = networkx.read_gml(path)
    except networkx.NetworkXError as error:
        if "label" not in str(error):
            raise
        found = networkx.read_gml(path, label="id")
    return check_graph(found, weight)
