"""The contract that every operator keeps, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen import covariance
from sparseigen.errors import UnsupportedOperatorError
from sparseigen.operators import as_operator
from sparseigen.operators.wrapped import scale_operator
from tests.common.operators import OPERATORS, SINGLE_PRECISION


@pytest.mark.parametrize("name", sorted(OPERATORS | SINGLE_PRECISION))
def test_contract(name: str, rng: np.random.Generator) -> None:
    factor = rng.standard_normal((15, 10)) * rng.uniform(0.5, 2.0, 10)
    factor[rng.random((15, 10)) < 0.4] = 0.0
    matrix = factor.T @ factor / 15
    operator = (OPERATORS | SINGLE_PRECISION)[name](factor)
    tolerance = 1e-5 if name in SINGLE_PRECISION else 1e-12
    chosen = np.array([1, 4, 7], dtype=np.int64)
    weights = np.array([0.6, -0.3, 0.2])
    assert operator.size == 10
    pairs = {
        "diagonal": (operator.diagonal(), np.diag(matrix)),
        "apply_support": (operator.apply_support(chosen, weights), matrix[:, chosen] @ weights),
        "columns": (operator.columns(chosen), matrix[:, chosen]),
        "submatrix": (operator.submatrix(chosen), matrix[np.ix_(chosen, chosen)]),
        "block_apply": (operator.block_apply(np.eye(10)[:, :4]), matrix[:, :4]),
        "crossed": (operator.submatrix(np.array([1, 4, 8]), np.array([0, 4])), matrix[np.ix_([1, 4, 8], [0, 4])]),
        "to_dense": (operator.to_dense(), matrix),
        "shifted": (operator.shifted(0.7).to_dense(), matrix + 0.7 * np.eye(10)),
        "negated": (scale_operator(operator, -1.0).to_dense(), -matrix),
        "restricted": (operator.restricted(chosen).to_dense(), matrix[np.ix_(chosen, chosen)]),
        "prepared": (operator.prepared_for(10**6).to_dense(), matrix),
    }
    for what, (ours, expected) in pairs.items():
        np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance, err_msg=what)
    indices, values = operator.apply_top(chosen, weights, 3)
    full = matrix[:, chosen] @ weights
    assert set(indices) == set(np.argsort(-np.abs(full))[:3])
    np.testing.assert_allclose(values, full[indices], rtol=tolerance * 10)
    assert not operator.diagonal().flags.writeable


def test_too_large_to_form_is_refused() -> None:
    wide = covariance(np.random.default_rng(0).standard_normal((3, 5000)))
    with pytest.raises(UnsupportedOperatorError, match=r"5000 x 5000 matrix would need 0.2 GiB; .* up to size 4096"):
        wide.to_dense()


def test_repr_is_one_line() -> None:
    assert repr(as_operator(np.eye(3))) == "<DenseSymmetric 3 x 3 float64>"


def test_an_operator_over_samples_that_says_nothing_is_not_taken_for_exact(rng):
    """The contract's own default: accumulation in the operator's type."""
    from sparseigen.operators.contract import Operator

    operator = se.covariance(rng.standard_normal((30, 6)).astype(np.float32))
    general = Operator.entry_errors(operator)
    assert (general > 10.0 * 2.0**-24 * operator.diagonal()).all()
