"""Graphs of other packages, frames and arrays, as one checked matrix with labels."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.checks.coercion import plain_array
from sparseigen.checks.graphs import Graph, check_coo, edge_columns, graph_from_edges, graph_from_matrix, plain_weights
from sparseigen.errors import DtypeError, DuplicateNamesError, IntegerOverflowError, ShapeError

FORMS = (
    "give edges (m x 2, or m x 3 with weights), a square adjacency matrix (scipy sparse, or dense with at least 4 "
    "vertices), a networkx or igraph graph, an edge frame, or a path."
)


def check_graph(graph: Any) -> Graph:
    """A checked graph from anything but a path."""
    if isinstance(graph, Graph):
        return graph
    module = type(graph).__module__.split(".")[0]
    if module in _PACKAGES:
        return _PACKAGES[module](graph)
    if sp.issparse(graph):
        return graph_from_matrix(graph)
    if hasattr(graph, "is_directed") and hasattr(graph, "nodes") and not isinstance(graph, type):
        return _from_networkx(graph)  # subclasses of networkx graphs
    if isinstance(graph, tuple) and len(graph) in (2, 3) and all(np.ndim(part) == 1 for part in graph):
        columns = [plain_array(part, "a column of the edge list") for part in graph]
        arrays = all(isinstance(part, np.ndarray) for part in graph)  # columns, however few edges there are
        if len({len(column) for column in columns}) > 1 or (len(columns[0]) <= 3 and not arrays):
            return _from_array(plain_array(graph, "the graph"))
        return graph_from_edges(*columns)
    return _from_array(plain_array(graph, "the graph"))


def _from_array(values: NDArray[Any]) -> Graph:
    if values.ndim == 2 and values.shape[1] in (2, 3):
        _check_no_adjacency(values)
        return graph_from_edges(*(np.ascontiguousarray(values[:, i]) for i in range(values.shape[1])))
    if values.ndim == 2 and values.shape[0] == values.shape[1] and values.dtype.kind in "fiub":
        return graph_from_matrix(sp.csr_array(plain_weights(values)))
    message = f"the graph is an array of shape {values.shape} and dtype {values.dtype}; {FORMS}"
    raise ShapeError(message)


def _check_no_adjacency(values: NDArray[Any]) -> None:
    """Two or three rows that look like an adjacency matrix are hardly edges; either reading would be a guess."""
    if values.shape[0] == values.shape[1] and not values.diagonal().any() and np.array_equal(values, values.T):
        message = (
            f"the graph is a symmetric array of shape {values.shape} with a diagonal of zeros: an adjacency matrix or "
            f"{len(values)} edges? Pass scipy.sparse.csr_array(values) for a matrix, the columns of the edges "
            "(source, target, weight) as a tuple of arrays for edges."
        )
        raise ShapeError(message)


def _from_networkx(graph: Any) -> Graph:
    if isinstance(graph, type) or not hasattr(graph, "edges"):
        message = f"the graph is {graph!r}; {FORMS}"
        raise ShapeError(message)
    labels, directed = list(graph), bool(graph.is_directed())
    if not labels:
        msg = "the graph has no vertices; at least one is needed."
        raise ShapeError(msg)
    if graph.number_of_edges() == 0:
        return Graph(sp.csr_array((len(labels), len(labels)), dtype=np.int64), labels, directed, {})
    position = {node: i for i, node in enumerate(labels)}
    edges = list(graph.edges(data="weight", default=1))
    ends = np.array([(position[u], position[v]) for u, v, _ in edges], dtype=np.int32)
    checked = _from_ends(ends, _read_weights(edges), len(labels), labels, directed)
    if graph.is_multigraph():
        checked.notes["duplicate_edges"] = "parallel edges summed"
    return checked


def _read_weights(edges: list[tuple[Any, Any, Any]]) -> NDArray[Any]:
    """The weights of the edges (u, v, weight), every one of them a number that is kept as it is."""
    weights = [weight for _, _, weight in edges]
    kinds = set(map(type, weights))
    if not kinds <= {int, float}:
        weights = [_read_weight(*edge) for edge in edges]
        kinds = set(map(type, weights))
    if kinds != {int}:
        weights = [_as_float(*edge[:2], weight) for edge, weight in zip(edges, weights, strict=True)]
        return np.array(weights, dtype=np.float64)
    largest = max(weights, key=abs)
    if abs(largest) >= 2**62:
        message = f"an edge has the weight {largest}, beyond 2^62; divide the weights by a common factor."
        raise IntegerOverflowError(message)
    return np.array(weights, dtype=np.int64)


def _read_weight(u: Any, v: Any, weight: Any) -> Any:
    if weight is None:
        return float("nan")  # refused with the other gaps
    if isinstance(weight, np.bool_):
        return int(weight)
    if isinstance(weight, numbers.Integral):
        return int(weight)
    if isinstance(weight, numbers.Real) or type(weight).__name__ == "Decimal":
        return weight
    message = f"edge ({u!r}, {v!r}) has the weight {weight!r}; the edge attribute 'weight' must be a number."
    raise DtypeError(message)


def _as_float(u: Any, v: Any, weight: Any) -> float:
    try:
        number = float(weight)
    except OverflowError:
        number = float("inf")
    if number == weight or weight != weight:
        return number
    message = (
        f"edge ({u!r}, {v!r}) has the weight {weight!r}, which has no exact float64 value, and certificates are about "
        "the exact numbers. Pass float(weight) if the rounded one is what you mean."
    )
    raise DtypeError(message)


def _from_ends(ends: NDArray[Any], weights: NDArray[Any], size: int, labels: list[Any] | None, directed: bool) -> Graph:
    """A graph from the numbers of the ends; an undirected edge that is no loop has two entries."""
    if not directed:
        plain = ends[:, 0] != ends[:, 1]
        ends, weights = np.vstack([ends, ends[plain][:, ::-1]]), np.concatenate([weights, weights[plain]])
    matrix = sp.coo_array((weights, (ends[:, 0], ends[:, 1])), shape=(size, size))
    check_coo(matrix, labels)
    return graph_from_matrix(matrix, labels=labels, directed=directed)


def _from_igraph(graph: Any) -> Graph:
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weights = plain_weights(graph.es["weight"]) if graph.is_weighted() else np.ones(len(ends), dtype=np.int32)
    labels = list(graph.vs["name"]) if "name" in graph.vs.attributes() else None
    return _from_ends(ends, weights, graph.vcount(), labels, bool(graph.is_directed()))


def _from_frame(frame: Any) -> Graph:
    if hasattr(frame, "to_pandas") and type(frame).__module__.startswith("pyarrow"):
        frame = frame.to_pandas()
    if not hasattr(frame, "columns") or type(frame).__name__ == "LazyFrame":
        message = f"the graph is a {type(frame).__name__} of {type(frame).__module__.split('.')[0]}; {FORMS}"
        raise ShapeError(message)
    names = [str(name) for name in frame.columns]
    wanted = edge_columns(names)
    if len(wanted) < 2:
        message = f"the edge frame has columns {names}; it needs two for the ends of an edge."
        raise ShapeError(message)
    repeated = [name for name in wanted if names.count(name) > 1]
    if repeated:
        message = f"the edge frame has {names.count(repeated[0])} columns {repeated[0]!r}; rename the columns."
        raise DuplicateNamesError(message)
    _check_no_adjacency_frame(frame, names)
    return graph_from_edges(*(_read_column(frame, names.index(name), name) for name in wanted))


def _read_column(frame: Any, place: int, name: str) -> NDArray[Any]:
    column = frame[frame.columns[place]]
    if str(column.dtype) in ("Int128", "UInt128"):
        message = f"the column {name!r} holds integers of 128 bits; number the vertices first."
        raise DtypeError(message)
    return np.asarray(column)


def _check_no_adjacency_frame(frame: Any, names: list[str]) -> None:
    """A square frame whose rows are named like its columns is a matrix: its first columns are no ends of edges."""
    index = getattr(frame, "index", None)
    if index is None or len(frame) != len(names) or sorted(str(name) for name in index) != sorted(names):
        return
    if len(names) > 3 or names != [str(i) for i in range(len(names))]:
        message = (
            f"the frame has the same {len(names)} names for rows and columns: an adjacency matrix, where a frame of "
            "edges is wanted. Pass scipy.sparse.csr_array(frame.to_numpy()) for the matrix."
        )
        raise ShapeError(message)


_PACKAGES: dict[str, Callable[[Any], Graph]] = {
    "networkx": _from_networkx,
    "igraph": _from_igraph,
    "pandas": _from_frame,
    "polars": _from_frame,
    "pyarrow": _from_frame,
}
