"""How a node of the search is split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparseigen.certificates.probing import Node


def children(node: Node, cutoff: float) -> list[Node]:
    """Branch on the free variable of largest weight among those whose row is above the cutoff.

    Every support above the cutoff holds a variable whose row is above it, so when no inside row is and only one free
    row is, that variable is in: one child.
    """
    free_rows = node.rows[node.n_inside :]
    above = np.flatnonzero(free_rows > cutoff)
    inside_above = bool((node.rows[: node.n_inside] > cutoff).any())
    pool = above if above.size else np.arange(len(free_rows))
    chosen = node.n_inside + int(pool[node.weights[node.n_inside + pool].argmax()])
    taken = _moved_inside(node, chosen)
    if not inside_above and above.size == 1:
        return [taken]
    keep = np.arange(len(node.members)) != chosen
    left = replace(node, members=node.members[keep], weights=node.weights[keep], rows=node.rows[keep])
    return [taken, left]


def _moved_inside(node: Node, position: int) -> Node:
    order = np.concatenate([np.arange(node.n_inside), [position], np.arange(node.n_inside, len(node.members))])
    order = np.delete(order, position + 1)
    return replace(
        node,
        members=node.members[order],
        weights=node.weights[order],
        rows=node.rows[order],
        n_inside=node.n_inside + 1,
    )
