"""Some variables of a large covariance as a matrix of their own, and the way back to all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sparseigen.checks.arrays import CheckedArray
from sparseigen.operators.contract import Indices, Operator, SparseVector
from sparseigen.operators.matrix import DenseSymmetric
from sparseigen.solvers.interface import Progress, SolverOutcome

NEAR, FEWEST_NEAR = 2048, 512
"""Variables whose block is formed: at most, and at least where samples are many."""
BLOCK_WORK = 3.0e11
"""Multiplications that the block may cost; a few seconds."""


def count_near(operator: Operator) -> int:
    """How many variables to form the block of."""
    return int(np.clip(np.sqrt(BLOCK_WORK / max(count_samples(operator), 1)), FEWEST_NEAR, NEAR))


def find_base(operator: Any) -> Any:
    """The operator that deflations and shifts were made of."""
    while hasattr(operator, "base"):
        operator = operator.base
    return operator


def count_samples(operator: Operator) -> int:
    """The samples behind a covariance, or behind the one that it was made of; 0 where there are none."""
    return int(getattr(find_base(operator), "n_samples", 0))


def form_block(operator: Operator, near: Indices) -> DenseSymmetric:
    """The principal submatrix as a matrix of its own, with the errors that its entries inherit."""
    matrix = operator.submatrix(near)
    np.fill_diagonal(matrix, operator.diagonal()[near])  # the same bits, so that ties fall the same way
    names = None if operator.names is None else tuple(operator.names[i] for i in near)
    block = DenseSymmetric(
        CheckedArray(matrix, "dense", names), positive_semidefinite=True, entry_errors=operator.entry_errors()[near]
    )
    block.taken_out = operator.taken_out
    return block


def place(outcome: SolverOutcome, near: Indices) -> SolverOutcome:
    """The outcome on some variables as one on all of them."""
    vector = SparseVector(near[outcome.vector.indices], outcome.vector.weights)
    return replace(outcome, vector=vector)


class PlacedProgress(Progress):
    """Reports of a solve on some variables, passed on as vectors of all."""

    def __init__(self, outer: Progress, near: Indices) -> None:
        super().__init__(len(near))
        self.outer, self.near = outer, near

    def report(self, vector: SparseVector, value: float) -> None:
        """Remember the vector as it is, and pass it on with the numbers of its variables in the whole."""
        super().report(vector, value)
        self.outer.report(SparseVector(self.near[vector.indices], vector.weights), value)

    def begin_stage(self, name: str) -> None:
        """Passed on."""
        self.outer.begin_stage(name)
