"""The graph kernels in NumPy, and the rows of a graph as all of them take it.

The NumPy graph kernels: the truth the compiled twins are tested against.

All arithmetic is on whole numbers, so the twins agree to the last bit. The contribution of a vertex in a set is
``2 * (weight to the set) + loop``: what the objective pi'W pi loses when the vertex leaves.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels.local_sets import count_shared as count_shared
from sparseigen.kernels.local_sets import find_local_set as find_local_set
from sparseigen.kernels.set_cone import project_rows as project_rows
from sparseigen.kernels.set_cone import symmetrise as symmetrise

Integers = NDArray[np.int64]
Flags = NDArray[np.uint8]


class Rows(NamedTuple):
    """An adjacency matrix without its diagonal in compressed rows, neighbours ascending, weights whole numbers."""

    starts: Integers
    neighbours: NDArray[np.int32]
    weights: NDArray[Any]
    """int32 or int64, one per entry; of length 0 when all weights are 1 and none is stored."""

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.starts) - 1

    def entries(self, vertex: int) -> tuple[NDArray[np.int32], Integers]:
        """Neighbours and weights of one vertex."""
        row = slice(int(self.starts[vertex]), int(self.starts[vertex + 1]))
        neighbours = self.neighbours[row]
        if self.weights.size == 0:
            return neighbours, np.ones(len(neighbours), dtype=np.int64)
        return neighbours, self.weights[row].astype(np.int64)

    def all_weights(self) -> Integers:
        """One weight per entry, stored or not."""
        if self.weights.size == 0:
            return np.ones(len(self.neighbours), dtype=np.int64)
        return self.weights.astype(np.int64)


BUCKET_LIMIT = 1 << 22
"""Peeling uses buckets while the largest contribution is at most this much plus 16 per vertex, else a heap."""

_MASK = (1 << 64) - 1


def add_rows(rows: Rows, vertices: Integers, sign: int, product: Integers) -> None:
    """``product += sign * sum of the rows of these vertices``, in place."""
    lengths = rows.starts[vertices + 1] - rows.starts[vertices]
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    entries = np.repeat(rows.starts[vertices] - offsets, lengths) + np.arange(int(lengths.sum()))
    weights = rows.weights[entries].astype(np.int64) if rows.weights.size else np.ones(len(entries), dtype=np.int64)
    np.add.at(product, rows.neighbours[entries], sign * weights)


def signed_weight(rows: Rows, vertices: Integers, signs: Integers) -> int:
    """``d'W d`` for the vector d that is +1 or -1 (``signs``) at these vertices and 0 elsewhere."""
    vector = np.zeros(rows.size, dtype=np.int64)
    vector[vertices] = signs
    total = 0
    for vertex, sign in zip(vertices.tolist(), signs.tolist(), strict=True):
        neighbours, weights = rows.entries(vertex)
        total += sign * int(vector[neighbours] @ weights)
    return total


def top_vertices(product: Integers, members: Flags, loops: Integers, fixed: Flags, shift: int, count: int) -> Integers:
    """The ``count`` vertices of largest ``2 product + member (2 loop + shift)``, ascending.

    Fixed vertices come first; ties go to the lowest index.
    """
    scores = 2 * product + members.astype(np.int64) * (2 * loops + shift)
    scores[fixed != 0] = np.iinfo(np.int64).max
    if count >= scores.size:
        return np.arange(scores.size, dtype=np.int64)
    smallest_kept = np.partition(scores, scores.size - count)[scores.size - count]
    above = np.flatnonzero(scores > smallest_kept)
    ties = np.flatnonzero(scores == smallest_kept)[: count - above.size]
    return np.sort(np.concatenate([above, ties])).astype(np.int64)


def peel(rows: Rows, loops: Integers, fixed: Flags) -> tuple[Integers, Integers]:
    """Remove the vertex of least contribution until none is left: the order, and the contributions at removal.

    Fixed vertices go last, in ascending order. With small contributions ties go to the vertex changed last (buckets
    used as stacks), with large ones to the lowest index (a heap).
    """
    contributions = (2 * _degrees(rows) + loops).tolist()
    movable = np.flatnonzero(fixed == 0).tolist()
    largest = max((contributions[v] for v in movable), default=0)
    queue = _bucket_queue if largest <= 16 * rows.size + BUCKET_LIMIT else _heap_queue
    order: list[int] = []
    at_removal: list[int] = []
    gone = [False] * rows.size
    kept = np.flatnonzero(fixed).tolist()
    for vertex, change in _append_rest(queue(contributions, movable, largest), kept):
        order.append(vertex)
        at_removal.append(contributions[vertex])
        gone[vertex] = True
        neighbours, weights = rows.entries(vertex)
        for neighbour, weight in zip(neighbours.tolist(), weights.tolist(), strict=True):
            if not gone[neighbour]:
                change(neighbour, contributions[neighbour] - 2 * weight, bool(fixed[neighbour]))
                contributions[neighbour] -= 2 * weight
    return np.array(order, dtype=np.int64), np.array(at_removal, dtype=np.int64)


def _append_rest(queue: Iterator, kept: list[int]) -> Iterator:  # type: ignore[type-arg]
    yield from queue
    for vertex in kept:
        yield vertex, lambda neighbour, contribution, is_fixed: None


def _bucket_queue(contributions: list[int], movable: list[int], largest: int) -> Iterator:  # type: ignore[type-arg]
    """Vertices by least contribution, the last changed first; ordered dicts are stacks one can take from the middle."""
    buckets: dict[int, dict[int, None]] = {}
    for vertex in reversed(movable):
        buckets.setdefault(contributions[vertex], {})[vertex] = None
    lowest = 0

    def change(vertex: int, contribution: int, is_fixed: bool) -> None:
        nonlocal lowest
        if is_fixed:
            return
        del buckets[contributions[vertex]][vertex]
        buckets.setdefault(contribution, {})[vertex] = None
        lowest = min(lowest, contribution)

    for _ in movable:
        while not buckets.get(lowest):
            lowest += 1
        yield buckets[lowest].popitem()[0], change


def _heap_queue(contributions: list[int], movable: list[int], largest: int) -> Iterator:  # type: ignore[type-arg]
    """Vertices by least contribution, lowest index first; entries that are out of date are passed over."""
    heap = [(contributions[vertex], vertex) for vertex in movable]
    heapq.heapify(heap)
    done: set[int] = set()

    def change(vertex: int, contribution: int, is_fixed: bool) -> None:
        if not is_fixed:
            heapq.heappush(heap, (contribution, vertex))

    while heap:
        contribution, vertex = heapq.heappop(heap)
        if vertex not in done and contribution == contributions[vertex]:
            done.add(vertex)
            yield vertex, change


def grow(rows: Rows, loops: Integers, priority: Integers, seeds: Integers, count: int) -> Integers:
    """Add the vertex of largest contribution until ``count`` are chosen; ties by priority, then lowest index."""
    order = list(dict.fromkeys(seeds.tolist()))[:count]
    chosen = set(order)
    contributions = loops.copy()
    for vertex in order:
        neighbours, weights = rows.entries(vertex)
        contributions[neighbours] += 2 * weights
    heap = [(-int(contributions[v]), -int(priority[v]), v) for v in range(rows.size) if v not in chosen]
    heapq.heapify(heap)
    while len(order) < count and heap:
        contribution, _, vertex = heapq.heappop(heap)
        if vertex in chosen or -contribution != contributions[vertex]:
            continue
        chosen.add(vertex)
        order.append(vertex)
        neighbours, weights = rows.entries(vertex)
        contributions[neighbours] += 2 * weights
        for neighbour in neighbours.tolist():
            if neighbour not in chosen:
                heapq.heappush(heap, (-int(contributions[neighbour]), -int(priority[neighbour]), neighbour))
    return np.array(order, dtype=np.int64)


def fair_loads(rows: Rows, loops: Integers, sweeps: int, bits: int) -> tuple[Integers, int]:
    """Divide every edge between its ends so that the loads' squares sum to little; the loads and the sweeps made.

    Loads are in units of ``2**-bits`` and add up to the objective of the whole graph exactly.
    """
    owners = np.repeat(np.arange(rows.size), np.diff(rows.starts))
    above = rows.neighbours > owners
    first, second = owners[above].tolist(), rows.neighbours[above].tolist()
    whole = (rows.all_weights()[above] << (bits + 1)).tolist()
    part = [amount // 2 for amount in whole]
    loads = [int(loop) << bits for loop in loops]
    for i, j, amount in zip(first, second, part, strict=True):
        loads[i] += amount
        loads[j] += amount
    sweep, moved = 0, True
    while moved and sweep < sweeps:
        moved, sweep = False, sweep + 1
        for edge, (i, j) in enumerate(zip(first, second, strict=True)):
            difference = loads[j] - loads[i]
            step = difference // 2 if difference >= 0 else -(-difference // 2)
            taken = min(max(part[edge] + step, 0), whole[edge])
            change = taken - part[edge]
            if change:
                moved, part[edge] = True, taken
                loads[i] += change
                loads[j] -= change
    return np.array(loads, dtype=np.int64), sweep


def exchange(
    rows: Rows,
    loops: Integers,
    fixed: Flags,
    members: Flags,
    product: Integers,
    *,
    patience: int,
    max_steps: int,
    width: int,
    seed: int,
) -> tuple[int, int]:
    """Exchange one member for one outsider while that gains, in place; the gain and the steps made.

    With ``patience`` the search goes on through that many losing exchanges in a row (tabu search) and returns to the
    best set it saw.
    """
    search = _Exchanger(rows, loops, fixed, members, product, width)
    since_best: list[tuple[int, int]] = []
    current = best = step = 0
    while step < max_steps:
        pair = search.best_pair(step)
        if pair is None or (pair[0] <= 0 and len(since_best) >= patience):
            break
        gain, leaving, entering = pair
        step += 1
        search.apply(leaving, entering)
        current += gain
        since_best.append((leaving, entering))
        if current > best:
            best = current
            since_best.clear()
        if patience > 0:
            seed, first = _next_random(seed)
            seed, second = _next_random(seed)
            search.free_again[entering] = step + 2 + first % 4
            search.free_again[leaving] = step + 6 + second % 8
    for leaving, entering in reversed(since_best):
        search.apply(entering, leaving)
    return best, step


class _Exchanger:
    """The set being searched, with the contribution of every vertex kept up to date."""

    def __init__(
        self, rows: Rows, loops: Integers, fixed: Flags, members: Flags, product: Integers, width: int
    ) -> None:
        self.rows, self.fixed, self.members, self.product, self.width = rows, fixed != 0, members, product, width
        self.contributions = 2 * product + loops
        self.free_again = np.zeros(rows.size, dtype=np.int64)
        self.slack = 2 * int(rows.all_weights().max(initial=0))

    def best_pair(self, step: int) -> tuple[int, int, int] | None:
        free = self.free_again <= step
        inside = np.flatnonzero((self.members != 0) & free & ~self.fixed)
        outside = np.flatnonzero((self.members == 0) & free)
        if not inside.size or not outside.size:
            return None
        weakest = self._extremes(inside, self.contributions[inside])
        strongest = self._extremes(outside, -self.contributions[outside])
        best: tuple[int, int, int] | None = None
        for leaving in weakest:
            near = dict(zip(*(part.tolist() for part in self.rows.entries(leaving)), strict=True))
            for entering in strongest:
                most = int(self.contributions[entering] - self.contributions[leaving])
                if best is not None and most <= best[0]:
                    break
                gain = most - 2 * near.get(entering, 0)
                if best is None or gain > best[0]:
                    best = (gain, leaving, entering)
        return best

    def _extremes(self, vertices: Integers, keys: Integers) -> list[int]:
        near = keys <= keys.min() + self.slack
        vertices, keys = vertices[near], keys[near]
        kept: list[int] = vertices[np.lexsort((vertices, keys))[: self.width]].tolist()
        return kept

    def apply(self, leaving: int, entering: int) -> None:
        for vertex, sign in ((leaving, -1), (entering, 1)):
            self.members[vertex] = sign > 0
            neighbours, weights = self.rows.entries(vertex)
            self.product[neighbours] += sign * weights
            self.contributions[neighbours] += 2 * sign * weights


def _next_random(state: int) -> tuple[int, int]:
    """The splitmix64 generator: its next state and number."""
    state = (state + 0x9E3779B97F4A7C15) & _MASK
    mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return state, mixed ^ (mixed >> 31)


def is_symmetric(rows: Rows) -> bool:
    """Whether a matrix in compressed rows (columns ascending) equals its transpose."""
    owners = np.repeat(np.arange(rows.size), np.diff(rows.starts))
    mirrored = np.lexsort((owners, rows.neighbours))
    weights = rows.all_weights()
    return bool(
        np.array_equal(rows.neighbours[mirrored], owners)
        and np.array_equal(owners[mirrored], rows.neighbours)
        and np.array_equal(weights[mirrored], weights)
    )


def induced(rows: Rows, vertices: Integers) -> Rows:
    """The rows and columns of these vertices (ascending)."""
    position = np.full(rows.size, -1, dtype=np.int32)
    position[vertices] = np.arange(len(vertices), dtype=np.int32)
    owners = np.repeat(np.arange(rows.size), np.diff(rows.starts))
    kept = (position[owners] >= 0) & (position[rows.neighbours] >= 0)
    counts = np.bincount(position[owners[kept]], minlength=len(vertices))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    weights = rows.weights[kept] if rows.weights.size else rows.weights
    return Rows(starts, position[rows.neighbours[kept]], weights)


def _degrees(rows: Rows) -> Integers:
    owners = np.repeat(np.arange(rows.size), np.diff(rows.starts))
    degrees = np.zeros(rows.size, dtype=np.int64)
    np.add.at(degrees, owners, rows.all_weights())
    return degrees
