"""Shared passes, and covariances whose data are read in passes."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import NonFiniteError
from sparseigen.operators.pass_data import ChunkedData
from sparseigen.operators.pass_operator import SharedPasses
from tests.common.entries import within
from tests.common.interruption import interrupting
from tests.common.runs import runs_together
from tests.unit.operators.mapped import map_data


def test_memory_mapped_data(tmp_path, rng):
    file = np.memmap(tmp_path / "data.bin", dtype=np.float32, mode="w+", shape=(50, 6))
    file[:] = rng.standard_normal((50, 6)) + 3.0
    exact = np.asarray(file).astype(np.longdouble)
    exact -= exact.mean(axis=0)
    assert within(se.covariance(file), exact.T @ exact / 49)


@pytest.fixture
def in_blocks(rng):
    """Data given in two blocks of rows, and their covariance."""
    data = rng.standard_normal((20, 30))
    return se.covariance([data[:12], data[12:]], shape=(20, 30)), np.cov(data.T)


def test_blocks_remembered_are_forgotten_and_found_again(in_blocks):
    """More than are remembered: each is still the one asked for."""
    operator, matrix = in_blocks
    pairs = [np.array([i, j]) for i in range(30) for j in range(i + 1, 30)][:300]
    for pair in [*pairs, pairs[0], pairs[-1]]:
        np.testing.assert_allclose(operator.submatrix(pair), matrix[np.ix_(pair, pair)], atol=1e-12)
    made = operator.passes_made
    operator.submatrix(pairs[-1])
    assert operator.passes_made == made  # the last ones are at hand


def test_runs_that_share_passes_say_how_they_ended(in_blocks):
    operator, matrix = in_blocks
    few = runs_together(operator, [3, 5], rtol=0.0, atol=0.0, max_iterations=2)
    limited = ("iteration_limit", 2, 3)
    assert [(run.stop_reason.value, run.n_iterations, len(run.history)) for run in few] == [limited] * 2
    many = runs_together(operator, [3, 5], rtol=1e-9, atol=0.0, max_iterations=500)
    for cardinality, run in zip((3, 5), many, strict=True):
        indices, weights = run.vector.indices, run.vector.weights
        assert run.stop_reason == se.results.StopReason.VALUE_STALLED
        assert len(indices) == cardinality
        block = matrix[np.ix_(indices, indices)]
        assert weights @ block @ weights == pytest.approx(run.history[-1])
        assert all(np.diff(run.history) >= -1e-12)


def test_computations_share_passes_and_keep_their_order():
    served = []

    def serve(requests):
        served.append(list(requests))
        return [2 * request for request in requests]

    shared = SharedPasses(serve)

    def count_to(limit):
        return [shared.ask([limit * 10 + step])[0] for step in range(limit)]

    results = shared.run([lambda limit=limit: count_to(limit) for limit in (1, 3, 2)])
    assert results == [[20], [60, 62, 64], [40, 42]]
    assert served == [[10, 30, 20], [31, 21], [32]]
    assert shared.ask([5]) == [10]  # outside, requests are answered at once


def test_a_failure_ends_all_computations_and_is_raised():
    shared = SharedPasses(lambda requests: requests)
    unwound = []

    def waits():
        try:
            for _ in range(100):
                shared.ask([1])
        finally:
            unwound.append(True)

    def fails():
        shared.ask([1])
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        shared.run([waits, fails, waits])
    assert unwound == [True, True]


def test_an_interrupt_during_a_pass_unwinds_the_computations():
    shared = SharedPasses(interrupting())
    with pytest.raises(KeyboardInterrupt):
        shared.run([lambda: shared.ask([1]), lambda: shared.ask([2])])


def _spiked(rng, n, p, dtype):
    data = rng.standard_normal((n, p)) + rng.standard_normal(p)
    data[:, 3:40:2] += 1.5 * rng.standard_normal((n, 1))
    return data.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [300, 4500])
@pytest.mark.parametrize("scale", [False, True])
def test_default_solve_equals_data_in_memory(rng, tmp_path, dtype, size, scale):
    data = _spiked(rng, 120, size, dtype)
    chunked = se.covariance(map_data(data, tmp_path), scale=scale)
    assert isinstance(chunked, ChunkedData)
    found = se.sparse_eigenvector(chunked, 12)
    memory = se.sparse_eigenvector(se.covariance(data, scale=scale), 12)
    np.testing.assert_array_equal(found.support, memory.support)
    assert found.value == pytest.approx(memory.value, rel=1e-10 if dtype == np.float64 else 1e-8)
    assert found.certificate.upper_bound >= memory.value * (1 - 1e-12)


def test_passes_of_a_default_solve_are_few_and_reported(rng, tmp_path):
    data = _spiked(rng, 60, 4500, np.float64)
    operator = se.covariance(map_data(data, tmp_path))
    result = se.sparse_eigenvector(operator, 12, certify=False)
    assert result.settings["route"] == "passes"
    assert result.settings["passes"] == operator.passes_made
    assert operator.passes_made <= 12
    before = operator.passes_made
    assert operator.submatrix(result.support).shape == (12, 12)
    operator.apply_support(result.support, result.vector[result.support])
    assert operator.passes_made == before, "the answer's columns are remembered"


def test_small_matrices_take_two_passes(rng, tmp_path):
    operator = se.covariance(map_data(_spiked(rng, 80, 200, np.float64), tmp_path))
    result = se.sparse_eigenvector(operator, 5)
    assert operator.passes_made == 2
    assert result.settings["route"] == "gram"


def test_large_means_cost_no_digits(rng, tmp_path):
    data = _spiked(rng, 200, 50, np.float64) + 1e8
    operator = se.covariance(map_data(data, tmp_path))
    assert operator.standard.explicit
    indices = np.array([3, 5, 7])
    expected = np.cov(data.T)[:, indices] @ [0.5, 0.5, 0.5]
    np.testing.assert_allclose(operator.apply_support(indices, np.full(3, 0.5)), expected, rtol=1e-6, atol=1e-7)


def test_block_of_cardinalities_equals_single_runs(rng, tmp_path):
    data = _spiked(rng, 60, 4500, np.float64)
    operator = se.covariance(map_data(data, tmp_path))
    runs = runs_together(operator, [3, 10, 40], rtol=1e-7, atol=0.0, max_iterations=100)
    shared = operator.passes_made
    for k, run in zip([3, 10, 40], runs, strict=True):
        alone = se.sparse_eigenvector(se.covariance(data), k, start="max-variance", polish=None, certify=False)
        np.testing.assert_array_equal(run.vector.indices, alone.support)
        assert run.history[-1] == pytest.approx(alone.value, rel=1e-10)
    assert shared <= 2 + max(run.n_iterations for run in runs)


def test_bad_value_in_a_file_is_named(rng, tmp_path):
    data = _spiked(rng, 60, 20, np.float64)
    data[17, 4] = np.nan
    with pytest.raises(NonFiniteError, match="row 17, column 4"):
        se.covariance(map_data(data, tmp_path))


def test_columns_forgotten_during_a_pass_are_still_there_for_who_asked(tmp_path):
    """A computation beside this one may push remembered columns out while the pass is made."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((40, 30)))
    operator = se.covariance(tmp_path / "x.npy")
    operator.cache_bytes = 3 * 8 * operator.size  # three columns
    expected = np.cov(np.load(tmp_path / "x.npy").T)
    operator.accurate_columns(np.array([0, 1, 2]))
    asked = [np.array([6, 7, 8]), np.array([2, 5])]
    answers = operator.run_together([lambda indices=indices: operator.accurate_columns(indices) for indices in asked])
    for indices, answer in zip(asked, answers, strict=True):
        np.testing.assert_allclose(answer, expected[:, indices], atol=1e-12)
