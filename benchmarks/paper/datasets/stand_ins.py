"""Synthetic stand-ins for the web graphs that cannot be had: as many nodes and arcs, for speed only.

Ends of edges are drawn in proportion to power-law weights (Chung-Lu), so degrees are as uneven as in web and social
graphs, but there are no communities and no cliques. Densities found here say nothing about the paper's graphs.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.graphs.scale import power_law_ranks
from benchmarks.paper.datasets.web_graphs import GRAPHS
from sparseigen.graphs.model import IntegerGraph
from sparseigen.kernels.graph import Rows

STAND_INS = ("amazon-2008", "ljournal-2008", "hollywood-2009")


def draw(name: str, seed: int, *, shrink: int = 1) -> IntegerGraph:
    """An undirected graph without loops with the nodes and arcs of a graph of Table 6 (both divided by `shrink`)."""
    nodes, arcs = GRAPHS[name].nodes // shrink, GRAPHS[name].arcs // shrink
    rng = np.random.default_rng([seed, STAND_INS.index(name)])
    keys = _edges(rng, nodes, arcs // 2)
    ends = (keys // nodes).astype(np.int32), (keys % nodes).astype(np.int32)
    del keys
    upper = sp.coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(nodes, nodes)).tocsr()
    del ends
    both = (upper + upper.T).tocsr()
    both.sort_indices()
    rows = Rows(both.indptr.astype(np.int64), both.indices.astype(np.int32, copy=False), np.zeros(0, dtype=np.int32))
    return IntegerGraph(rows, np.zeros(nodes, dtype=np.int64), 1.0, exact=True)


def _edges(rng: np.random.Generator, nodes: int, wanted: int) -> np.ndarray:
    """Distinct edges as low * nodes + high, ascending."""
    names = rng.permutation(nodes)
    keys = np.zeros(0, dtype=np.int64)
    kept = 0.7
    while len(keys) < wanted:
        count = int((wanted - len(keys)) / kept) + 1000
        first, second = (names[power_law_ranks(rng, nodes, count)] for _ in range(2))
        low, high = np.minimum(first, second), np.maximum(first, second)
        drawn = (low * nodes + high)[low != high]
        drawn.sort()
        before = len(keys)
        keys = np.concatenate([keys, drawn])
        keys.sort(kind="stable")  # two ascending runs: one merge
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
        kept = max((len(keys) - before) / count, 0.05)
    return np.delete(keys, rng.choice(len(keys), len(keys) - wanted, replace=False))
