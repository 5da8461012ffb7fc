"""The graph every algorithm works on: symmetric, with whole-number weights.

Whole numbers make sums exact. A graph whose weights are multiples of a power of two (every unweighted graph, and
(W + W')/2 of one) is represented exactly. Other weights are rounded up to multiples of a unit about 2^-56 of their
sum, so that a bound proved for the rounded graph holds for the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.graphs import Graph
from sparseigen.checks.memory import check_room
from sparseigen.errors import NonFiniteError
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Flags, Integers, Rows
from sparseigen.operators.contract import computed_once

DIRECTED = ("average", "either", "outgoing")
TREATMENTS = {
    "average": "directed, averaged: (W + W')/2",
    "either": "directed, either: max(W, W')",
    "outgoing": "directed, averaged: (W + W')/2; greedy choices by outgoing weight",
}
AS_SUMS = ("symmetric", "directed, averaged")
"""How treatments begin that leave pi'W pi as the weights were given."""
SELF_LOOPS = ("drop", "keep")

ROOM = 56
"""Rounded weights sum to about 2^ROOM: leaves room in 64 bits for doubling and for shifts."""

WORK_BYTES_PER_VERTEX, WORK_BYTES_PER_ARC = 64, 32
"""What a search takes besides the caller's matrix: both directions of every arc, orders, loads."""

SMALLEST_EXPONENT = -1073
EPSILON = float(np.finfo(np.float64).eps)
SUMMED_TWICE = 4.0
"""A rounded sum is off by at most its rounding in either direction; adding that is rounded again, upwards."""
FINEST_EXACT = 10
"""Weights that are multiples of 2^-FINEST_EXACT are represented exactly."""


@dataclass(frozen=True, eq=False)
class IntegerGraph:
    """Adjacency without diagonal, the diagonal, and the weight that one unit stands for."""

    rows: Rows
    loops: Integers
    unit: float
    exact: bool
    outgoing: Integers | None = None
    """Row sums of W where `rows` are those of a directed graph's transpose (see `outgoing_graph`)."""
    rounding: float = 0.0
    """The weight by which an entry of W may have been rounded up, where the graph is not exact."""

    @property
    def size(self) -> int:
        """Number of vertices."""
        return self.rows.size

    @computed_once
    def degrees(self) -> Integers:
        """Weighted degrees, the loop included (row sums of W), in units."""
        rows = self.rows
        if self.outgoing is not None:
            return self.outgoing
        if rows.weights.size == 0:
            return np.diff(rows.starts) + self.loops
        # A prefix sum over whole numbers is exact; the sum over empty rows comes out as 0.
        sums = np.zeros(self.size, dtype=np.int64)
        filled = np.flatnonzero(np.diff(rows.starts) > 0)
        if filled.size:
            sums[filled] = np.add.reduceat(rows.weights, rows.starts[filled], dtype=np.int64)
        return sums + self.loops

    @computed_once
    def heaviest(self) -> int:
        """The largest weight of an edge (0 without edges), in units."""
        if self.rows.weights.size == 0:
            return int(len(self.rows.neighbours) > 0)
        return int(self.rows.weights.max())

    @computed_once
    def degree_order(self) -> Integers:
        """All vertices by decreasing degree, ties by lowest index."""
        return np.argsort(-self.degrees, kind="stable")

    def induced(self, vertices: Integers) -> IntegerGraph:
        """The subgraph on these vertices (ascending)."""
        rows = graph_kernels.induced(self.rows, vertices)
        if self.outgoing is None:
            return replace(self, rows=rows, loops=self.loops[vertices])
        entering = np.bincount(rows.neighbours, weights=rows.all_weights(), minlength=rows.size).astype(np.int64)
        return IntegerGraph(rows, self.loops[vertices], self.unit, self.exact, entering + self.loops[vertices])

    def no_flags(self) -> Flags:
        """One zero per vertex."""
        return np.zeros(self.size, dtype=np.uint8)


def build_graph(graph: Graph, *, directed: str, self_loops: str) -> tuple[IntegerGraph, dict[str, Any]]:
    """The integer graph of a checked input, and what was done to get there."""
    matrix = graph.matrix
    subject = f"a graph of {matrix.shape[0]} vertices and {matrix.nnz} arcs"
    check_room(
        WORK_BYTES_PER_VERTEX * matrix.shape[0] + WORK_BYTES_PER_ARC * matrix.nnz, subject, "take a part of the graph"
    )
    weights = choose_unit(replace(find_weight_facts(matrix.data), repeated=graph.repeated))
    numbers, unit, exact = convert_to_units(matrix.data, weights), weights.unit, weights.exact
    # Also after halving and reducing: it is a weight, not a number of units.
    rounding = 0.0 if exact else unit + SUMMED_TWICE * weights.rounding
    rows = Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), numbers)
    notes: dict[str, Any] = dict(graph.notes) | {"treatment": "symmetric as given"}
    # Weights that differ may round to the same number of units.
    if not graph_kernels.is_symmetric(rows) or not (exact or _equals_transpose(matrix)):
        rows, halved, notes["treatment"] = _symmetrise(rows, graph.directed, directed)
        unit = unit / 2.0 if halved else unit
    rows, loops = _split_diagonal(rows)
    notes["self_loops"] = f"{int(np.count_nonzero(loops))} {'dropped' if self_loops == 'drop' else 'kept'}"
    if self_loops == "drop":
        loops = np.zeros(rows.size, dtype=np.int64)
    rows, loops, unit = _drop_equal_weights(rows, loops, unit)
    return IntegerGraph(rows, loops, unit, exact, rounding=rounding), notes


def rebuild_graph(graph: Graph, settings: Mapping[str, Any]) -> IntegerGraph:
    """The graph as the density of a result sees it, directions and loops treated as its settings say."""
    loops = "keep" if str(settings.get("self_loops", "")).endswith("kept") else "drop"
    return build_graph(graph, directed=str(settings.get("directed", "average")), self_loops=loops)[0]


def weight_within(graph: Graph, vertices: Integers, notes: dict[str, Any]) -> float:
    """The sum pi'W pi of some vertices from the weights as they were given, rounded once.

    For graphs that are not exact: among weights of very different sizes, the small ones are lost in whole numbers.
    """
    inside = graph.matrix[vertices][:, vertices].tocsr()
    if not notes["treatment"].startswith(AS_SUMS):
        inside = inside.maximum(inside.T).tocsr()
    entries = inside.tocoo()
    kept = entries.data
    if notes["self_loops"].endswith("dropped"):
        kept = kept[entries.row != entries.col]
    return math.fsum(kept.tolist())


def outgoing_graph(graph: Graph, *, self_loops: str) -> IntegerGraph:
    """A directed graph for greedy choices by outgoing weight; its own pi'W pi is not to be used.

    Row v holds the vertices with an arc to v: choosing v adds to what each of them sends into the set.
    """
    numbers, unit, exact = _round_to_whole(graph.matrix.data)
    rows = Rows(graph.matrix.indptr.astype(np.int64), graph.matrix.indices.astype(np.int32, copy=False), numbers)
    transposed = _as_scipy(rows).T.tocsr()
    transposed.sort_indices()
    flipped = Rows(transposed.indptr.astype(np.int64), transposed.indices.astype(np.int32), _narrow(transposed.data))
    flipped, loops = _split_diagonal(flipped)
    loops = loops if self_loops == "keep" else np.zeros_like(loops)
    sums = np.asarray(_as_scipy(flipped).astype(np.int64).sum(axis=0)).ravel()
    return IntegerGraph(flipped, loops, unit, exact, sums + loops)


@dataclass(frozen=True)
class WeightFacts:
    """What decides the unit of a graph's weights; facts of parts of a graph add up to those of the graph."""

    count: int
    low: float
    high: float
    total: float
    integers: bool
    halvings: int | None
    """The weights are multiples of 2^-halvings; None: of no power of two down to 2^-FINEST_EXACT."""
    repeated: int = 1
    """A weight is the rounded sum of so many, at most; 1: no sum was rounded."""


@dataclass(frozen=True)
class WeightUnit:
    """How weights become whole numbers: not stored (all 1), multiplied by a power of two, or rounded up."""

    unit: float
    exact: bool
    all_ones: bool = False
    rounding: float = 0.0
    """How far below the weights that were given those at hand may be."""


def find_weight_facts(values: NDArray[Any]) -> WeightFacts:
    """The facts of some weights."""
    if values.size == 0:
        return WeightFacts(0, 1, 1, 0.0, True, 0)
    integers = values.dtype.kind in "iub"
    low, high = values.min(), values.max()
    with np.errstate(over="ignore"):
        total = float(values.sum(dtype=np.float64))
    return WeightFacts(
        values.size,
        int(low) if integers else float(low),
        int(high) if integers else float(high),
        total,
        integers,
        0 if integers or low == high == 1 else _count_halvings(values),
    )


def join_facts(parts: list[WeightFacts]) -> WeightFacts:
    """The facts of all parts together."""
    filled = [part for part in parts if part.count] or parts[:1]
    halvings = [part.halvings for part in filled]
    known = [number for number in halvings if number is not None]
    return WeightFacts(
        sum(part.count for part in filled),
        min(part.low for part in filled),
        max(part.high for part in filled),
        math.fsum(part.total for part in filled),
        all(part.integers for part in filled),
        max(known) if len(known) == len(halvings) else None,
        max(part.repeated for part in filled),
    )


def choose_unit(facts: WeightFacts) -> WeightUnit:
    """The unit for weights with these facts."""
    if facts.repeated == 1:
        if facts.low == facts.high == 1:
            return WeightUnit(1.0, exact=True, all_ones=True)
        if facts.integers and int(facts.high) * facts.count < 1 << ROOM:
            return WeightUnit(1.0, exact=True)
        if facts.halvings is not None and facts.total * 2.0**facts.halvings < 2.0**52:
            return WeightUnit(2.0**-facts.halvings, exact=True)
    if not math.isfinite(facts.total):
        msg = "edge weights so large that their sum overflows; divide them all by a constant first."
        raise NonFiniteError(msg)
    # Half of it must still be a number.
    unit = math.ldexp(1.0, max(math.frexp(facts.total)[1] - ROOM, SMALLEST_EXPONENT))
    return WeightUnit(unit, exact=False, rounding=0.0 if facts.repeated == 1 else facts.repeated * EPSILON * facts.high)


def convert_to_units(values: NDArray[Any], unit: WeightUnit) -> NDArray[Any]:
    """The weights as whole numbers; of length 0 when all are 1."""
    if unit.all_ones:
        return np.zeros(0, dtype=np.int32)
    if unit.exact:
        return _narrow(values if unit.unit == 1.0 else values / unit.unit)
    if values.dtype.kind in "iub":  # beyond 2^53 a float would round them, perhaps down
        wide = values.astype(object if values.dtype == np.uint64 else np.int64)
        whole = -(-wide // int(unit.unit)) if unit.unit >= 1.0 else wide * int(1.0 / unit.unit)
        return np.asarray(whole, dtype=np.int64)
    values = values.astype(np.float64)
    if unit.rounding:  # the whole numbers are to be at least what was given
        values = np.nextafter(values + unit.rounding, np.inf)
    # The quotients stay below 2^ROOM. NumPy before 2 also divides the unused lanes, 1 / unit, and warns of those.
    with np.errstate(over="ignore"):
        return np.ceil(values / unit.unit).astype(np.int64)


def _count_halvings(values: NDArray[Any]) -> int | None:
    with np.errstate(over="ignore"):
        few = values[:1000] * 2.0**FINEST_EXACT  # most weights that are not exact show it at once
        if not np.array_equal(few, np.floor(few)):
            return None
        for halvings in range(FINEST_EXACT + 1):
            scaled = values * 2.0**halvings
            if np.array_equal(scaled, np.floor(scaled)):
                return halvings
    return None


def _round_to_whole(values: NDArray[Any]) -> tuple[NDArray[Any], float, bool]:
    """Whole numbers, the weight one of them stands for, and whether they are the values exactly."""
    unit = choose_unit(find_weight_facts(values))
    return convert_to_units(values, unit), unit.unit, unit.exact


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.int32 if int(values.max(initial=0)) < 1 << 30 else np.int64)


def _as_scipy(rows: Rows) -> Any:
    import scipy.sparse as sp

    weights = rows.weights if rows.weights.size else np.ones(len(rows.neighbours), dtype=np.int8)
    # One index type for both, or scipy makes a wider copy of the neighbours.
    starts = rows.starts.astype(np.int32) if int(rows.starts[-1]) < 1 << 31 else rows.starts
    return sp.csr_array((weights, rows.neighbours, starts), shape=(rows.size, rows.size))


def _symmetrise(rows: Rows, is_directed: bool | None, directed: str) -> tuple[Rows, bool, str]:
    """The symmetric rows, whether their weights stand for twice what they did, and a sentence about it."""
    matrix = _as_scipy(rows)
    pattern_sum = matrix + matrix.T  # whole numbers: no cancellation, so its pattern is the union
    loops = int(np.count_nonzero(matrix.diagonal()))
    one_way = pattern_sum.nnz - loops == 2 * (matrix.nnz - loops)
    if is_directed is False or (is_directed is None and one_way):
        directed, said = "either", "undirected: every edge was listed in one direction"
    else:
        said = TREATMENTS[directed]
    combined = matrix.maximum(matrix.T) if directed == "either" else pattern_sum
    combined = combined.tocsr()
    combined.sort_indices()
    starts, neighbours = combined.indptr.astype(np.int64), combined.indices.astype(np.int32, copy=False)
    return Rows(starts, neighbours, _narrow(combined.data)), directed != "either", said


def _equals_transpose(matrix: Any) -> bool:
    return bool((matrix != matrix.T).nnz == 0)


def _split_diagonal(rows: Rows) -> tuple[Rows, Integers]:
    loops = _as_scipy(rows).diagonal().astype(np.int64)
    if not loops.any():
        return rows, loops
    owners = np.repeat(np.arange(rows.size, dtype=np.int32), np.diff(rows.starts))
    owners_differ = owners != rows.neighbours
    counts = np.diff(rows.starts) - (loops > 0)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    weights = rows.weights[owners_differ] if rows.weights.size else rows.weights
    return Rows(starts, rows.neighbours[owners_differ], weights), loops


def _drop_equal_weights(rows: Rows, loops: Integers, unit: float) -> tuple[Rows, Integers, float]:
    """The same graph without stored weights if they are all equal."""
    if rows.weights.size == 0:
        return rows, loops, unit
    common = int(rows.weights[0])
    if bool((rows.weights == common).all()) and not bool((loops % common).any()) and common < 1 << 40:
        return Rows(rows.starts, rows.neighbours, np.zeros(0, dtype=np.int32)), loops // common, unit * common
    return rows, loops, unit
