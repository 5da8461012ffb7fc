"""Numbers as fractions, and the matrices that margins are tested on."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

U = Fraction(1, 2**53)
SEEDS = range(12)


def exact(values):
    """The same numbers as fractions."""
    return [exact(value) for value in values] if np.ndim(values) else Fraction(float(values))


def semidefinite(matrix):
    """Whether a matrix of fractions is positive semidefinite: elimination without rounding."""
    rows = [list(row) for row in matrix]
    for pivot in range(len(rows)):
        top = rows[pivot][pivot]
        if top < 0 or (top == 0 and any(rows[pivot][pivot:])):
            return False
        for below in range(pivot + 1, len(rows) if top else 0):
            share = rows[below][pivot] / top
            rows[below] = [a - share * b for a, b in zip(rows[below], rows[pivot], strict=True)]
    return True


def bounds_eigenvalues(bound, matrix):
    """Whether no eigenvalue of the matrix of fractions is above the bound."""
    size = range(len(matrix))
    return semidefinite([[(exact(bound) if i == j else 0) - matrix[i][j] for j in size] for i in size])


def blocks(matrix, cardinality):
    """Every principal submatrix."""
    return [
        [[matrix[i][j] for j in chosen] for i in chosen] for chosen in combinations(range(len(matrix)), cardinality)
    ]


def symmetric(seed, size=5):
    square = np.random.default_rng(seed).standard_normal((size, size))
    return square + square.T


def gram(seed, size=5, rank=3):
    rows = np.random.default_rng(seed).standard_normal((size, rank))
    return rows @ rows.T


def random_gram(rng, size=9, rank=5):
    rows = rng.standard_normal((size, rank))
    return rows @ rows.T
