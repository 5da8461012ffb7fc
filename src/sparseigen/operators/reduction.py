"""Partial results of row partitions, merged in an order that does not depend on who computed them.

Partition i is leaf i of a binary tree over all partitions. Whoever holds neighbouring nodes may merge them, and
nothing else is ever merged, so that the sums come out the same to the last bit on any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Nodes = dict[tuple[int, int], Any]
"""Level and position in the tree -> partial result; None for partitions without rows."""


def folded(nodes: Nodes, count: int, merge: Callable[[Any, Any], Any]) -> Nodes:
    """All merges that are possible among these nodes of a tree over ``count`` leaves."""
    nodes = dict(nodes)
    level = 0
    while 1 << level < count:
        for place in sorted(position for height, position in nodes if height == level and position % 2 == 0):
            sibling = (level, place + 1)
            if (place + 1) << level >= count:  # there is no right neighbour
                nodes[level + 1, place // 2] = nodes.pop((level, place))
            elif sibling in nodes:
                first, second = nodes.pop((level, place)), nodes.pop(sibling)
                nodes[level + 1, place // 2] = _merged(first, second, merge)
        level += 1
    return nodes


def combined(parts: list[Nodes], count: int, merge: Callable[[Any, Any], Any]) -> Nodes:
    """The nodes of several holders together, merged as far as possible."""
    together: Nodes = {}
    for part in parts:
        together |= part
    return folded(together, count, merge)


def root(nodes: Nodes) -> Any:
    """The result of all leaves."""
    (result,) = nodes.values()
    return result


def _merged(first: Any, second: Any, merge: Callable[[Any, Any], Any]) -> Any:
    if first is None or second is None:
        return second if first is None else first
    return merge(first, second)
