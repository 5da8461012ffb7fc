"""Greedy-Ravi as the authors ran it.

The paper's words are: from a heaviest edge on, add the vertex that gains most weight, until k vertices are chosen. The
authors' program does something else; every point of their curves comes out exactly when

- the start is the first largest stored entry of W in column order, its diagonal included. On an unweighted graph nearly
  all entries are equal, so this is an edge among the vertices of lowest number; on a self-loop it is one vertex twice,
  which then counts twice in every gain. From a million vertices on only the leading 10,000 x 10,000 block is looked at;
- k - 1 vertices are added to the two: the set has k + 1. The density divides by k all the same;
- a gain is the sum of the columns of the chosen vertices, ties going to the lowest number.
"""

from __future__ import annotations

import heapq
import time

import numpy as np
import scipy.sparse as sp

LARGE = 1_000_000
BLOCK = 10_000


def first_entry(matrix: sp.csc_array, *, large: int = LARGE, block: int = BLOCK) -> tuple[int, int]:
    """Row and column of the first largest entry, column by column."""
    if matrix.shape[0] >= large:
        leading = matrix[:, :block].tocsr()[:block].tocsc()
        matrix = leading if leading.nnz else matrix
    matrix.sort_indices()
    if matrix.nnz == 0:
        raise ValueError("Greedy-Ravi starts from an edge; the graph has none.")
    entry = int(np.argmax(matrix.data))
    return int(matrix.indices[entry]), int(np.searchsorted(matrix.indptr, entry, side="right")) - 1


def authors_ravi(matrix: sp.csc_array, sizes: list[int]) -> tuple[dict[int, list[int]], dict[int, float]]:
    """The k + 1 list entries for each k of `sizes`, and the seconds of processor time after which they were reached.

    One run to the largest k passes all the others. Gains only grow, so a heap whose outdated entries are dropped when
    they come up finds the largest without looking at every vertex.
    """
    began = time.process_time()
    columns = matrix if matrix.format == "csc" else matrix.tocsc()
    gains, chosen = np.zeros(columns.shape[0]), np.zeros(columns.shape[0], dtype=bool)
    order: list[int] = []
    heap: list[tuple[float, int]] = []
    lowest = 0

    def take(vertex: int) -> None:
        order.append(vertex)
        chosen[vertex] = True
        entries = slice(columns.indptr[vertex], columns.indptr[vertex + 1])
        rows = columns.indices[entries]
        gains[rows] += columns.data[entries]
        for row in rows[~chosen[rows]].tolist():
            heapq.heappush(heap, (-gains[row], row))

    for vertex in first_entry(columns):
        take(vertex)
    sets, seconds = {}, {}
    for k in sorted(sizes):
        while len(order) < k + 1:
            while heap and (chosen[heap[0][1]] or -heap[0][0] != gains[heap[0][1]]):
                heapq.heappop(heap)
            if not heap:  # nothing is connected to the set any more: all gains are 0
                while chosen[lowest]:
                    lowest += 1
            take(heap[0][1] if heap else lowest)
        sets[k], seconds[k] = list(order), time.process_time() - began
    return sets, seconds
