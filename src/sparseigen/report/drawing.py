"""Which vertices and edges of a dense subgraph are drawn, and where."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Sequence

import numpy as np

from sparseigen.graphs.model import IntegerGraph
from sparseigen.inputs.optional import require

MOST_DRAWN = 300
"""Vertices drawn of one set; more are a blot."""
MOST_PLACED = 1200
"""Vertices drawn over all sets together: one layout places them all, so that nothing jumps when k changes."""
MOST_EDGES = 600
"""Edges drawn of one set, the heaviest."""


def drawn_vertices(groups: Sequence[Sequence[int]]) -> list[int]:
    """The vertices that get a place: the best connected of each set, those in most sets first when there are too many.

    Examples
    --------
    >>> drawn_vertices([[3, 1], [1, 2]])
    [1, 2, 3]
    """
    counts = Counter(v for group in groups for v in group[:MOST_DRAWN])
    return sorted(vertex for vertex, _ in counts.most_common(MOST_PLACED))


def heaviest_edges(graph: IntegerGraph, vertices: Sequence[int]) -> list[tuple[int, int, float]]:
    """The heaviest edges among these vertices, each once, heaviest first."""
    chosen = np.sort(np.asarray(vertices, dtype=np.int64))
    if not len(chosen):
        return []
    rows = graph.induced(chosen).rows
    ends = np.repeat(np.arange(rows.size), np.diff(rows.starts))
    once = np.flatnonzero(ends < rows.neighbours)
    weights = rows.all_weights()[once]
    best = once[np.argsort(-weights, kind="stable")[:MOST_EDGES]]
    all_weights = rows.all_weights()
    return [(int(chosen[ends[e]]), int(chosen[rows.neighbours[e]]), float(all_weights[e]) * graph.unit) for e in best]


def force_layout(graph: IntegerGraph, vertices: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Places by attraction along edges and repulsion between vertices (Fruchterman-Reingold), always the same."""
    networkx = require("networkx", purpose="the drawing of a subgraph without positions")
    chosen = np.sort(np.asarray(vertices, dtype=np.int64))
    rows = graph.induced(chosen).rows
    drawing = networkx.Graph()
    drawing.add_nodes_from(range(rows.size))
    ends = np.repeat(np.arange(rows.size), np.diff(rows.starts))
    weights = rows.all_weights() / max(1.0, float(graph.heaviest))
    drawing.add_weighted_edges_from(zip(ends.tolist(), rows.neighbours.tolist(), weights.tolist(), strict=True))
    # "force" is plain NumPy and seeded; the default changes with the size of the graph. Before 3.5 there is no other.
    has_methods = "method" in inspect.signature(networkx.spring_layout).parameters
    chosen_method = {"method": "force"} if has_methods else {}
    places = networkx.spring_layout(drawing, seed=0, iterations=100, **chosen_method)
    return {int(chosen[i]): (float(x), float(y)) for i, (x, y) in places.items()}
