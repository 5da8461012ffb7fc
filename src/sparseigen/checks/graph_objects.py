"""Graphs of other packages, frames and arrays, as one checked matrix with labels."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.checks.coercion import plain_array
from sparseigen.checks.graphs import (
    WEIGHT,
    Graph,
    check_coo,
    edge_columns,
    graph_from_edges,
    graph_from_matrix,
    plain_weights,
)
from sparseigen.errors import DtypeError, DuplicateNamesError, IntegerOverflowError, OptionError, ShapeError

FORMS = (
    "give edges (m x 2, or m x 3 with weights), a square adjacency matrix (scipy sparse, or dense with at least 4 "
    "vertices), a networkx, igraph or rustworkx graph, an edge frame, or a path."
)


def check_graph(graph: Any, weight: str | None = WEIGHT) -> Graph:
    """A checked graph from anything but a path.

    ``weight`` names the edge attribute or column that holds the weights; with None every edge counts 1. Numeric
    attributes that could be weights and are not used are listed in ``notes["unused_attributes"]``.
    """
    if isinstance(graph, Graph):
        return choose_weights(graph, weight, "a graph from read_graph")
    module = type(graph).__module__.split(".")[0]
    if module in _PACKAGES:
        return _PACKAGES[module](graph, weight)
    if sp.issparse(graph):
        return choose_weights(graph_from_matrix(graph), weight, "a matrix")
    if hasattr(graph, "is_directed") and hasattr(graph, "nodes") and not isinstance(graph, type):
        return _from_networkx(graph, weight)  # subclasses of networkx graphs
    if isinstance(graph, tuple) and len(graph) in (2, 3) and all(np.ndim(part) == 1 for part in graph):
        columns = [plain_array(part, "a column of the edge list") for part in graph]
        arrays = all(isinstance(part, np.ndarray) for part in graph)  # columns, however few edges there are
        if len({len(column) for column in columns}) > 1 or (len(columns[0]) <= 3 and not arrays):
            return _from_array(plain_array(graph, "the graph"), weight)
        return _from_columns(columns, weight)
    return _from_array(plain_array(graph, "the graph"), weight)


def choose_weights(graph: Graph, weight: str | None, subject: str) -> Graph:
    """A graph whose weights have no name, with these or with none; another name is refused."""
    if weight in (None, WEIGHT):
        return graph.unweighted() if weight is None else graph
    message = (
        f"weight={weight!r} names an edge attribute or column; {subject} has one weight per edge, without a name. "
        "Leave weight= out to use it, or pass weight=None to count every edge once."
    )
    raise OptionError(message, parameter="weight")


def _from_columns(columns: list[NDArray[Any]], weight: str | None) -> Graph:
    if weight is None:
        return graph_from_edges(*columns[:2])
    return choose_weights(graph_from_edges(*columns), weight, "an edge array")


def _from_array(values: NDArray[Any], weight: str | None) -> Graph:
    if values.ndim == 2 and values.shape[1] in (2, 3):
        _check_no_adjacency(values)
        return _from_columns([np.ascontiguousarray(values[:, i]) for i in range(values.shape[1])], weight)
    if values.ndim == 2 and values.shape[0] == values.shape[1] and values.dtype.kind in "fiub":
        return choose_weights(graph_from_matrix(sp.csr_array(plain_weights(values))), weight, "a matrix")
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


def _from_networkx(graph: Any, weight: str | None) -> Graph:
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
    if weight is None and not graph.is_multigraph():
        return _from_adjacency(graph, labels, position)
    edges = list(graph.edges(data=True))
    ends = np.array([(position[u], position[v]) for u, v, _ in edges], dtype=np.int32)
    unused: list[str] = []
    if weight is None or not any(weight in attributes for _, _, attributes in edges):
        unused = _check_named(weight, _numeric_attributes(edges) if weight is not None else [])
        weights = np.ones(len(edges), dtype=np.int64)
    else:
        weights = _read_weights([(u, v, attributes.get(weight, 1)) for u, v, attributes in edges], weight)
    checked = _from_ends(ends, weights, len(labels), labels, directed)
    if graph.is_multigraph():
        checked.notes["duplicate_edges"] = "parallel edges summed"
    return _note_unused(checked, unused)


def _from_adjacency(graph: Any, labels: list[Any], position: dict[Any, int]) -> Graph:
    """A graph of networkx without its weights, from the neighbours of every vertex: half the time of its edges."""
    rows = [[position[neighbour] for neighbour in neighbours] for _, neighbours in graph.adjacency()]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.fromiter((place for row in rows for place in row), dtype=np.int32, count=int(starts[-1]))
    matrix = sp.csr_array((np.ones(len(columns), dtype=np.int32), columns, starts), shape=(len(rows), len(rows)))
    matrix.sort_indices()
    return graph_from_matrix(matrix, labels=labels, directed=bool(graph.is_directed()))


def _numeric_attributes(edges: Iterable[tuple[Any, Any, dict[Any, Any]]]) -> list[str]:
    """The attributes that are a number on some edge, in the order in which they are met."""
    found: dict[str, None] = {}
    for _, _, attributes in edges:
        for name, value in attributes.items():
            if str(name) not in found and _is_number(value):
                found[str(name)] = None
    return list(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _check_named(weight: str | None, numeric: list[str]) -> list[str]:
    """Where no edge has the weight asked for: refuse a name the caller chose, else give back what could be meant."""
    if weight in (None, WEIGHT):
        return numeric
    known = f"numeric attributes are {', '.join(map(repr, numeric))}" if numeric else "no attribute is numeric"
    message = f"weight={weight!r} is an attribute of no edge; {known}. Pass weight=None to count every edge once."
    raise OptionError(message, parameter="weight")


def _note_unused(graph: Graph, unused: list[str]) -> Graph:
    if unused:
        graph.notes["unused_attributes"] = unused
    return graph


def _read_weights(edges: list[tuple[Any, Any, Any]], name: str) -> NDArray[Any]:
    """The weights of the edges (u, v, weight), every one of them a number that is kept as it is."""
    weights = [weight for _, _, weight in edges]
    kinds = set(map(type, weights))
    if not kinds <= {int, float}:
        weights = [_read_weight(*edge, name) for edge in edges]
        kinds = set(map(type, weights))
    if kinds != {int}:
        weights = [_as_float(*edge[:2], weight) for edge, weight in zip(edges, weights, strict=True)]
        return np.array(weights, dtype=np.float64)
    largest = max(weights, key=abs)
    if abs(largest) >= 2**62:
        message = f"an edge has the weight {largest}, beyond 2^62; divide the weights by a common factor."
        raise IntegerOverflowError(message)
    return np.array(weights, dtype=np.int64)


def _read_weight(u: Any, v: Any, weight: Any, name: str) -> Any:
    if weight is None:
        return float("nan")  # refused with the other gaps
    if isinstance(weight, np.bool_):
        return int(weight)
    if isinstance(weight, numbers.Integral):
        return int(weight)
    if isinstance(weight, numbers.Real) or type(weight).__name__ == "Decimal":
        return weight
    message = f"edge ({u!r}, {v!r}) has the weight {weight!r}; the edge attribute {name!r} must be a number."
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


def _from_igraph(graph: Any, weight: str | None) -> Graph:
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    names, unused = graph.es.attributes(), []
    if weight in names:
        weights = plain_weights(graph.es[weight])
    else:
        unused = _check_named(weight, [name for name in names if weight and any(map(_is_number, graph.es[name]))])
        weights = np.ones(len(ends), dtype=np.int32)
    labels = list(graph.vs["name"]) if "name" in graph.vs.attributes() else None
    return _note_unused(_from_ends(ends, weights, graph.vcount(), labels, bool(graph.is_directed())), unused)


def _from_rustworkx(graph: Any, weight: str | None) -> Graph:
    """A graph of rustworkx: an edge holds a number, or a mapping in which the weight has a name."""
    indices, payloads = list(graph.node_indices()), list(graph.nodes())
    plain = all(payload is None for payload in payloads) or not _can_label(payloads)
    labels: list[Any] = indices if plain else payloads
    position = {index: place for place, index in enumerate(indices)}
    directed = type(graph).__name__ == "PyDiGraph"
    edges = [(u, v, payload) for u, v, payload in graph.weighted_edge_list()]
    if not edges:
        return Graph(sp.csr_array((len(labels), len(labels)), dtype=np.int64), labels, directed, {})
    ends = np.array([(position[u], position[v]) for u, v, _ in edges], dtype=np.int64)
    mappings = [(u, v, payload if isinstance(payload, dict) else {}) for u, v, payload in edges]
    unused: list[str] = []
    if weight == WEIGHT and all(_is_number(payload) for _, _, payload in edges):
        weights = _read_weights(edges, WEIGHT)
    elif weight is not None and any(weight in payload for _, _, payload in mappings):
        weights = _read_weights([(u, v, payload.get(weight, 1)) for u, v, payload in mappings], weight)
    else:
        unused = _check_named(weight, _numeric_attributes(mappings) if weight is not None else [])
        weights = np.ones(len(ends), dtype=np.int32)
    return _note_unused(_from_ends(ends, weights, len(labels), labels, directed), unused)


def _can_label(payloads: list[Any]) -> bool:
    """Whether what the vertices hold tells them apart."""
    try:
        return len(set(payloads)) == len(payloads)
    except TypeError:
        return False


def _from_frame(frame: Any, weight: str | None) -> Graph:
    if hasattr(frame, "to_pandas") and type(frame).__module__.startswith("pyarrow"):
        frame = frame.to_pandas()
    if not hasattr(frame, "columns") or type(frame).__name__ == "LazyFrame":
        message = f"the graph is a {type(frame).__name__} of {type(frame).__module__.split('.')[0]}; {FORMS}"
        raise ShapeError(message)
    names = [str(name) for name in frame.columns]
    wanted = edge_columns(names, weight)
    if len(wanted) < 2:
        message = f"the edge frame has columns {names}; it needs two for the ends of an edge."
        raise ShapeError(message)
    repeated = [name for name in wanted if names.count(name) > 1]
    if repeated:
        message = f"the edge frame has {names.count(repeated[0])} columns {repeated[0]!r}; rename the columns."
        raise DuplicateNamesError(message)
    _check_no_adjacency_frame(frame, names)
    unused: list[str] = []
    if weight is not None and (len(wanted) == 2 or weight not in (WEIGHT, wanted[2])):
        rest = [name for name in names if name not in wanted[:2]]
        unused = _check_named(weight, [name for name in rest if _is_numeric(frame[frame.columns[names.index(name)]])])
    graph = graph_from_edges(*(_read_column(frame, names.index(name), name) for name in wanted))
    return _note_unused(graph, unused)


def _is_numeric(column: Any) -> bool:
    return str(getattr(column, "dtype", "")).lower().startswith(("int", "uint", "float"))


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


_PACKAGES: dict[str, Callable[[Any, str | None], Graph]] = {
    "networkx": _from_networkx,
    "igraph": _from_igraph,
    "rustworkx": _from_rustworkx,
    "pandas": _from_frame,
    "polars": _from_frame,
    "pyarrow": _from_frame,
}
