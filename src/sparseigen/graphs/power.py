"""Algorithm 2 of the paper: the truncated power method for the densest k-subgraph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseigen.graphs.vertex_set import VertexSet
from sparseigen.kernels import graph as graph_kernels
from sparseigen.kernels.graph import Flags
from sparseigen.results import StopReason

LARGEST_SHIFT = 1 << 61
"""A shift beyond every product: the set stays as it is."""


@dataclass(frozen=True)
class PowerRun:
    """One run of Algorithm 2; the set itself was changed in place."""

    stop_reason: StopReason
    n_iterations: int
    history: list[int]
    shifts: int
    """How often the shift was raised."""


def truncated_power(chosen: VertexSet, count: int, fixed: Flags, *, max_iterations: int = 1000) -> PowerRun:
    """Replace the set by the k vertices with the most weight to it, until nothing changes.

    When the objective would fall, the step is repeated on W + shift I, the shift growing tenfold from a hundredth of
    the largest weight: a schedule under which the densities of the paper's airline experiment come out as published.
    Ties go to the lowest index. The product is updated only for the vertices that enter or leave.
    """
    history = [chosen.value]
    shifts = 0
    for iteration in range(1, max_iterations + 1):
        before = chosen.value
        moved, raised = _step(chosen, count, fixed)
        shifts += raised
        if not moved:
            return PowerRun(StopReason.FIXED_POINT, iteration, history, shifts)
        history.append(chosen.value)
        if chosen.value == before:
            return PowerRun(StopReason.VALUE_STALLED, iteration, history, shifts)
    return PowerRun(StopReason.ITERATION_LIMIT, max_iterations, history, shifts)


def _step(chosen: VertexSet, count: int, fixed: Flags) -> tuple[bool, int]:
    """One iteration: whether the set changed, and how often the shift was raised."""
    graph = chosen.graph
    shift, raised = 0, 0
    while True:
        best = graph_kernels.top_vertices(chosen.product, chosen.members, graph.loops, fixed, shift, count)
        entering = best[chosen.members[best] == 0]
        if entering.size == 0:
            return False, raised
        present = chosen.vertices
        leaving = np.setdiff1d(present, best, assume_unique=True)
        if chosen.value_after(entering, leaving) >= chosen.value:
            chosen.move(entering, leaving, result=best)
            return True, raised
        # Products are doubled in the kernel, so a shift of lambda is 2 lambda there.
        shift = min(max(1, 2 * graph.heaviest * 10**raised // 100), LARGEST_SHIFT)
        raised += 1
