"""Row sums made where the data are: within what they say of themselves, and never below the optimum as a bound."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen import covariance, sparse_eigenvector
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.scaled_rows import improve_weights, scaled_row_values
from sparseigen.errors import RangeError
from sparseigen.operators import Operator
from sparseigen.operators.torch_data import TorchData
from sparseigen.operators.wrapped import RestrictedOperator
from sparseigen.problems.known import brute_force
from tests.on_torch.tensors import build_deflated, on_torch


def test_a_row_bound_that_would_take_too_long_is_not_offered(wide: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setitem(__import__("sparseigen.operators.torch_rows", fromlist=["x"]).MOST_OPERATIONS, "cpu", 1e6)
    operator = covariance(torch.tensor(wide))
    assert np.isinf(operator.top_row_sums(np.arange(4500), np.ones(4500), 19)[2]).all()
    certificate = sparse_eigenvector(operator, 20, start="max-variance", polish="solve").certificate
    assert certificate is not None
    assert certificate.method in {"closed-form dual", "penalised dual", "trace"}


def iterated_rows(operator: TorchData, cardinality: int, scaling: np.ndarray, passes: int) -> float:
    """The scaled row bound over so many passes, rows made where the data live."""
    problem, best = BoundProblem(operator, cardinality), np.inf
    problem.dense, weights = None, improve_weights(np.ones(operator.size), scaling)
    for _ in range(passes):
        bound, rows = scaled_row_values(problem, weights)
        best, weights = min(best, bound), improve_weights(weights, rows)
    return problem.unscale_bound(best)


def plain_bound(matrix: np.ndarray, cardinality: int, scaling: np.ndarray, passes: int) -> float:
    best, size = np.inf, len(matrix)
    for _ in range(passes):
        scaling = np.maximum(scaling / scaling.max(), 1e-7)
        weighted = np.abs(matrix) * scaling
        np.fill_diagonal(weighted, 0.0)
        sums = scaling * np.diag(matrix) + np.sort(weighted, axis=1)[:, size - cardinality + 1 :].sum(axis=1)
        best, scaling = min(best, float((sums / scaling).max())), sums
    return best


def scaling_of(operator: Operator, cardinality: int) -> np.ndarray:
    result = sparse_eigenvector(operator, cardinality, certify=False)
    product = np.abs(operator.block_apply(result.vector[:, None])[:, 0]).astype(float)
    return np.maximum(product, np.sort(product)[-cardinality])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("cardinality", [1, 2, 5, 30, 120])
def test_scaled_gershgorin_equals_its_formula(cardinality: int, dtype: str, data: np.ndarray) -> None:
    data = data.astype(dtype)
    operator, matrix = on_torch(data), covariance(data.astype(np.float64)).to_dense()
    scaling = scaling_of(operator, cardinality)
    bound = iterated_rows(operator, cardinality, scaling, 4)
    exact = plain_bound(matrix, cardinality, scaling, 4)
    slack = {"float64": 1e-10, "float32": 2e-4}[dtype]
    assert exact * (1.0 - 1e-6) <= bound <= exact * (1.0 + slack)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("magnitude", [1e-30, 1e-19, 1e-14, 1.0, 1e15])
@pytest.mark.parametrize("seed", range(5))
def test_scaled_gershgorin_holds_against_enumeration(seed: int, magnitude: float, dtype: str) -> None:
    """Also at the ends of float32's range: beyond them, data are refused."""
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal((6, 9)) * magnitude).astype(dtype)
    if dtype == "float32" and magnitude < 1e-15:
        with pytest.raises(RangeError, match="float32"):
            on_torch(values, center=False, ddof=0)
        return
    stored = values.astype(np.float64) / magnitude
    optimum = brute_force(stored.T @ stored / 6, 3)[0] * magnitude**2
    operator = on_torch(values, center=False, ddof=0)
    for scaling in (np.ones(9), rng.uniform(0.0, 1.0, 9), np.zeros(9)):
        bound = iterated_rows(operator, 3, scaling, 3)
        assert bound >= optimum * (1.0 - 1e-14)


def test_scaled_gershgorin_in_row_blocks(data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = on_torch(data)
    whole = iterated_rows(operator, 9, np.ones(120), 3)
    monkeypatch.setattr("sparseigen.operators.torch_rows.BLOCK_ENTRIES", 120 * 7)
    in_blocks = iterated_rows(operator, 9, np.ones(120), 3)
    assert in_blocks == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize("components", [0, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_row_sums_are_within_what_they_say(dtype: str, components: int) -> None:
    """Against the default, which forms columns in float64; some rows of all, and of candidates alone."""
    operator, _ = build_deflated(5, dtype, 1.0, {}, components)
    weights = np.random.default_rng(1).uniform(0.1, 1.0, 9)
    for count in (0, 1, 3, 8):
        for rows in (np.arange(9), np.array([1, 2, 3]), np.array([0, 4, 7])):
            sums, least, shortfall = operator.top_row_sums(rows, weights, count)
            exact_sums, exact_least, _ = Operator.top_row_sums(operator, rows, weights, count)
            room = shortfall + 1e-14 * exact_sums
            assert (np.abs(sums - exact_sums) <= room).all()
            assert (np.abs(least - exact_least) <= room).all()
            assert (shortfall <= 1e-4 * operator.diagonal().sum()).all()
    chosen = np.array([0, 2, 3, 5, 8])
    restricted = RestrictedOperator(operator, chosen)
    sums, _, shortfall = restricted.top_row_sums(np.arange(5), weights[chosen], 2)
    exact_sums, _, _ = Operator.top_row_sums(restricted, np.arange(5), weights[chosen], 2)
    assert (np.abs(sums - exact_sums) <= shortfall + 1e-14 * exact_sums).all()
