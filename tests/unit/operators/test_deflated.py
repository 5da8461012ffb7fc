"""Deflations of the products against the formed matrix."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.operators import as_operator
from sparseigen.operators.deflated import DEFLATIONS


@pytest.fixture
def matrix(rng):
    data = rng.standard_normal((30, 12))
    return data.T @ data


def explicit(matrix, vectors, name):
    """The deflations as written in Mackey's paper, on the formed matrix."""
    directions = []
    for x in vectors:
        if name == "projection":
            rest = np.eye(len(x)) - np.outer(x, x)
            matrix = rest @ matrix @ rest
        elif name == "hotelling":
            matrix = matrix - (x @ matrix @ x) * np.outer(x, x)
        elif name == "schur":
            matrix = matrix - np.outer(matrix @ x, matrix @ x) / (x @ matrix @ x)
        else:
            q = x - sum((d @ x) * d for d in directions) if directions else x
            q = q / np.linalg.norm(q)
            directions.append(q)
            matrix = matrix - (q @ matrix @ q) * np.outer(q, q)
    return matrix


@pytest.mark.parametrize("name", sorted(DEFLATIONS))
def test_deflation_equals_the_formed_matrix(matrix, rng, name) -> None:
    vectors = rng.standard_normal((3, 12)) * (rng.random((3, 12)) < 0.5)
    vectors[:, 0] = 1.0
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    operator = as_operator(matrix)
    for x in vectors:
        operator = DEFLATIONS[name](operator, x)
    np.testing.assert_allclose(operator.to_dense(), explicit(matrix, vectors, name), atol=1e-10 * matrix.max())
