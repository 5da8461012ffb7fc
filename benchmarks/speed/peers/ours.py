"""sparseigen, from the same input as the other packages: the operator is built inside the time taken."""

from __future__ import annotations

from typing import Any

import numpy as np

import sparseigen as se
from benchmarks.speed.cells import Problem
from benchmarks.speed.peers.interface import Fit


def _matrix(problem: Problem) -> Any:
    return se.covariance(problem.data) if problem.matrix is None else problem.matrix


def solve(**options: Any) -> Fit:
    def fit(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
        return se.sparse_eigenvector(_matrix(problem), int(cardinality), **options).vector

    return fit


plain = solve(start="max-variance", polish=None, certify=False)
default = solve()
uncertified = solve(certify=False)


def densest(problem: Problem, size: float, seed: int) -> np.ndarray:
    return np.array(se.densest_k_subgraph(problem.graph, int(size)).nodes)
