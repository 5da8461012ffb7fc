"""Graphs from files: Matrix Market, NumPy and scipy archives, edge tables, GraphML; the ending says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.checks.graph_objects import check_graph
from sparseigen.checks.graphs import Graph, as_path, graph_from_matrix
from sparseigen.checks.memory import check_fits
from sparseigen.checks.sparse import build_saved
from sparseigen.config import require
from sparseigen.errors import GraphFileError, one_of
from sparseigen.io import formats
from sparseigen.io.arrow import read_whole
from sparseigen.io.formats import OnProgress
from sparseigen.io.matrix_market import read_matrix
from sparseigen.io.npy import read_archive

MOST_VERTICES = 2**31 - 1
VERTEX_BYTES = 64
"""Bytes that a vertex costs a search at least, for refusing graphs that cannot fit."""


def read_file(path: Any, on_progress: OnProgress | None = None, weight: str | None = None) -> Graph:
    """Read a graph from one file into memory; ``weight`` names a column of an edge list."""
    file = as_path(path)
    if file is None:
        message = f"path={path!r} must be a path (str or os.PathLike)."
        raise GraphFileError(message)
    ending = formats.ending_of(file)
    reader = formats.find_reader(ending, "graph")
    if reader is None:
        message = f"{file}: the format {ending!r} is not known. Allowed: {one_of(formats.find_endings('graph'))}."
        raise GraphFileError(message)
    if not file.is_file():
        message = f"{file} does not exist. Check the path."
        raise GraphFileError(message)
    lists = [known for known, form in formats.BY_ENDING.items() if form.graph == formats.EDGES]
    if weight is not None and ending not in lists:
        message = f"weight={weight!r} is for edge lists ({one_of(lists)}); {file.name} has weights of its own."
        raise GraphFileError(message)
    options = {"weight": weight} if ending in lists else {}
    with formats.damaged(file.name, ending, GraphFileError):
        graph: Graph = reader(file, on_progress, **options)
    return graph


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


def read_edges(path: Path, on_progress: OnProgress | None) -> Graph:
    """The edges in a parquet or Arrow table."""
    return check_graph(read_whole(path))


def read_graphml(path: Path, on_progress: OnProgress | None) -> Graph:
    """A GraphML file, through networkx."""
    return check_graph(require("networkx", purpose="a GraphML file").read_graphml(path))
