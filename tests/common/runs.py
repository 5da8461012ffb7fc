"""Runs of Algorithm 1 by themselves, without what surrounds them in a solve."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen.operators import Operator
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.interface import SolverOptions
from sparseigen.solvers.truncated_power import Run, iterate, iterate_many


def run_from(operator: Operator, indices: list[int], cardinality: int, **options: Any) -> Run:
    """One run from equal weights at these variables."""
    start = SparseVector(np.array(indices), np.full(len(indices), len(indices) ** -0.5))
    return iterate(operator, cardinality, ("vector", start), SolverOptions(**options))


def runs_together(operator: Operator, cardinalities: list[int], **options: Any) -> list[Run]:
    """Runs that step together from the variable of largest variance."""
    start = SparseVector(np.array([int(operator.diagonal().argmax())]), np.ones(1))
    return iterate_many(operator, cardinalities, ("max-variance", start), SolverOptions(**options))
