"""Runs that advance together, one per cardinality, are those that would have been made one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparseigen import covariance, sparse_eigenvector
from sparseigen.results import StopReason
from tests.common.runs import runs_together
from tests.on_torch.tensors import PLAIN, on_torch


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_block_of_cardinalities_equals_single_runs(dtype: str, data: np.ndarray) -> None:
    operator = on_torch(data.astype(dtype))
    cardinalities = [120, *range(1, 100)]  # more than one block, not sorted
    rule: dict[str, Any] = {"rtol": 1e-6, "atol": 0.0, "max_iterations": 500}
    runs = runs_together(operator, cardinalities, **rule)
    for cardinality, run in zip(cardinalities, runs, strict=True):
        single = sparse_eigenvector(operator, cardinality, **PLAIN, **rule)
        assert run.stop_reason == StopReason.VALUE_STALLED
        assert len(run.vector.indices) <= cardinality
        assert len(run.history) == run.n_iterations + 1
        np.testing.assert_array_equal(run.vector.indices, single.support)
        assert run.history[-1] == pytest.approx(single.value, rel=1e-4)
        recomputed = run.vector.weights @ operator.submatrix(run.vector.indices) @ run.vector.weights
        assert run.history[-1] == pytest.approx(recomputed, rel=1e-5 if dtype == "float32" else 1e-12)


def test_block_stops_at_the_limit(data: np.ndarray) -> None:
    runs = runs_together(on_torch(data), list(range(5, 60)), rtol=0.0, atol=0.0, max_iterations=4)
    assert {run.stop_reason for run in runs} <= {StopReason.ITERATION_LIMIT, StopReason.VALUE_STALLED}
    assert StopReason.ITERATION_LIMIT in {run.stop_reason for run in runs}
    assert all(run.n_iterations == 4 for run in runs)


def test_operators_without_a_device_share_no_pass(data: np.ndarray) -> None:
    operator = covariance(data)
    assert operator.costs.runs_per_pass == 1
    assert type(operator.iteration([3, 4])).on_host
