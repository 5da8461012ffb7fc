"""Matrices given explicitly, and products made in parts."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen.operators import as_operator
from sparseigen.operators import matrix as products
from sparseigen.operators.matrix import multiply_transposed
from tests.common.entries import everything


@pytest.mark.parametrize("order", ["C", "F"])
def test_symmetric_matrix_is_not_copied(order: str, rng: np.random.Generator) -> None:
    matrix = np.array(np.cov(rng.standard_normal((9, 6)).T), order=order)
    assert np.shares_memory(as_operator(matrix).matrix, matrix)  # type: ignore[attr-defined]


def test_explicit_matrices_are_exact(rng):
    matrix = rng.standard_normal((5, 5))
    operator = as_operator(matrix + matrix.T)
    assert not operator.entry_errors().any()
    assert np.array_equal(operator.accurate_columns(everything(5)), matrix + matrix.T)


def test_products_made_in_parts_are_the_whole(rng, monkeypatch):
    left, right = rng.standard_normal((9, 3)), rng.standard_normal((9, 4))
    monkeypatch.setattr(
        "sparseigen.operators.matrix.cut_parts", lambda count, cost: [slice(0, 4), slice(4, 5), slice(5, 9)]
    )
    np.testing.assert_allclose(multiply_transposed(left, right), left.T @ right)


@pytest.mark.parametrize("largest", [1, 1 << 23])
def test_products_are_added_to_what_is_there(rng, monkeypatch, largest):
    left, right = rng.standard_normal((90, 6)), rng.standard_normal((90, 5))
    monkeypatch.setattr(products, "LARGEST_CALL", 10.0 * 30)
    monkeypatch.setattr(products, "LARGEST_PRODUCT", largest)
    onto = rng.standard_normal((6, 5))
    expected = onto + left.T @ right
    assert multiply_transposed(left, right, onto=onto) is onto
    np.testing.assert_allclose(onto, expected)
    assert not multiply_transposed(left[:0], right[:0]).any()
