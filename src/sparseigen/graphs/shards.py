"""Pure functions on one shard of a graph: the rows of the vertices whose label is its number modulo the shards.

They run on workers. All numbers are whole, so that no result depends on how many shards there are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen.checks.graphs import sums_are_exact
from sparseigen.graphs.model import WeightFacts, WeightUnit, convert_to_units, find_weight_facts
from sparseigen.kernels.graph import Integers, Rows
from sparseigen.rows.partitions import Edges


class Arcs(NamedTuple):
    """Compressed rows as plain arrays, whose size dask sees."""

    values: NDArray[Any]
    columns: NDArray[Any]
    starts: NDArray[Any]
    shape: tuple[int, int]
    repeated: int = 1
    """A value is the rounded sum of so many weights, at most; 1: no sum was rounded."""

    @classmethod
    def of(cls, matrix: Any, repeated: int = 1) -> Arcs:
        """From scipy's CSR."""
        return cls(matrix.data, matrix.indices, matrix.indptr, matrix.shape, repeated)

    def matrix(self, values: NDArray[Any] | None = None) -> Any:
        """As scipy's CSR, with other values where they are passed."""
        values = self.values if values is None else values
        return sp.csr_array((values, self.columns, self.starts), shape=self.shape)


class ArcShard(NamedTuple):
    """The arcs from and to the vertices of one shard, as given."""

    labels: Integers
    """The caller's number of each vertex, ascending."""
    vertices: Integers
    """Our number of each vertex: the label itself where labels are dense, else its rank among all labels."""
    outgoing: Arcs
    """Row i holds the arcs from vertex i; columns are our numbers."""
    incoming: Arcs


class ArcFacts(NamedTuple):
    """What decides how a graph is read, of one shard."""

    vertices: int
    arcs: int
    loops: int
    symmetric: bool
    either_way: int
    """Pairs (i, j) with an arc in either direction, loops included."""
    weights: WeightFacts


class RowShard(NamedTuple):
    """Rows of the symmetric graph in whole numbers, without its diagonal."""

    vertices: Integers
    starts: Integers
    neighbours: NDArray[Any]
    weights: NDArray[Any]
    """One per entry; of length 0 when all are 1."""
    loops: Integers
    degrees: Integers
    """In the whole graph, loops included; set when peeling starts."""


class Summary(NamedTuple):
    """The size of what is left in a shard."""

    vertices: int
    entries: int
    weight: int
    """Sum of the contributions: twice the weights of the entries, and the loops."""


def split_edges(edges: Edges, n_shards: int) -> list[tuple[Edges, Edges]]:
    """For every shard the arcs that start in it and the arcs that end in it, in the order given."""
    pieces: list[list[Edges]] = []
    for ends in (edges.source, edges.target):
        owner = (ends % n_shards).astype(np.uint16 if n_shards < 1 << 16 else np.int64)
        order = np.argsort(owner, kind="stable")
        cuts = np.searchsorted(owner[order], np.arange(n_shards + 1))
        columns = [None if column is None else column[order] for column in edges]
        pieces.append([
            Edges(*(None if column is None else column[low:high] for column in columns))  # type: ignore[arg-type]
            for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        ])  # fmt: skip
    return list(zip(*pieces, strict=True))


class EdgeFacts(NamedTuple):
    """Arcs, their smallest and largest label, and whether they have weights."""

    arcs: int
    low: int
    high: int
    weighted: bool


def find_edge_facts(edges: Edges) -> EdgeFacts:
    """The facts of some arcs."""
    weighted = edges.weight is not None
    if len(edges.source) == 0:
        return EdgeFacts(0, 0, -1, weighted)
    ends = (edges.source, edges.target)
    low, high = int(min(end.min() for end in ends)), int(max(end.max() for end in ends))
    return EdgeFacts(len(edges.source), low, high, weighted)


def find_shard_labels(pieces: list[tuple[Edges, Edges]], n_shards: int, space: int | None) -> Integers:
    """The labels of a shard's vertices, ascending; ``space`` bounds them where they are dense."""
    ends = [outgoing.source for outgoing, _ in pieces] + [incoming.target for _, incoming in pieces]
    if space is None:
        return np.unique(np.concatenate(ends))
    seen = np.zeros(space // n_shards + 1, dtype=bool)
    for part in ends:
        seen[part // n_shards] = True
    remainder = next((int(part[0]) % n_shards for part in ends if len(part)), 0)
    return np.flatnonzero(seen) * n_shards + remainder


def build_arc_shard(
    pieces: list[tuple[Edges, Edges]], labels: Integers, ranks: Integers | None, n_shards: int, space: int
) -> ArcShard:
    """A shard from its pieces in the order of the partitions; ``ranks`` are all labels where these are not dense."""
    vertices = labels if ranks is None else np.searchsorted(ranks, labels)
    if ranks is None:  # labels are dense: a table is faster than a search
        table = np.zeros(space // n_shards + 1, dtype=np.int32)
        table[labels // n_shards] = np.arange(len(labels), dtype=np.int32)

    def rows(direction: int) -> Arcs:
        parts = [piece[direction] for piece in pieces]
        owners, columns = (np.concatenate([part[end] for part in parts]) for end in (direction, 1 - direction))
        owners = table[owners // n_shards] if ranks is None else np.searchsorted(labels, owners)
        columns = columns if ranks is None else np.searchsorted(ranks, columns)
        if space < 1 << 31:
            columns = columns.astype(np.int32)
        stored = [part.weight for part in parts if part.weight is not None]
        weights = np.concatenate(stored) if stored else None
        return Arcs.of(*_sum_duplicates(owners, columns, weights, (len(labels), space)))

    return ArcShard(labels, vertices, rows(0), rows(1))


def _sum_duplicates(
    rows: Integers, columns: Integers, weights: NDArray[Any] | None, shape: tuple[int, int]
) -> tuple[Any, int]:
    """CSR with duplicates summed in the order given, so that both ends of an arc see the same sum.

    And of how many weights an entry is the sum, at most, where such sums may have been rounded.
    """
    repeated = 1
    if weights is not None and weights.dtype.kind == "f":
        order = np.lexsort((columns, rows))  # stable
        rows, columns, weights = rows[order], columns[order], weights[order]
        first = np.flatnonzero(np.concatenate([[True], (np.diff(rows) != 0) | (np.diff(columns) != 0)]))[: len(rows)]
        if 0 < first.size < len(rows):
            weights = weights.astype(np.float64, copy=False)
            if not sums_are_exact(weights):
                repeated = int(np.diff(first, append=len(rows)).max())
            rows, columns, weights = rows[first], columns[first], np.add.reduceat(weights, first)
    values = np.ones(len(rows), dtype=np.int32) if weights is None else weights
    matrix = sp.coo_array((values, (rows, columns)), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix, repeated


def find_arc_facts(shard: ArcShard) -> ArcFacts:
    """The facts of one shard."""
    outgoing, incoming = shard.outgoing, shard.incoming
    symmetric = (
        np.array_equal(outgoing.starts, incoming.starts)
        and np.array_equal(outgoing.columns, incoming.columns)
        and np.array_equal(outgoing.values, incoming.values)
    )
    weights = replace(find_weight_facts(outgoing.values), repeated=outgoing.repeated)
    arcs = len(outgoing.values)
    either = arcs if symmetric else (_pattern(outgoing) + _pattern(incoming)).nnz
    loops = int(np.count_nonzero(_mark_loops(outgoing, shard.vertices)))
    return ArcFacts(len(shard.labels), arcs, loops, symmetric, either, weights)


def _pattern(arcs: Arcs) -> Any:
    return arcs.matrix(np.ones(len(arcs.values), dtype=np.int8))


def _mark_loops(arcs: Arcs, vertices: Integers) -> NDArray[np.bool_]:
    """Which entries are loops."""
    found: NDArray[np.bool_] = np.repeat(vertices, np.diff(arcs.starts)) == arcs.columns
    return found


def build_row_shard(shard: ArcShard, combine: str, unit: WeightUnit, keep_loops: bool) -> RowShard:
    """The rows of the symmetric graph: ``combine`` is "as given", "sum" or "either"."""
    matrix = _convert_to_units(shard.outgoing, unit)
    if combine != "as given":
        incoming = _convert_to_units(shard.incoming, unit)
        matrix = (matrix + incoming if combine == "sum" else matrix.maximum(incoming)).tocsr()
    matrix.sort_indices()
    weights = matrix.data.astype(np.int64)
    is_loop = _mark_loops(Arcs.of(matrix), shard.vertices)
    owners = np.repeat(np.arange(len(shard.vertices)), np.diff(matrix.indptr))
    loops = np.zeros(len(shard.vertices), dtype=np.int64)
    if keep_loops:
        loops[owners[is_loop]] = weights[is_loop]
    counts = np.diff(matrix.indptr) - np.bincount(owners[is_loop], minlength=len(shard.vertices))
    neighbours, weights = matrix.indices[~is_loop], weights[~is_loop]
    if bool((weights == 1).all()):
        weights = np.zeros(0, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return RowShard(shard.vertices, starts, neighbours, weights, loops, np.zeros(0, dtype=np.int64))


def _convert_to_units(arcs: Arcs, unit: WeightUnit) -> Any:
    values = np.ones(len(arcs.values), dtype=np.int8) if unit.all_ones else convert_to_units(arcs.values, unit)
    # A copy of its own: scipy sorts in place, and what a task was given is not its to write.
    return sp.csr_array((values.astype(np.int64), arcs.columns.copy(), arcs.starts.copy()), shape=arcs.shape)


def expand_weights(shard: RowShard) -> Integers:
    """One weight per entry, stored or not."""
    return Rows(shard.starts, shard.neighbours, shard.weights).all_weights()


def sum_rows(shard: RowShard, values: NDArray[Any] | None = None) -> Integers:
    """The sum of the values (weights if None) of each row's entries."""
    counts = np.diff(shard.starts)
    if values is None and shard.weights.size == 0:
        return counts
    values = shard.weights if values is None else values
    sums = np.zeros(len(counts), dtype=np.int64)
    filled = np.flatnonzero(counts)
    if filled.size:
        sums[filled] = np.add.reduceat(values, shard.starts[filled], dtype=np.int64)
    return sums


def add_degrees(shard: RowShard) -> RowShard:
    """The shard with the degrees it has now written down."""
    return shard._replace(degrees=sum_rows(shard) + shard.loops)


def find_contributions(shard: RowShard) -> Integers:
    """What the graph loses with each vertex: twice its weight to the others, and its loop."""
    return 2 * sum_rows(shard) + shard.loops


def summarise(shard: RowShard) -> Summary:
    """The size of a shard."""
    return Summary(len(shard.vertices), len(shard.neighbours), int(find_contributions(shard).sum()))


def find_weakest(shard: RowShard, threshold: int, kept: Integers) -> tuple[Integers, Integers]:
    """The vertices with a contribution below the threshold (but those to be kept), and their contributions."""
    contributions = find_contributions(shard)
    leaving = np.flatnonzero((contributions < threshold) & ~np.isin(shard.vertices, kept))
    return shard.vertices[leaving], contributions[leaving]


def pack_vertices(vertices: Integers, space: int) -> NDArray[np.uint8]:
    """Some vertices, one bit per vertex of the graph."""
    flags = np.zeros(space, dtype=bool)
    flags[vertices] = True
    return np.packbits(flags)


def unpack_bits(bits: NDArray[np.uint8], space: int) -> NDArray[np.bool_]:
    """One flag per vertex."""
    flags: NDArray[np.bool_] = np.unpackbits(bits, count=space).view(bool)
    return flags


def restrict_shard(shard: RowShard, bits: NDArray[np.uint8], space: int, marked: bool) -> RowShard:
    """The shard on the vertices that are marked (or, with ``marked=False``, on those that are not)."""
    alive = unpack_bits(bits, space)
    alive = alive if marked else ~alive
    rows, lengths = alive[shard.vertices], np.diff(shard.starts)
    if not rows.all():
        shard = _take_rows(shard, rows, lengths)
    entries = alive[shard.neighbours]
    counts = sum_rows(shard, entries.view(np.uint8))
    return shard._replace(
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        neighbours=shard.neighbours[entries],
        weights=shard.weights[entries] if shard.weights.size else shard.weights,
    )


def _take_rows(shard: RowShard, rows: NDArray[np.bool_], lengths: Integers) -> RowShard:
    """The shard on some of its rows."""
    entries = np.repeat(rows, lengths)
    return RowShard(
        shard.vertices[rows],
        np.concatenate([[0], np.cumsum(lengths[rows])]).astype(np.int64),
        shard.neighbours[entries],
        shard.weights[entries] if shard.weights.size else shard.weights,
        shard.loops[rows],
        shard.degrees[rows] if shard.degrees.size else shard.degrees,
    )


def find_largest(values: Integers, count: int) -> Integers:
    """The largest values in decreasing order, ``count`` of them or all."""
    few = np.partition(values, len(values) - count)[len(values) - count :] if count < len(values) else values
    return np.sort(few)[::-1]


def find_largest_removed(removed: tuple[Integers, Integers], count: int) -> tuple[int, Integers]:
    """How many vertices a shard lost, and the largest of their contributions."""
    return len(removed[0]), find_largest(removed[1], count)


class Extremes(NamedTuple):
    """Of one shard: least and largest weight (0 without entries), the loops' common divisor and largest, degrees."""

    low: int
    high: int
    loops_divisor: int
    loops: Integers
    degrees: int


def find_extremes(shard: RowShard, count: int) -> Extremes:
    """What bounds need of the whole graph, of one shard."""
    weights = shard.weights if shard.weights.size else np.ones(min(1, len(shard.neighbours)), dtype=np.int64)
    low, high = (int(weights.min()), int(weights.max())) if weights.size else (0, 0)
    divisor = int(np.gcd.reduce(shard.loops)) if shard.loops.size else 0
    return Extremes(low, high, divisor, find_largest(shard.loops, count), int(shard.degrees.sum()))


def locate_labels(shard: ArcShard, labels: Integers) -> tuple[Integers, Integers]:
    """The positions in ``labels`` of those this shard has, and our numbers of them."""
    place = np.minimum(np.searchsorted(shard.labels, labels), len(shard.labels) - 1)
    present = np.flatnonzero(shard.labels[place] == labels) if len(shard.labels) else np.zeros(0, dtype=np.int64)
    return present, shard.vertices[place[present]]


def name_vertices(shard: ArcShard, vertices: Integers) -> tuple[Integers, Integers, Integers]:
    """Positions of this shard's vertices in ``vertices``, their labels, and the shard's part of every rank."""
    place = np.searchsorted(shard.vertices, vertices)
    if len(shard.vertices) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), place
    inside = np.minimum(place, len(shard.vertices) - 1)
    present = np.flatnonzero(shard.vertices[inside] == vertices)
    return present, shard.labels[inside[present]], place
