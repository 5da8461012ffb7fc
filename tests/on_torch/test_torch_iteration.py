"""The loop on the device makes the iterates of Algorithm 1; blocks agree with their plain forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparseigen import covariance, sparse_eigenvector
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.torch_data import TorchData
from sparseigen.operators.torch_iteration import DeviceRun, TorchSteps
from sparseigen.problems import PROBLEMS
from sparseigen.results import StopReason
from sparseigen.solvers.interface import SolverOptions
from sparseigen.solvers.truncated_power import Run, iterate, iterate_many
from tests.common.checks import check_result
from tests.common.runs import run_from
from tests.on_torch.tensors import PLAIN, on_torch


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(("length", "ahead"), [(1, 0), (1, 1), (3, 1), (8, 0), (8, 1)])
@pytest.mark.parametrize("cardinality", [1, 2, 9, 40, 120])
def test_iterates_are_those_of_the_step_by_step_loop(
    cardinality: int, length: int, ahead: int, nonnegative: bool, data: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However rarely and late the host looks, the answer is that of a loop that looks after every step."""
    make = TorchSteps.__init__

    def looking_rarely(self: TorchSteps, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self.length, self.ahead = length, ahead

    monkeypatch.setattr(TorchSteps, "__init__", looking_rarely)
    options = PLAIN | {"nonnegative": nonnegative}
    ours = sparse_eigenvector(on_torch(data), cardinality, **options)
    reference = sparse_eigenvector(covariance(data), cardinality, **options)
    np.testing.assert_allclose(ours.history, reference.history, rtol=1e-12)
    np.testing.assert_allclose(ours.vector, reference.vector, atol=1e-10)
    assert ours.n_iterations == reference.n_iterations
    assert ours.stop_reason == reference.stop_reason


def test_chunks_are_used_and_a_callback_hears_every_iterate(data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[int] = []
    original = DeviceRun.iterate

    def counted(self: DeviceRun, run: int, step: int) -> Any:
        fetched.append(step)
        return original(self, run, step)

    monkeypatch.setattr(DeviceRun, "iterate", counted)
    operator = on_torch(data)
    seen: list[float] = []
    quiet = sparse_eigenvector(operator, 9, **PLAIN)
    assert len(fetched) == 1
    watched = sparse_eigenvector(operator, 9, **PLAIN, on_iteration=lambda i, x, value: seen.append(value))
    assert len(fetched) == 1 + len(seen) + 1
    np.testing.assert_allclose(seen, watched.history[1:], rtol=1e-15)
    np.testing.assert_allclose(quiet.vector, watched.vector, atol=1e-12)


def test_iteration_limit(data: np.ndarray) -> None:
    run = run_from(on_torch(data), [3], 9, rtol=0.0, atol=0.0, max_iterations=2)
    assert run.stop_reason == StopReason.ITERATION_LIMIT
    assert run.n_iterations == 2
    assert len(run.history) == 3
    assert np.linalg.norm(run.vector.weights) == pytest.approx(1.0, abs=1e-14)


def test_a_product_that_vanishes_ends_the_run_where_it_is() -> None:
    values = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    run = run_from(on_torch(values, center=False), [1], 1, rtol=1e-7, atol=0.0, max_iterations=50)
    assert run.stop_reason == StopReason.FIXED_POINT
    assert run.n_iterations == 0
    assert run.vector.indices.tolist() == [1]
    assert run.history == [0.0]


@pytest.mark.parametrize("together", [False, True])
def test_float32_runs_end_at_the_resolution_of_their_products(together: bool, data: np.ndarray) -> None:
    """Changes of the objective below four roundings are noise: on every device the run ends there, whatever rtol is."""
    floor = 4.0 * float(np.finfo(np.float32).eps)
    options = SolverOptions(rtol=0.0, atol=0.0, max_iterations=400)
    single, double = on_torch(data.astype(np.float32)), on_torch(data)
    start = ("vector", SparseVector(np.array([3]), np.ones(1)))

    def run(operator: TorchData) -> Run:
        if together:
            return iterate_many(operator, [9, 10], start, options)[0]
        return iterate(operator, 9, start, options)

    ended = run(single)
    assert ended.stop_reason == StopReason.VALUE_STALLED
    last = abs(ended.history[-1] - ended.history[-2])
    assert 0.0 <= last <= floor * ended.history[-1]
    changes = np.abs(np.diff(run(double).history)) > floor * ended.history[-1]
    necessary = int(np.flatnonzero(changes)[-1]) + 2
    assert ended.n_iterations <= necessary + (4 if together else 1)  # a block looks every fourth time


@pytest.mark.parametrize("method", ["default", "algorithm 1"])
@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_known_problems(name: str, method: str) -> None:
    known = PROBLEMS[name]()
    operator = on_torch(known.factor, center=False, ddof=0)
    options: dict[str, Any] = {} if method == "default" else PLAIN
    result = sparse_eigenvector(operator, known.cardinality, **options)
    check_result(result, operator)
    assert result.value <= known.optimum * (1.0 + 1e-9)
    if known.easy and method == "default":
        assert result.value == pytest.approx(known.optimum, rel=1e-9)


def test_tied_variables_are_chosen_as_on_the_cpu(rng: np.random.Generator) -> None:
    values = np.tile(rng.integers(-2, 3, (8, 10)).astype(float), (1, 4))
    pair = [sparse_eigenvector(o, 7, **PLAIN) for o in (on_torch(values), covariance(values))]
    np.testing.assert_array_equal(pair[0].support, pair[1].support)
