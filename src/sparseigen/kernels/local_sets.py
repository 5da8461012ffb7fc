"""Small sets with many edges, searched around each vertex, in NumPy: the twin of ``src/cpp/local_sets.cpp``.

Let every vertex of the sets that are looked for have at least d neighbours in the set, which has j vertices. Two
neighbours then share at least 2d - j neighbours in the set, two other vertices at least 2d - j + 2. A vertex with at
least c neighbours in the set, c + d > j - 2, is called central: it and another one share c + d - j neighbours, or
c + d - j + 2 >= 1 where they are not joined, so that the set lies within two steps of it. Vertices before the first
central one have less than c neighbours in the set; for c = d all vertices are central and none is before.

Among what is left around a first central vertex a branch takes a vertex or leaves it for good, and ends where a vertex
cannot have d neighbours, or where no choice of the q missing vertices can bring enough edges: e edges so far and, for
the best q vertices, their edges to those taken and half of at most q - 1 edges to others; or those edges and the most
edges that any q vertices have.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Integers = NDArray[np.int64]
MOST_CANDIDATES, WORD, ROW_WORK, ENTRY_WORK = 4096, 64, 8, 4
"""ROW_WORK: what a row costs beside its words, in words; ENTRY_WORK: what an entry costs where it is not a bit."""
FOUND, NONE, GIVEN_UP = 1, 0, -1


def count_shared(starts: Integers, neighbours: NDArray[np.int32]) -> NDArray[np.int32]:
    """For every entry of the rows of a graph how many neighbours its two vertices have in common."""
    size = len(starts) - 1
    ones = np.ones(len(neighbours), dtype=np.int32)
    matrix = sp.csr_array((ones, neighbours.astype(np.int64), starts), shape=(size, size))
    paths = (matrix @ matrix).tocsr()
    owners = np.repeat(np.arange(size), np.diff(starts))
    shared: NDArray[np.int32] = np.asarray(paths[owners, neighbours], dtype=np.int32).ravel()
    return shared


def find_local_set(
    starts: Integers,
    neighbours: NDArray[np.int32],
    count: int,
    edges: int,
    least: int,
    central: int,
    caps: Integers,
    most_work: int,
) -> tuple[int, Integers, int]:
    """A set of ``count`` vertices with ``edges`` edges, each of its vertices with ``least`` neighbours in it.

    One of them must have ``central`` neighbours in it, with least + central > count - 2: sets without one are not
    looked for. Gives the verdict (FOUND, NONE, GIVEN_UP), the set, and the work: words of 64 vertices compared, about.
    ``caps``: entry q bounds the edges of any q vertices. Sets whose first central vertex, in the order of the numbers,
    comes early are looked for first.
    """
    search = _Around(count, edges, least, central, caps.tolist(), most_work)
    rows = [set(neighbours[first:last].tolist()) for first, last in pairwise(starts.tolist())]
    for first in range(len(rows)):
        others, work = _find_candidates(rows, first, count, least, central)
        search.work += ENTRY_WORK * work
        if search.work > most_work:
            return GIVEN_UP, np.zeros(0, dtype=np.int64), search.work
        if len(others) < count - 1:
            continue
        if len(others) > MOST_CANDIDATES:
            return GIVEN_UP, np.zeros(0, dtype=np.int64), search.work
        search.work += ENTRY_WORK * sum(len(rows[vertex]) for vertex in others)
        numbers = [*others, first]
        place = {vertex: number for number, vertex in enumerate(numbers)}
        search.rows = [sum(1 << place[u] for u in rows[vertex] if u in place) for vertex in numbers]
        search.taken, search.earlier = [len(others)], sum(vertex < first for vertex in others)
        if search.descend((1 << len(others)) - 1, 1 << len(others), 0):
            return FOUND, np.array([numbers[u] for u in search.taken], dtype=np.int64), search.work
        if search.work > most_work:
            return GIVEN_UP, np.zeros(0, dtype=np.int64), search.work
    return NONE, np.zeros(0, dtype=np.int64), search.work


def _find_candidates(rows: list[set[int]], first: int, count: int, least: int, central: int) -> tuple[list[int], int]:
    """Vertices that share enough neighbours with a first central one, later ones where all are central; the work."""
    since = -1 if central > least else first
    joined = {u for u in rows[first] if u > since}
    if len(joined) < central:
        return [], 0
    shared: dict[int, int] = dict.fromkeys(joined, 0)
    work = 0
    for vertex in joined:
        others = [other for other in rows[vertex] if other > since]
        work += len(others)
        for other in others:
            shared[other] = shared.get(other, 0) + 1
    shared.pop(first, None)
    needed = central + least - count
    return sorted(u for u, number in shared.items() if number >= (needed if u in joined else needed + 2)), work


class _Around:
    """The search around one first vertex; sets of vertices are the bits of a number."""

    def __init__(self, count: int, edges: int, least: int, central: int, caps: list[int], most_work: int) -> None:
        self.count, self.edges, self.least, self.central = count, edges, least, central
        self.caps, self.most_work = caps, most_work
        self.work = self.earlier = 0
        self.rows: list[int] = []
        self.taken: list[int] = []

    def descend(self, rest: int, inside: int, edges: int) -> bool:
        """Whether a set is found that holds the vertices taken and others of the rest."""
        missing = self.count - len(self.taken)
        while True:
            if missing == 0:
                return edges >= self.edges
            if self.work > self.most_work:
                return False
            rest, pick = self._look(rest, inside, missing, edges)
            if pick < 0:
                return False
            row = self.rows[pick]
            self._spend(rest.bit_count())
            self.taken.append(pick)
            left = self._filter(rest & ~(1 << pick), row & (rest | inside), row)
            if self.descend(left, inside | 1 << pick, edges + (row & inside).bit_count()):
                return True
            self.taken.pop()
            rest &= ~(1 << pick)

    def _look(self, rest: int, inside: int, missing: int, edges: int) -> tuple[int, int]:
        """The rest without what cannot be in the set, and the vertex to branch on; -1: the bound leaves nothing."""
        while True:
            for vertex in self.taken:
                row = self.rows[vertex]
                within = (row & inside).bit_count()
                needed = self.central if vertex == len(self.rows) - 1 else self.least
                if within + min((row & rest).bit_count(), missing) < needed or within > self._most(vertex):
                    return rest, -1
            self._spend(2 * (rest.bit_count() + len(self.taken)))
            scores, kept = [], rest
            for vertex in _bits(rest):
                row = self.rows[vertex]
                # Vertices that were dropped in this round no longer count for later ones.
                within = (row & inside).bit_count()
                limit = min(missing - 1, self._most(vertex) - within)
                among = min((row & kept).bit_count(), limit)
                if within + among < self.least or limit < 0:
                    kept &= ~(1 << vertex)
                else:
                    scores.append((2 * within + among, -vertex, within))
            if len(scores) < missing:
                return kept, -1
            if kept != rest:
                rest = kept
                continue
            by_degrees = 2 * edges + sum(sorted((score[0] for score in scores), reverse=True)[:missing])
            inner = sum(sorted((score[2] for score in scores), reverse=True)[:missing])
            by_caps = 2 * (edges + inner + self.caps[missing])
            return rest, -1 if min(by_degrees, by_caps) < 2 * self.edges else -max(scores)[1]

    def _spend(self, rows: int) -> None:
        self.work += rows * ((len(self.rows) - 1) // WORD + 1 + ROW_WORK)

    def _most(self, vertex: int) -> int:
        """How many neighbours a vertex may have in the set: one before the first central vertex is not central."""
        return self.central - 1 if vertex < self.earlier else self.count

    def _filter(self, rest: int, shared: int, row: int) -> int:
        """What is left to choose from beside a vertex: two vertices of a set share neighbours in it."""
        needed, left = 2 * self.least - self.count, 0
        for vertex in _bits(rest):
            if (self.rows[vertex] & shared).bit_count() >= (needed if row >> vertex & 1 else needed + 2):
                left |= 1 << vertex
        return left


def _bits(number: int) -> list[int]:
    """The places of the bits, ascending."""
    places = []
    while number:
        low = number & -number
        places.append(low.bit_length() - 1)
        number ^= low
    return places
