"""networkx: the densest subgraph of any size, by two iterative methods."""

from __future__ import annotations

import numpy as np

from benchmarks.speed.cells import Problem
from benchmarks.speed.peers.interface import Fit


def densest(method: str, iterations: int) -> Fit:
    def fit(problem: Problem, size: float, seed: int) -> np.ndarray:
        from networkx.algorithms.approximation import densest_subgraph

        _, chosen = densest_subgraph(problem.graph, iterations=iterations, method=method)
        return np.array(sorted(chosen, key=str))

    return fit
