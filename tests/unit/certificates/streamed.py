"""An operator whose data count as living elsewhere, without a device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparseigen.operators.contract import AccessCosts, Operator, SparseVector


class Streamed(Operator):
    """A Gram matrix of known rows that counts as living elsewhere."""

    @property
    def costs(self) -> AccessCosts:
        return replace(super().costs, transfers=True)

    negative_part = 0.0

    def __init__(self, rows, errors=0.0):
        self.rows, self.matrix, self.errors = rows, rows @ rows.T, errors
        self.size, self.dtype, self.factor_rank = len(rows), np.dtype(np.float64), rows.shape[1]

    def _diagonal(self):
        return self.matrix.diagonal()

    def apply_support(self, indices, weights):
        return self.matrix[:, indices] @ weights

    def columns(self, indices):
        return self.matrix[:, indices]

    def block_apply(self, block):
        return self.matrix @ block

    def entry_errors(self):
        return np.full(self.size, self.errors)

    def factor_rows(self, rows):
        return self.rows[rows]


class WithForms(Streamed):
    """Makes x'Ax itself, with an error."""

    error = 0.25

    def quadratic_form(self, indices, weights):
        return float(weights @ self.matrix[np.ix_(indices, indices)] @ weights), self.error


def answer(matrix, cardinality):
    kept = np.sort(np.argsort(-matrix.diagonal())[:cardinality]).astype(np.int64)
    return SparseVector(kept, np.linalg.eigh(matrix[np.ix_(kept, kept)])[1][:, -1])
