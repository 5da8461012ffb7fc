"""The relaxation to the sparse eigenvalue problem: Algorithm 1 on W, then its support."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sparseigen.graphs.model import IntegerGraph
from sparseigen.kernels.graph import Flags, Integers
from sparseigen.solve import sparse_eigenvector


def relaxed_set(graph: IntegerGraph, count: int, fixed: Flags) -> tuple[Integers, int]:
    """The k vertices of largest weight in Algorithm 1's vector, and its iterations.

    It starts at the k largest degrees, as Algorithm 2 does. A vector with fewer than k non-zeros is filled up by
    degree. Vertices that must be included replace those of least weight.
    """
    required = np.flatnonzero(fixed)
    weights = np.zeros(graph.size)
    iterations = 0
    if graph.degrees.any():
        rows = graph.rows
        scale = float(max(graph.heaviest, int(graph.loops.max(initial=0))))
        matrix = sp.csr_array((rows.all_weights() / scale, rows.neighbours, rows.starts), shape=(graph.size,) * 2)
        matrix = (matrix + sp.diags_array(graph.loops / scale)).tocsr()
        start = np.zeros(graph.size)
        start[graph.degree_order[:count]] = 1.0
        result = sparse_eigenvector(matrix, count, start=start, polish=None, certify=False)
        weights, iterations = np.abs(result.vector), result.n_iterations
    weights[required] = np.inf
    order = np.lexsort((np.arange(graph.size), -graph.degrees, -weights))
    return np.sort(order[:count]).astype(np.int64), iterations
