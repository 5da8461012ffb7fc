"""Graphs: matrices and edges become one checked matrix with labels; vertices and weights are checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.checks.arguments import as_file_path
from sparseigen.checks.coercion import LARGEST_EXACT_INTEGER, convert_numbers, plain_array
from sparseigen.checks.sparse import check_sparse
from sparseigen.errors import (
    DtypeError,
    InputError,
    IntegerOverflowError,
    NegativeWeightError,
    NodeError,
    NonFiniteError,
    OptionError,
    ShapeError,
)

FINEST_SUMMED = 10
"""Repeated weights that are multiples of 2^-FINEST_SUMMED are summed without rounding, where they are not too many."""

MISSING = ("NAType", "NaTType", "MaskedConstant")
"""Types of values that stand for none."""

WEIGHT = "weight"
"""The attribute or column that holds the weights unless the caller names another."""

FRAME_COLUMNS = (("source", "target"), ("from", "to"), ("src", "dst"))
"""Names of the columns of an edge frame that are looked for; without them the first two columns are the ends."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph as it was given: one entry per arc, direction kept.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array
        Entry (i, j) is the weight from vertex i to vertex j; columns ascending, no duplicates, weights >= 0.
    labels : sequence or None
        The caller's name of each vertex; None means 0, 1, 2, ...
    directed : bool or None
        Whether the graph says of itself that it is directed; None when it does not say (edge lists).
    notes : dict
        What happened on the way in: source, duplicates summed.
    repeated : int
        An entry is the rounded sum of so many repeated edges, at most; 1: no sum was rounded.
    """

    matrix: Any
    labels: Sequence[Any] | None = None
    directed: bool | None = True
    notes: dict[str, Any] = field(default_factory=dict)
    repeated: int = 1

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return int(self.matrix.shape[0])

    def label(self, vertex: int) -> Any:
        """The caller's name of a vertex."""
        return vertex if self.labels is None else self.labels[vertex]

    def unweighted(self) -> Graph:
        """The same graph with all weights 1."""
        ones = np.ones(self.matrix.nnz, dtype=np.int32)
        matrix = sp.csr_array((ones, self.matrix.indices, self.matrix.indptr), shape=self.matrix.shape)
        notes = {name: note for name, note in self.notes.items() if name != "unused_attributes"}
        return replace(self, matrix=matrix, notes=notes, repeated=1)

    def __repr__(self) -> str:
        kind = {True: "directed", False: "undirected", None: "edge list"}[self.directed]
        return f"Graph({self.n_vertices} vertices, {self.matrix.nnz} arcs, {kind})"


def as_path(graph: Any) -> Path | None:
    """The path, if that is what was given."""
    return as_file_path(graph, "the graph's path") if isinstance(graph, (str, os.PathLike)) else None


def graph_from_matrix(matrix: Any, *, labels: Sequence[Any] | None = None, directed: bool | None = True) -> Graph:
    """A graph from its adjacency matrix (scipy sparse)."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        message = f"the adjacency matrix has shape {matrix.shape}; it must be square, one row and column per vertex."
        raise ShapeError(message)
    if matrix.shape[0] == 0:
        msg = "the graph has no vertices; at least one is needed."
        raise ShapeError(msg)
    if matrix.dtype.kind not in "fiub":
        message = f"edge weights have dtype {matrix.dtype}; they must be real numbers (float, int or bool)."
        raise DtypeError(message)
    notes: dict[str, Any] = {"duplicate_edges": "none"}
    if not matrix.dtype.isnative:  # scipy holds the other byte order, and then can do nothing with it
        matrix = matrix.astype(matrix.dtype.newbyteorder("="))
    if matrix.dtype.itemsize > 8:
        convert_numbers(matrix.tocoo().data, np.dtype(np.float64), "the adjacency matrix")
        matrix = matrix.astype(np.float64)
    if matrix.format == "coo":
        check_coo(matrix, labels)
    csr = check_sparse(matrix, "the adjacency matrix").tocsr()
    repeated = _count_repeated(matrix, csr)
    if repeated > 1 and csr.dtype == np.float32:
        csr = check_sparse(matrix.astype(np.float64), "the adjacency matrix").tocsr()
    rounds = repeated > 1 and not sums_are_exact(matrix.tocoo().data)
    if csr.dtype.kind == "b":
        csr = sp.csr_array((csr.data.astype(np.int8), csr.indices, csr.indptr), shape=csr.shape)
    if not csr.has_canonical_format or not csr.data.all():
        before = int(np.count_nonzero(csr.data))
        if csr.dtype.kind in "iu":  # a sum of small integers must not wrap around
            csr = csr.astype(np.int64)
        csr = csr.copy()  # both steps work in place, and the caller's matrix is not ours to write
        _check_csr(csr, labels)
        if csr.dtype.kind in "iu" and float(csr.data.sum(dtype=np.float64)) >= 2.0**62:
            message = "the weights sum to more than 2^62, beyond exact whole numbers; divide them by a common factor."
            raise IntegerOverflowError(message)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        if csr.nnz < before:
            notes["duplicate_edges"] = f"{before - csr.nnz} summed"
    _check_csr(csr, labels)
    return Graph(csr, labels, directed, notes, repeated if rounds else 1)


def _count_repeated(matrix: Any, csr: Any) -> int:
    """How many real weights are summed into one entry, at most; whole numbers are summed without rounding."""
    if csr.dtype.kind != "f" or (csr.nnz == matrix.nnz and csr.has_canonical_format):
        return 1
    entries = matrix.tocoo()
    ones = np.ones(entries.data.size, dtype=np.int64)
    return int(sp.csr_array(sp.coo_array((ones, (entries.row, entries.col)), shape=matrix.shape)).data.max(initial=1))


def sums_are_exact(weights: NDArray[Any]) -> bool:
    """Whether every sum of some of these weights is a float: all are multiples of a power of two, and few enough."""
    with np.errstate(over="ignore"):
        total = float(weights.sum(dtype=np.float64))
        for halvings in (0, FINEST_SUMMED):
            scaled = weights * 2.0**halvings
            if total * 2.0**halvings < LARGEST_EXACT_INTEGER and np.array_equal(scaled, np.floor(scaled)):
                return True
    return False


def graph_from_edges(
    source: NDArray[Any], target: NDArray[Any], weight: NDArray[Any] | None = None, *, directed: bool | None = None
) -> Graph:
    """A graph from the two ends of every edge; the vertices are those that occur, in sorted order."""
    if not len(source) == len(target) == (len(source) if weight is None else len(weight)):
        message = f"the edge columns have lengths {len(source)}, {len(target)}; they must be equal."
        raise ShapeError(message)
    if len(source) == 0:
        msg = "the edge list is empty; a graph given by its edges needs at least one."
        raise ShapeError(msg)
    for name, column in (("source", source), ("target", target)):
        check_vertex_numbers(column, f"the {name} column")
    ends = [column.astype(np.int64) if column.dtype.kind in "fu" else column for column in (source, target)]
    labels, numbers = _number_labels(*ends)
    weights = np.ones(len(source), dtype=np.int32) if weight is None else plain_weights(weight)
    size = int(max(part.max() for part in numbers)) + 1 if labels is None else len(labels)
    matrix = sp.coo_array((weights, numbers), shape=(size, size))
    repeated = matrix.nnz
    check_coo(matrix, labels)
    graph = graph_from_matrix(matrix, labels=labels, directed=directed)
    if graph.matrix.nnz < repeated:
        graph.notes["duplicate_edges"] = f"{repeated - graph.matrix.nnz} summed"
    return graph


def plain_weights(weights: Any) -> NDArray[Any]:
    """Weights in a type that scipy's matrices hold."""
    values = plain_array(weights, "the column of weights")
    if values.dtype.kind not in "fiub":
        message = f"edge weights have dtype {values.dtype}; they must be real numbers (float, int or bool)."
        raise DtypeError(message)
    if values.dtype.kind == "f":
        return convert_numbers(
            values, np.dtype(np.float32 if values.dtype.itemsize <= 4 else np.float64), "the weights"
        )
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def check_vertex_numbers(column: NDArray[Any], where: str, kind: type[InputError] | None = None) -> None:
    """Refuse numbers that are no vertex numbers, or that would silently become others; ``kind`` is the error raised."""
    if column.dtype.kind == "f":
        wrong = column[~np.isfinite(column) | (column != np.floor(column))]
        if wrong.size:
            message = f"{where} holds {float(wrong[0])} as a vertex; vertex numbers must be whole."
            raise (kind or DtypeError)(message)
        wrong = column[np.abs(column) >= LARGEST_EXACT_INTEGER]
        if wrong.size:
            message = (
                f"{where} holds the vertex number {float(wrong[0]):.0f}, beyond 2**53: read as floating point it could "
                "be another one. Number the vertices first, or keep them as integers, or give names."
            )
            raise (kind or IntegerOverflowError)(message)
    elif column.dtype.kind == "u" and column.size and int(column.max()) >= 2**63:
        message = f"{where} holds the vertex number {int(column.max())} beyond 2^63 - 1. Number the vertices first."
        raise (kind or IntegerOverflowError)(message)
    elif column.dtype.kind in "cmMV":
        message = f"{where} has dtype {column.dtype}; vertices must be whole numbers or names."
        raise DtypeError(message)
    elif column.dtype.kind == "O":
        _check_names(column, where)


def _check_names(column: NDArray[Any], where: str) -> None:
    for row, name in enumerate(column.ravel().tolist()):
        if name is None or type(name).__name__ in MISSING or (isinstance(name, float) and name != name):
            message = f"{where} has no vertex in row {row} ({name!r}); drop the edges with a missing end first."
            raise NodeError(message)
        if not isinstance(name, Hashable):
            message = f"{where} holds {name!r} in row {row}; vertices must be whole numbers or names."
            raise DtypeError(message)


def _number_labels(source: NDArray[Any], target: NDArray[Any]) -> tuple[Sequence[Any] | None, list[NDArray[Any]]]:
    """Labels (None for 0 .. n-1) and the ends as numbers."""
    if source.dtype.kind == "i" and target.dtype.kind == "i":
        low, high = int(min(source.min(), target.min())), int(max(source.max(), target.max()))
        if low >= 0 and high < 4 * len(source) + 1024:
            seen = np.zeros(high + 1, dtype=bool)
            seen[source] = seen[target] = True
            if seen.all():
                return None, [source.astype(np.int32, copy=False), target.astype(np.int32, copy=False)]
            number = (np.cumsum(seen) - 1).astype(np.int32)
            return np.flatnonzero(seen).tolist(), [number[source], number[target]]
        unique, inverse = np.unique(np.concatenate([source, target]), return_inverse=True)
        inverse = inverse.astype(np.int32)
        return unique.tolist(), [inverse[: len(source)], inverse[len(source) :]]
    position: dict[Any, int] = {}
    numbers = [np.array([position.setdefault(v, len(position)) for v in part.tolist()], dtype=np.int32)
               for part in (source, target)]  # fmt: skip
    return list(position), numbers


def vertices_of(graph: Graph, nodes: Any, name: str) -> NDArray[np.int64] | None:
    """Vertex numbers, ascending and unique, of a collection of the caller's labels; None stays None."""
    if nodes is None:
        return None
    position = None if graph.labels is None else {label: i for i, label in enumerate(graph.labels)}
    found = []
    for node in _list_nodes(nodes, name):
        if position is None:
            known = isinstance(node, int) and not isinstance(node, bool) and 0 <= node < graph.n_vertices
            number = node
        else:
            known, number = node in position, position.get(node)
        if not known:
            first = [graph.label(i) for i in range(min(5, graph.n_vertices))]
            message = f"{name} holds {node!r}, which is not a vertex of the graph; the first vertices are {first}."
            raise NodeError(message, parameter=name)
        found.append(number)
    return np.unique(np.array(found, dtype=np.int64))


def vertex_labels(nodes: Any, name: str) -> NDArray[np.int64] | None:
    """A collection of vertices that are whole numbers, ascending and unique; None stays None."""
    if nodes is None:
        return None
    wanted = _list_nodes(nodes, name)
    for node in wanted:
        if not isinstance(node, int) or isinstance(node, bool):
            message = f"{name} holds {node!r}; the vertices of a graph on a cluster are whole numbers."
            raise NodeError(message, parameter=name)
    return np.unique(np.array(wanted, dtype=np.int64))


def _list_nodes(nodes: Any, name: str) -> list[Any]:
    if isinstance(nodes, (str, bytes)) or not hasattr(nodes, "__iter__"):
        message = f"{name}={nodes!r} must be a collection of vertices (list, set, array)."
        raise OptionError(message, parameter=name)
    return [node.item() if isinstance(node, np.generic) else node for node in nodes]


def check_coo(matrix: Any, labels: Sequence[Any] | None) -> None:
    """Before duplicates are summed: a sum could hide a negative weight."""
    check_weights(matrix.data, lambda place: [coordinates[place] for coordinates in matrix.coords], labels)


def _check_csr(csr: Any, labels: Sequence[Any] | None) -> None:
    def find_ends(place: int) -> tuple[int, int]:
        return int(np.searchsorted(csr.indptr, place, side="right")) - 1, csr.indices[place]

    check_weights(csr.data, find_ends, labels)


def check_weights(
    weights: NDArray[Any],
    find_ends: Callable[[int], Sequence[Any]],
    labels: Sequence[Any] | None = None,
    *,
    where: str = "",
    kind: type[InputError] = NonFiniteError,
) -> None:
    """Refuse weights that are negative or not finite (as an error of this kind), naming the first such edge."""
    if weights.size == 0 or (weights.min() >= 0 and np.isfinite(weights.max())):
        return
    bad = np.flatnonzero(~(weights >= 0) | ~np.isfinite(weights))
    first, second = (int(v) if labels is None else labels[int(v)] for v in find_ends(bad[0]))
    edge = f"{where}edge ({first!r}, {second!r}) has weight {weights[bad[0]].item()!r}"
    edge += f" ({bad.size} such edges)" if bad.size > 1 else ""
    if weights[bad[0]] < 0:
        message = f"{edge}; weights must be >= 0. Shift or drop negative weights first."
        raise NegativeWeightError(message)
    message = f"{edge}; weights must be finite numbers. Drop or fill them first."
    raise kind(message)


def edge_columns(names: list[str], weight: str | None = WEIGHT) -> list[str]:
    """The names of the columns that hold the two ends of an edge and, if there is one, its weight.

    Without a column called "weight" the third of three holds the weights. ``weight=None`` wants none.
    """
    free = [name for name in names if weight == WEIGHT or name != weight]
    ends = list(next((pair for pair in FRAME_COLUMNS if set(pair) <= set(free)), free[:2]))
    rest = [name for name in names if name not in ends]
    if weight is None or weight in rest:
        return ends if weight is None else [*ends, weight]
    return [*ends, *rest] if len(names) == 3 else ends


def is_text(value: Any) -> bool:
    """Whether an argument is a name (str) rather than a collection."""
    return isinstance(value, str)
