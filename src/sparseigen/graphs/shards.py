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
from sparseigen.graphs.model import WeightFacts, WeightUnit, in_units, weight_facts
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
        """As scipy's CSR, with other values if given."""
        given = self.values if values is None else values
        return sp.csr_array((given, self.columns, self.starts), shape=self.shape)


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
    """One an entry; of length 0 when all are 1."""
    loops: Integers
    degrees: Integers
    """In the whole graph, loops included; set when peeling starts."""


class Summary(NamedTuple):
    """The size of what is left in a shard."""

    vertices: int
    entries: int
    weight: int
    """Sum of the shares: twice the weights of the entries, and the loops."""


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


def edge_facts(edges: Edges) -> tuple[int, int, int, bool]:
    """Arcs, smallest and largest label, and whether they have weights."""
    if len(edges.source) == 0:
        return 0, 0, -1, edges.weight is not None
    ends = (edges.source, edges.target)
    return len(ends[0]), int(min(e.min() for e in ends)), int(max(e.max() for e in ends)), edges.weight is not None


def shard_labels(pieces: list[tuple[Edges, Edges]], n_shards: int, space: int | None) -> Integers:
    """The labels of a shard's vertices, ascending; ``space`` bounds them where they are dense."""
    ends = [outgoing.source for outgoing, _ in pieces] + [incoming.target for _, incoming in pieces]
    if space is None:
        return np.unique(np.concatenate(ends))
    seen = np.zeros(space // n_shards + 1, dtype=bool)
    for part in ends:
        seen[part // n_shards] = True
    remainder = next((int(part[0]) % n_shards for part in ends if len(part)), 0)
    return np.flatnonzero(seen) * n_shards + remainder


def merged_labels(parts: list[Integers]) -> Integers:
    """All labels of the graph, ascending."""
    return np.sort(np.concatenate(parts))


def arc_shard(
    pieces: list[tuple[Edges, Edges]], labels: Integers, ranks: Integers | None, n_shards: int, space: int
) -> ArcShard:
    """A shard from its pieces in the order of the partitions; ``ranks`` are all labels where these are not dense."""
    vertices = labels if ranks is None else np.searchsorted(ranks, labels)
    if ranks is None:  # labels are dense: a table is faster than a search
        table = np.zeros(space // n_shards + 1, dtype=np.int32)
        table[labels // n_shards] = np.arange(len(labels), dtype=np.int32)

    def rows(direction: int) -> Arcs:
        parts = [piece[direction] for piece in pieces]
        own, columns = (np.concatenate([part[end] for part in parts]) for end in (direction, 1 - direction))
        own = table[own // n_shards] if ranks is None else np.searchsorted(labels, own)
        columns = columns if ranks is None else np.searchsorted(ranks, columns)
        if space < 1 << 31:
            columns = columns.astype(np.int32)
        given = [part.weight for part in parts]
        weights: NDArray[Any] | None = np.concatenate(given) if given[0] is not None else None  # type: ignore[arg-type]
        return Arcs.of(*_summed(own, columns, weights, (len(labels), space)))

    return ArcShard(labels, vertices, rows(0), rows(1))


def _summed(rows: Integers, columns: Integers, weights: NDArray[Any] | None, shape: tuple[int, int]) -> tuple[Any, int]:
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


def arc_facts(shard: ArcShard) -> ArcFacts:
    """The facts of one shard."""
    outgoing, incoming = shard.outgoing, shard.incoming
    symmetric = (
        np.array_equal(outgoing.starts, incoming.starts)
        and np.array_equal(outgoing.columns, incoming.columns)
        and np.array_equal(outgoing.values, incoming.values)
    )
    weights = replace(weight_facts(outgoing.values), repeated=outgoing.repeated)
    arcs = len(outgoing.values)
    either = arcs if symmetric else (_pattern(outgoing) + _pattern(incoming)).nnz
    loops = int(np.count_nonzero(_own_column(outgoing, shard.vertices)))
    return ArcFacts(len(shard.labels), arcs, loops, symmetric, either, weights)


def _pattern(arcs: Arcs) -> Any:
    return arcs.matrix(np.ones(len(arcs.values), dtype=np.int8))


def _own_column(arcs: Arcs, vertices: Integers) -> NDArray[np.bool_]:
    """Which entries are loops."""
    found: NDArray[np.bool_] = np.repeat(vertices, np.diff(arcs.starts)) == arcs.columns
    return found


def symmetric_shard(shard: ArcShard, combine: str, unit: WeightUnit, keep_loops: bool) -> RowShard:
    """The rows of the symmetric graph: ``combine`` is "as given", "sum" or "either"."""
    matrix = _in_units(shard.outgoing, unit)
    if combine != "as given":
        other = _in_units(shard.incoming, unit)
        matrix = (matrix + other if combine == "sum" else matrix.maximum(other)).tocsr()
    matrix.sort_indices()
    weights = matrix.data.astype(np.int64)
    is_loop = _own_column(Arcs.of(matrix), shard.vertices)
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


def _in_units(arcs: Arcs, unit: WeightUnit) -> Any:
    values = np.ones(len(arcs.values), dtype=np.int8) if unit.all_ones else in_units(arcs.values, unit)
    # A copy of its own: scipy sorts in place, and what a task was given is not its to write.
    return sp.csr_array((values.astype(np.int64), arcs.columns.copy(), arcs.starts.copy()), shape=arcs.shape)


def entry_weights(shard: RowShard) -> Integers:
    """One weight an entry, stored or not."""
    return Rows(shard.starts, shard.neighbours, shard.weights).all_weights()


def row_sums(shard: RowShard, values: NDArray[Any] | None = None) -> Integers:
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


def with_degrees(shard: RowShard) -> RowShard:
    """The shard with the degrees it has now written down."""
    return shard._replace(degrees=row_sums(shard) + shard.loops)


def shares(shard: RowShard) -> Integers:
    """What each vertex takes with it when it leaves: twice its weight to the others, and its loop."""
    return 2 * row_sums(shard) + shard.loops


def summary(shard: RowShard) -> Summary:
    """The size of a shard."""
    return Summary(len(shard.vertices), len(shard.neighbours), int(shares(shard).sum()))


def weakest(shard: RowShard, threshold: int, kept: Integers) -> tuple[Integers, Integers]:
    """The vertices with a share below the threshold (but those to be kept), and their shares."""
    own = shares(shard)
    leaving = np.flatnonzero((own < threshold) & ~np.isin(shard.vertices, kept))
    return shard.vertices[leaving], own[leaving]


def removed_bits(removed: list[tuple[Integers, Integers]], space: int) -> NDArray[np.uint8]:
    """The removed vertices of all shards, one bit a vertex."""
    flags = np.zeros(space, dtype=bool)
    for vertices, _ in removed:
        flags[vertices] = True
    return np.packbits(flags)


def vertex_bits(vertices: Integers, space: int) -> NDArray[np.uint8]:
    """Some vertices, one bit a vertex."""
    return removed_bits([(vertices, vertices)], space)


def unpacked(bits: NDArray[np.uint8], space: int) -> NDArray[np.bool_]:
    """One flag a vertex."""
    flags: NDArray[np.bool_] = np.unpackbits(bits, count=space).view(bool)
    return flags


def remaining(shard: RowShard, bits: NDArray[np.uint8], space: int, marked: bool) -> RowShard:
    """The shard on the vertices that are marked (or, with ``marked=False``, on those that are not)."""
    alive = unpacked(bits, space)
    alive = alive if marked else ~alive
    rows, lengths = alive[shard.vertices], np.diff(shard.starts)
    if not rows.all():
        shard = _some_rows(shard, rows, lengths)
    entries = alive[shard.neighbours]
    counts = row_sums(shard, entries.view(np.uint8))
    return shard._replace(
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        neighbours=shard.neighbours[entries],
        weights=shard.weights[entries] if shard.weights.size else shard.weights,
    )


def _some_rows(shard: RowShard, rows: NDArray[np.bool_], lengths: Integers) -> RowShard:
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


def largest(values: Integers, count: int) -> Integers:
    """The largest values in decreasing order, ``count`` of them or all."""
    few = np.partition(values, len(values) - count)[len(values) - count :] if count < len(values) else values
    return np.sort(few)[::-1]


def largest_removed(removed: tuple[Integers, Integers], count: int) -> tuple[int, Integers]:
    """How many vertices a shard lost, and the largest of their shares."""
    return len(removed[0]), largest(removed[1], count)


class Extremes(NamedTuple):
    """Of one shard: least and largest weight (0 without entries), the loops' common divisor and largest, degrees."""

    low: int
    high: int
    loops_divisor: int
    loops: Integers
    degrees: int


def extremes(shard: RowShard, count: int) -> Extremes:
    """What bounds need of the whole graph, of one shard."""
    weights = shard.weights if shard.weights.size else np.ones(min(1, len(shard.neighbours)), dtype=np.int64)
    low, high = (int(weights.min()), int(weights.max())) if weights.size else (0, 0)
    divisor = int(np.gcd.reduce(shard.loops)) if shard.loops.size else 0
    return Extremes(low, high, divisor, largest(shard.loops, count), int(shard.degrees.sum()))


def find_labels(shard: ArcShard, labels: Integers) -> tuple[Integers, Integers]:
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
    own = np.flatnonzero(shard.vertices[inside] == vertices)
    return own, shard.labels[inside[own]], place
