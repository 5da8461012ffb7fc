"""Graphs from files. A new format is one function ``(path, on_progress) -> Graph`` and one row in READERS."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_count
from sparseigen.checks.coercion import from_saved
from sparseigen.checks.graph_objects import check_graph
from sparseigen.checks.graphs import Graph, as_path, check_vertex_numbers, graph_from_edges, graph_from_matrix
from sparseigen.checks.memory import check_fits
from sparseigen.config import require
from sparseigen.errors import GraphFileError, OptionError, one_of
from sparseigen.graphs.cluster_graph import LARGEST_CORE, ClusterGraph
from sparseigen.io.columns import damaged
from sparseigen.io.matrix_market import read_matrix
from sparseigen.io.npy import read_archive
from sparseigen.io.text import EdgeLayout, edge_layout, read_labelled
from sparseigen.io.webgraph import OnProgress, read_webgraph
from sparseigen.rows.cluster import Cluster
from sparseigen.rows.partitions import edge_partitions, is_partitioned

BLOCK = 1 << 24
"""Bytes of text parsed at a time."""
LONGEST_LINE = 1 << 26
MOST_VERTICES = 2**31 - 1
VERTEX_BYTES = 64
"""Bytes that a vertex costs a search at least, for refusing graphs that cannot fit."""


def read_graph(
    path: Any,
    *,
    weight: str | None = None,
    on_progress: OnProgress | None = None,
    client: Any = None,
    columns: Sequence[str] | None = None,
    shards: int | None = None,
    largest_core: int = LARGEST_CORE,
) -> Graph | ClusterGraph:
    r"""Read a graph from a file, direction kept; the format follows from the name.

    ``.txt .tsv .csv .edges .el`` (also ``.gz``): edge lists, two or three columns, with or without a header line,
    vertices numbers or names; lines starting with # or % are comments (SNAP style); ``.mtx``: Matrix Market; ``.npz``:
    scipy's, or arrays src, dst (weight, num_nodes); ``.parquet .arrow .feather``: edge tables; ``.graphml``: through
    networkx; ``.graph`` with ``.properties``: LAW's WebGraph.

    Edges in partitions stay in partitions and are worked on by Dask: a folder or pattern of parquet files
    (``"edges/*.parquet"``), a list of such files, a dask dataframe, or a list of delayed objects or callables that
    give one partition each. Vertices must then be whole numbers. The graph is peeled on the cluster and only its
    dense core comes home; answers and bounds are those of the whole graph.

    Parameters
    ----------
    path : str or path, or edges in partitions
        The file or files.
    weight : str, optional
        The column with the weights, for an edge list with a header and more than three columns.
    on_progress : callable, optional
        Called as ``on_progress(done, total)`` while a large file is read (bytes of text, or nodes).
    client : dask.distributed.Client, optional
        The cluster; also makes Dask read a single parquet file. Without it partitions are read by dask's default
        scheduler.
    columns : sequence of two or three names, optional
        The columns of the partitions that hold the ends of an edge and its weight; found by name if not given.
    shards : int, optional
        Parts the graph is kept in on the cluster; by default one for each thread of the workers.
    largest_core : int
        The most entries (twice the edges) of a core that may come home, about 16 bytes each there.

    Returns
    -------
    Graph or ClusterGraph
        Accepted by `densest_k_subgraph`, `density_curve` and `disjoint_dense_subgraphs`.

    References
    ----------
    P. Boldi and S. Vigna, "The WebGraph framework I: compression techniques", WWW 2004.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sparseigen as se
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "triangle.txt"
    ...     _ = file.write_text("# a triangle\n0 1\n1 2\n2 0\n")
    ...     se.read_graph(file)
    Graph(3 vertices, 3 arcs, edge list)
    """
    if client is not None or is_partitioned(path):
        if weight is not None:
            message = f"weight={weight!r} is for edge lists in text; name the columns of partitions by columns=."
            raise OptionError(message, parameter="weight")
        if columns is not None and len(columns) not in (2, 3):
            message = f"columns={columns!r} must name two columns (the ends of an edge), or three with the weight."
            raise OptionError(message)
        return ClusterGraph(
            edge_partitions(path),
            Cluster(client),
            columns=columns,
            n_shards=None if shards is None else check_count(shards, "shards"),
            largest_core=check_count(largest_core, "largest_core"),
        )
    given = [name for name, value in (("columns", columns), ("shards", shards)) if value is not None]
    if given:
        message = f"{one_of(given)} is for edges in partitions (a folder, pattern or list); path={path!r} is one file."
        raise OptionError(message)
    return read_file(path, on_progress, weight)


def read_file(path: Any, on_progress: OnProgress | None = None, weight: str | None = None) -> Graph:
    """Read a graph from one file into memory."""
    file = as_path(path)
    if file is None:
        message = f"path={path!r} must be a path (str or os.PathLike)."
        raise GraphFileError(message)
    suffixes = [suffix.lower() for suffix in file.suffixes[-2:]]
    suffix = suffixes[0] if len(suffixes) == 2 and suffixes[1] == ".gz" else (suffixes or [""])[-1]
    if suffix not in READERS:
        message = f"{file}: the format {suffix!r} is not known. Allowed: {one_of(READERS)}."
        raise GraphFileError(message)
    if not file.is_file():
        message = f"{file} does not exist. Check the path."
        raise GraphFileError(message)
    if suffix in TEXT:
        return _read_text(file, on_progress, weight)
    if weight is not None:
        message = f"weight={weight!r} is for edge lists ({one_of(TEXT)}); {file.name} has weights of its own."
        raise GraphFileError(message, parameter="weight")
    with damaged(file.name, suffix, GraphFileError):
        return READERS[suffix](file, on_progress)


def _read_text(path: Path, on_progress: OnProgress | None, weight: str | None = None) -> Graph:
    with damaged(path.name, "an edge list", GraphFileError):
        layout = edge_layout(path, weight)
        if layout is not None and layout.labelled:
            return read_labelled(path, layout)
        return _read_numbers(path, on_progress, layout)


def _read_numbers(path: Path, on_progress: OnProgress | None, layout: EdgeLayout | None) -> Graph:
    parts: list[list[NDArray[Any]]] = [[], [], []]
    directed: bool | None = None
    widths: set[int] = set()
    for comments, block in _parsed_blocks(path, on_progress, layout):
        if "undirected" in comments:
            directed = False
        elif "directed graph" in comments:
            directed = True
        if block.size:
            widths.add(block.shape[1])
            for column in range(min(3, block.shape[1])):
                parts[column].append(_compact(block[:, column], path) if column < 2 else block[:, 2].copy())
    if len(widths) != 1 or widths - {2, 3}:
        message = f"{path}: lines have {sorted(widths) or 'no'} columns; an edge list has 2, or 3 with weights."
        raise GraphFileError(message)
    columns = []
    while parts and parts[0]:  # each column's blocks are let go as soon as they are joined
        columns.append(np.concatenate(parts.pop(0)))
    graph = graph_from_edges(*columns, directed=directed)
    graph.notes["format"] = "edge list"
    return graph


def _compact(numbers: NDArray[np.float64], path: Path) -> NDArray[Any]:
    """Vertex numbers of a block in four bytes each where they fit."""
    whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
    if not whole.all():
        message = f"{path}: {float(numbers[~whole][0])} is not a vertex number; the first two columns must be whole."
        raise GraphFileError(message)
    check_vertex_numbers(numbers, str(path))
    return numbers.astype(np.int32 if float(np.abs(numbers).max()) < 2.0**31 else np.int64)


def _parsed_blocks(
    path: Path, on_progress: OnProgress | None, layout: EdgeLayout | None
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Comments (lower case) and numbers of the file, a block of whole lines at a time; a header is skipped."""
    total = path.stat().st_size
    with path.open("rb") as raw:
        stream: Any = gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
        rest, number = b"", 0
        while True:
            text = _next_text(stream, path)
            lines = rest + text
            cut = len(lines) if not text else lines.rfind(b"\n") + 1
            rest = lines[cut:]
            if len(rest) > LONGEST_LINE:
                message = f"{path}, block {number}: a line of more than {LONGEST_LINE} bytes is no edge."
                raise GraphFileError(message)
            yield _parse(lines[:cut], path, number, layout)
            number += 1
            if on_progress is not None:
                on_progress(raw.tell(), total)
            if not text:
                return


def _next_text(stream: BinaryIO, path: Path) -> bytes:
    try:
        return stream.read(BLOCK)
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path}: {error}. The file is damaged; download it again."
        raise GraphFileError(message) from error


def _parse(lines: bytes, path: Path, block: int, layout: EdgeLayout | None) -> tuple[str, NDArray[np.float64]]:
    comments = ""
    if b"#" in lines or b"%" in lines:
        kept = []
        for line in lines.splitlines():
            if line.lstrip()[:1] in (b"#", b"%"):
                comments += line.decode("utf-8", "replace").lower() + "\n"
            else:
                kept.append(line)
        lines = b"\n".join(kept)
    lines = lines.strip()
    if block == 0 and layout is not None and layout.names is not None:
        lines = lines.partition(b"\n")[2].strip()
    if layout is None:
        lines = lines.replace(b",", b" ").replace(b";", b" ").strip()
    if not lines:
        return comments, np.zeros((0, 2))
    try:
        numbers = _numbers(lines, layout)
    except ValueError as error:
        message = f"{path}, block {block}: {error}. Vertices must be whole numbers; read text labels with pandas."
        raise GraphFileError(message) from error
    return comments, numbers


def _numbers(lines: bytes, layout: EdgeLayout | None) -> NDArray[np.float64]:
    if layout is None:
        return np.loadtxt(io.BytesIO(lines), ndmin=2)
    # Cells of other columns may be empty or hold spaces and separators: only this separator counts columns right.
    columns = [*layout.ends, *([] if layout.weight is None else [layout.weight])]
    return np.loadtxt(
        io.BytesIO(lines), ndmin=2, usecols=columns, delimiter=layout.separator, comments=None, quotechar='"'
    )


def _read_matrix_market(path: Path, on_progress: OnProgress | None) -> Graph:
    matrix = read_matrix(path, column_bytes=VERTEX_BYTES, on_progress=on_progress)
    graph = graph_from_matrix(matrix if sp.issparse(matrix) else sp.csr_array(matrix))
    graph.notes["format"] = "matrix market"
    return graph


def _read_npz(path: Path, on_progress: OnProgress | None) -> Graph:
    arrays = read_archive(path)
    if {"src", "dst"} <= set(arrays):
        return _from_arrays(path.name, arrays)
    if not {"format", "shape"} <= set(arrays):
        message = f"{path}: holds {sorted(arrays)}; needed: src and dst, or a matrix saved by scipy.sparse.save_npz."
        raise GraphFileError(message)
    return graph_from_matrix(from_saved(arrays, path.name))


def _from_arrays(name: str, arrays: dict[str, NDArray[Any]]) -> Graph:
    source, target = arrays["src"], arrays["dst"]
    weight = arrays["weight"] if "weight" in arrays else np.ones(source.shape, dtype=np.int8)
    given = arrays.get("num_nodes")
    whole = [column for column in (source, target, given) if column is not None]
    if any(column.dtype.kind not in "iu" for column in whole) or (given is not None and given.size != 1):
        message = f"{name}: src, dst and num_nodes must be whole numbers, num_nodes a single one."
        raise GraphFileError(message)
    if source.ndim != 1 or not source.shape == target.shape == weight.shape or source.size == 0:
        message = f"{name}: src, dst and weight have the shapes {source.shape}, {target.shape}, {weight.shape}."
        raise GraphFileError(message + " They must be one-dimensional, equally long and not empty.")
    high = max(int(source.max()), int(target.max()))
    size = high + 1 if given is None else int(given.reshape(-1)[0])
    if min(int(source.min()), int(target.min())) < 0 or high >= min(size, MOST_VERTICES):
        message = f"{name}: src and dst must lie in 0..num_nodes-1 (num_nodes={size}, at most {MOST_VERTICES})."
        raise GraphFileError(message)
    check_fits(VERTEX_BYTES * size, f"{name}: a graph of {size} vertices")
    ends = (source.astype(np.int32), target.astype(np.int32))
    graph = graph_from_matrix(sp.coo_array((weight, ends), shape=(size, size)))
    graph.notes["format"] = "npz"
    return graph


def _read_parquet(path: Path, on_progress: OnProgress | None) -> Graph:
    with require("pyarrow.parquet", purpose="a parquet file").ParquetFile(path) as file:
        check_fits(16 * file.metadata.num_rows * file.metadata.num_columns, path.name)
        return check_graph(file.read())


def _read_arrow(path: Path, on_progress: OnProgress | None) -> Graph:
    table = require("pyarrow.feather", purpose="an Arrow file").read_table(path)
    table.validate(full=True)  # what a damaged table points at may lie outside of it
    return check_graph(table)


def _read_graphml(path: Path, on_progress: OnProgress | None) -> Graph:
    networkx = require("networkx", purpose="a GraphML file")
    return check_graph(networkx.read_graphml(path))


READERS: dict[str, Callable[[Path, OnProgress | None], Graph]] = {
    ".txt": _read_text,
    ".tsv": _read_text,
    ".csv": _read_text,
    ".edges": _read_text,
    ".el": _read_text,
    ".mtx": _read_matrix_market,
    ".npz": _read_npz,
    ".parquet": _read_parquet,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
    ".graphml": _read_graphml,
    ".graph": read_webgraph,
}
"""File name suffix -> reader."""

TEXT = tuple(suffix for suffix, reader in READERS.items() if reader is _read_text)
"""Endings of edge lists as text."""
