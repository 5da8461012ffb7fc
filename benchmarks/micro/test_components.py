"""Sparse components: one step, one run, the default answer, the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators.contract import SparseVector


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    rng = np.random.default_rng(7)
    noise = rng.standard_normal((200, 1000))
    noise[:, :30] += rng.standard_normal((200, 1))
    return noise


@pytest.fixture(scope="module")
def matrix(data: np.ndarray) -> np.ndarray:
    return np.cov(data, rowvar=False)


def test_covariance_operator(benchmark: Any, data: np.ndarray) -> None:
    operator = benchmark(se.covariance, data)
    assert operator.size == data.shape[1]


def test_power_step(benchmark: Any, data: np.ndarray) -> None:
    operator = se.covariance(data)
    support, weights = np.arange(50, dtype=np.int64), np.full(50, 50.0**-0.5)
    step = benchmark(operator.iteration([50]).step, SparseVector(support, weights), 50)
    assert len(step.indices) == 50


@pytest.mark.parametrize("given", ["data", "matrix"])
def test_algorithm_1(benchmark: Any, request: pytest.FixtureRequest, given: str) -> None:
    source = request.getfixturevalue(given)
    problem = se.covariance(source) if given == "data" else source
    result = benchmark(se.sparse_eigenvector, problem, 30, start="max-variance", polish=None, certify=False)
    assert result.cardinality == 30


@pytest.mark.parametrize("certify", [False, True])
def test_default(benchmark: Any, data: np.ndarray, certify: bool) -> None:
    operator = se.covariance(data)
    result = benchmark(se.sparse_eigenvector, operator, 30, certify=certify)
    assert sorted(result.support) == list(range(30))


def test_pitprops_default(benchmark: Any) -> None:
    matrix = se.datasets.load_pitprops().matrix
    result = benchmark(se.sparse_eigenvector, matrix, 5)
    assert result.value == pytest.approx(3.406155, abs=1e-6)


@pytest.mark.parametrize("effort", ["cheap", "default"])
def test_upper_bound(benchmark: Any, matrix: np.ndarray, effort: str) -> None:
    bound = benchmark(se.upper_bound, matrix, 30, effort=effort)
    assert np.isfinite(bound.upper_bound)
