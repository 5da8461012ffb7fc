"""Small sets of a graph without weights, proven one size after the other by what is around each vertex.

Let no j - 1 vertices have more than U_{j-1} edges. In a set of j vertices with more than L edges every vertex then has
at least d = L + 1 - U_{j-1} neighbours in the set: without it at most U_{j-1} edges are left. So the set survives when
vertices with fewer than d neighbours leave the graph, and edges whose ends share fewer than 2d - j neighbours, again
and again; what is left is little, and `kernels.local_sets` searches it around each vertex. Where it finds no set,
U_j = L; where it does, L rises. For 2d < j - 1 the search goes by the vertices with the average number of neighbours,
2 (L + 1)/j, or more; where that and d are not above j - 2 either, the size is given up.

Two rules bound the sizes that are too large for that. Every edge is in j - 2 of the j sets that leave one vertex out,
so that U_j <= j U_{j-1} / (j - 2); and some vertex of every set has no more neighbours in it than the degeneracy c of
the graph, so that U_j <= U_{j-1} + c. Both keep what is gained for small sets. All numbers are whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.branching import Bracket
from sparseigen.graphs.model import IntegerGraph
from sparseigen.graphs.search import SHAKE, resize_set
from sparseigen.graphs.vertex_sets import VertexSet
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Integers, Rows
from sparseigen.kernels.local_sets import FOUND, GIVEN_UP, NONE

METHOD = "local search"
LARGEST = 40
"""Sets of more vertices are not searched for around each vertex."""
LARGEST_HELPED = 1000
"""What is known of small sets says little of sets of more vertices."""
WORD_WORK, SHARED_WORK, ARC_WORK, ORDER_WORK, VERTEX_WORK, SIZE_WORK = 0.7, 5.0, 30.0, 250.0, 50.0, 3e5
"""Nanoseconds, about: per word that the search compares, per path of two edges, per arc of a graph that is reduced,
per arc of one that is searched, per vertex of the graph and set that is polished, per set."""
MOST_ROUNDS = 20
ENOUGH = 0.02
"""Another round of leaving out follows where the last one took more than this share of the entries."""


class SmallSets:
    """Bounds on the edges of small sets, each from the one before."""

    def __init__(self, facts: GraphFacts, known: Integers, work: float, deadline: float) -> None:
        """``known``: entry i bounds the weight of i + 1 vertices, twice their edges; ``work`` in nanoseconds."""
        self.facts, self.graph, self.deadline = facts, facts.graph, deadline
        self.work_left = self._work = work
        self.caps: Integers = np.concatenate([[0], known // 2])
        self.degeneracy = int(facts.core_values[-1]) // 2
        self.sets: dict[int, VertexSet] = {}
        self._reduced: tuple[int, int, Rows, Integers] | None = None

    @staticmethod
    def applies(facts: GraphFacts) -> bool:
        """Whether all edges weigh the same and nothing else counts."""
        graph = facts.graph
        return facts.is_whole and graph.rows.weights.size == 0 and not graph.loops.any() and graph.size > 2

    @property
    def work_done(self) -> float:
        """Nanoseconds, about."""
        return self._work - self.work_left

    def bounds(self) -> Integers:
        """Entry i bounds the weight of i + 1 vertices."""
        return 2 * self.caps[1:]

    def climb(self, brackets: Iterable[Bracket], gap: float) -> None:
        """Bound the sets of every size up to the largest bracket's, and enter what that gives into the brackets."""
        wanted = sorted((bracket for bracket in brackets if bracket.count <= LARGEST_HELPED), key=lambda b: b.count)
        if not wanted:
            return
        self._enter_sets(wanted)
        open_sizes = [bracket.count for bracket in wanted if bracket.gap > gap]
        last, size = min(LARGEST, max(open_sizes, default=0)), 2
        while size < last and self._close(size + 1):
            size += 1
        self._carry_over(size)
        for bracket in wanted:
            self._improve(bracket)

    def _enter_sets(self, brackets: list[Bracket]) -> None:
        for bracket in brackets:
            self.sets[bracket.count] = VertexSet.of(self.graph, bracket.vertices)

    def _improve(self, bracket: Bracket) -> None:
        found, bound = self.sets.get(bracket.count), 2 * int(self.caps[bracket.count])
        if found is not None and found.value > bracket.value:
            bracket.value, bracket.vertices, bracket.improved = found.value, found.vertices, True
        if bound < bracket.bound:
            bracket.bound, bracket.method = max(bound, bracket.value), METHOD

    def _carry_over(self, size: int) -> None:
        """Bounds of larger sets from those of smaller ones."""
        for larger in range(max(size, 2) + 1, len(self.caps)):
            self.caps[larger] = min(self.caps[larger], self._follow(larger))

    def _follow(self, size: int) -> int:
        """The bound that the one of the size before gives."""
        before = int(self.caps[size - 1])
        return min(size * before // (size - 2), before + self.degeneracy)

    def _close(self, size: int) -> bool:
        """Bound the sets of one size; False: that was given up."""
        self.caps[size] = cap = min(int(self.caps[size]), self._follow(size))
        chosen = self._find_set(size, cap)
        while chosen.value // 2 < cap:
            edges = chosen.value // 2
            least = edges + 1 - int(self.caps[size - 1])
            # Some vertex of a better set has at least as many neighbours in it as the average.
            central = least if 2 * least > size - 2 else -(-2 * (edges + 1) // size)
            if least < 1 or central + least <= size - 2 or self.work_left <= 0.0 or time.perf_counter() > self.deadline:
                return False
            rows, numbers = self._reduce(least, 2 * least - size)
            verdict, places = self._search(rows, size, edges + 1, least, central)
            if verdict == FOUND:
                chosen = self.sets[size] = VertexSet.of(self.graph, np.sort(numbers[places]))
                self._polish(chosen)
            elif verdict == NONE:
                self.caps[size] = edges
                return True
            else:
                return False
        self.caps[size] = chosen.value // 2
        return True

    def _find_set(self, size: int, cap: int) -> VertexSet:
        """A good set: from those of other sizes, by exchanges unless it reaches the bound already."""
        larger = min((count for count in self.sets if count >= size), default=0)
        fixed, found = self.graph.no_flags(), []
        for start in [self.sets[count] for count in {size - 1, larger} if count in self.sets]:
            found.append(VertexSet.of(self.graph, resize_set(self.graph, fixed, start.vertices, size)))
            if found[-1].value // 2 < cap:
                self._polish(found[-1])
        self.sets[size] = best = max(found, key=lambda chosen: chosen.value)
        return best

    def _polish(self, chosen: VertexSet) -> None:
        fixed = self.graph.no_flags()
        chosen.polish(fixed, patience=SHAKE.patience, max_steps=SHAKE.max_steps, width=SHAKE.width, seed=0)
        self.work_left -= VERTEX_WORK * self.graph.size + SIZE_WORK

    def _search(self, rows: Rows, size: int, edges: int, least: int, central: int) -> tuple[int, Integers]:
        """Search what is left, the vertices in the order that peeling removes them."""
        none = np.zeros(0, dtype=np.int64)
        if rows.size < size:
            return NONE, none
        self.work_left -= ORDER_WORK * len(rows.neighbours)
        if self.work_left <= 0.0:
            return GIVEN_UP, none
        left = IntegerGraph(rows, np.zeros(rows.size, dtype=np.int64), 1.0, True)
        order, _ = graph_kernels.peel(left.rows, left.loops, left.no_flags())
        rank = np.empty(rows.size, dtype=np.int64)
        rank[order] = np.arange(rows.size)
        ordered = _renumber(rows, rank, order)
        most = max(1, int(self.work_left / WORD_WORK))
        verdict, places, work = graph_kernels.find_local_set(
            ordered.starts, ordered.neighbours, size, edges, least, central, self.caps[: size + 1], most
        )
        self.work_left -= WORD_WORK * work
        return verdict, order[places]

    def _reduce(self, least: int, shared: int) -> tuple[Rows, Integers]:
        """The graph without what no set can use: its rows, and the numbers of its vertices."""
        earlier = self._reduced
        if earlier is not None and earlier[0] <= least and earlier[1] <= shared:
            rows, numbers = earlier[2], earlier[3]
        else:
            first = int(np.searchsorted(self.facts.core_values, 2 * least, side="left"))
            numbers = np.sort(self.facts.removal_order[first:])
            rows = graph_kernels.induced(self.graph.rows, numbers)
        for _ in range(MOST_ROUNDS):
            before = len(rows.neighbours)
            self.work_left -= ARC_WORK * before
            rows, numbers = _drop_vertices(rows, numbers, least)
            if shared > 0 and self._affords_paths(rows):
                rows = _drop_edges(rows, graph_kernels.count_shared(rows.starts, rows.neighbours) >= shared)
            if before - len(rows.neighbours) <= ENOUGH * before:
                break
        self._reduced = (least, shared, rows, numbers)
        return rows, numbers

    def _affords_paths(self, rows: Rows) -> bool:
        """Whether there is work left to look at all paths of two edges; if so, it is spent."""
        work = SHARED_WORK * float((np.diff(rows.starts).astype(np.float64) ** 2).sum())
        affords = work <= self.work_left
        self.work_left -= work if affords else 0.0
        return affords


def _drop_vertices(rows: Rows, numbers: Integers, least: int) -> tuple[Rows, Integers]:
    """Leave out vertices with too few neighbours, and those that have too few then."""
    while True:
        kept = np.flatnonzero(np.diff(rows.starts) >= least).astype(np.int64)
        if len(kept) == rows.size:
            return rows, numbers
        rows, numbers = graph_kernels.induced(rows, kept), numbers[kept]


def _drop_edges(rows: Rows, kept: NDArray[np.bool_]) -> Rows:
    before = np.zeros(len(kept) + 1, dtype=np.int32 if len(kept) < 2**31 else np.int64)
    np.cumsum(kept, out=before[1:])
    return Rows(before[rows.starts].astype(np.int64), rows.neighbours[kept], rows.weights)


def _renumber(rows: Rows, rank: Integers, order: Integers) -> Rows:
    """The rows with vertex ``order[i]`` as number i, neighbours ascending."""
    lengths = np.diff(rows.starts)[order]
    owners = rank[np.repeat(np.arange(rows.size), np.diff(rows.starts))]
    entries = np.lexsort((rank[rows.neighbours], owners))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Rows(starts, rank[rows.neighbours][entries].astype(np.int32), rows.weights)
