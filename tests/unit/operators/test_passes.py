"""Blocks, merging and shared passes: what every operator that reads its data in passes is made of."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import NonFiniteError
from sparseigen.operators import passes
from sparseigen.operators.pass_data import ChunkedData
from sparseigen.operators.pass_operator import SharedPasses
from sparseigen.operators.passes import Request, Standard
from tests.common.runs import runs_together


def _blocks(data, sparse):
    cuts = [0, 1, 40, 41, len(data)]
    parts = [data[a:b] for a, b in itertools.pairwise(cuts)]
    return [sp.csr_array(part) for part in parts] if sparse else parts


def _over(blocks, function, arguments, merge):
    total = None
    for block in blocks:
        part = function(block, *pickle.loads(pickle.dumps(arguments)))
        total = part if total is None else merge(total, part)
    return total


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mean", [0.0, 1e7])
def test_moments_merge_without_cancelling(rng, sparse, mean):
    data = rng.standard_normal((90, 7)) + mean
    found = _over(_blocks(data, sparse), passes.moments, (), passes.merge_moments)
    assert found.n_rows == 90
    assert found.bad == 0
    np.testing.assert_allclose(found.means, data.mean(axis=0), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found.squares / 89, data.var(axis=0, ddof=1), rtol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_first_bad_value_is_located_over_all_blocks(rng, sparse, value):
    data = rng.standard_normal((90, 7))
    data[43, 5] = data[80, 0] = value
    found = _over(_blocks(data, sparse), passes.moments, (), passes.merge_moments)
    assert (found.bad, found.row, found.column) == (2, 43, 5)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_kind_of_request_equals_the_dense_formula(rng, sparse, explicit, dtype):
    data = (rng.standard_normal((90, 30)) * (rng.random((90, 30)) < 0.5) + 0.5).astype(dtype)
    wide = data.astype(np.float64)
    means, deviations = wide.mean(axis=0), wide.std(axis=0)
    away = (wide - means) / deviations
    gram = away.T @ away
    one, two, many = np.array([3, 8]), np.array([8, 20, 29]), np.arange(20)
    vectors = rng.standard_normal((30, 3))
    requests = [
        Request("product", one, np.array([0.6, 0.8])),
        Request("columns", two),
        Request("product", two, np.array([0.1, -0.2, 0.5])),
        Request("submatrix", one),
        Request("block", weights=vectors),
        Request("gram"),
    ]
    standard = Standard(means, deviations, explicit)
    answers = _over(
        _blocks(data, sparse),
        passes.evaluate,
        (standard, requests, passes.plan_requests(requests, data.shape[1])),
        passes.add_parts,
    )
    expected = [
        gram[:, one] @ [0.6, 0.8],
        gram[two],
        gram[:, two] @ [0.1, -0.2, 0.5],
        gram[np.ix_(one, one)],
        (gram @ vectors).T,
        gram,
    ]
    tolerance = 1e-11 if dtype == np.float64 else 1e-3
    for answer, right in zip(answers, expected, strict=True):
        np.testing.assert_allclose(answer, right, atol=tolerance)
    wide = [Request("product", many, np.ones(20))]
    wide_support = _over(
        _blocks(data, sparse),
        passes.evaluate,
        (standard, wide, passes.plan_requests(wide, data.shape[1])),
        passes.add_parts,
    )
    np.testing.assert_allclose(wide_support[0], gram[:, many].sum(axis=1), atol=10 * tolerance)


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
    def serve(requests):
        raise KeyboardInterrupt

    shared = SharedPasses(serve)
    with pytest.raises(KeyboardInterrupt):
        shared.run([lambda: shared.ask([1]), lambda: shared.ask([2])])


def _mapped(data, folder):
    mapped = np.memmap(folder / "x.bin", dtype=data.dtype, mode="w+", shape=data.shape)
    mapped[:] = data
    return mapped


def _spiked(rng, n, p, dtype):
    data = rng.standard_normal((n, p)) + rng.standard_normal(p)
    data[:, 3:40:2] += 1.5 * rng.standard_normal((n, 1))
    return data.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [300, 4500])
@pytest.mark.parametrize("scale", [False, True])
def test_default_solve_equals_data_in_memory(rng, tmp_path, dtype, size, scale):
    data = _spiked(rng, 120, size, dtype)
    chunked = se.covariance(_mapped(data, tmp_path), scale=scale)
    assert isinstance(chunked, ChunkedData)
    found = se.sparse_eigenvector(chunked, 12)
    memory = se.sparse_eigenvector(se.covariance(data, scale=scale), 12)
    np.testing.assert_array_equal(found.support, memory.support)
    assert found.value == pytest.approx(memory.value, rel=1e-10)
    assert found.certificate.upper_bound >= memory.value * (1 - 1e-12)


def test_passes_of_a_default_solve_are_few_and_reported(rng, tmp_path):
    data = _spiked(rng, 60, 4500, np.float64)
    operator = se.covariance(_mapped(data, tmp_path))
    result = se.sparse_eigenvector(operator, 12, certify=False)
    assert result.settings["route"] == "passes"
    assert result.settings["passes"] == operator.passes_made
    assert operator.passes_made <= 60  # about forty of them are the decreasing schedule's own steps
    before = operator.passes_made
    assert operator.submatrix(result.support).shape == (12, 12)
    operator.apply_support(result.support, result.vector[result.support])
    assert operator.passes_made == before, "the answer's columns are remembered"


def test_small_matrices_take_two_passes(rng, tmp_path):
    operator = se.covariance(_mapped(_spiked(rng, 80, 200, np.float64), tmp_path))
    result = se.sparse_eigenvector(operator, 5)
    assert operator.passes_made == 2
    assert result.settings["route"] == "gram"


def test_large_means_cost_no_digits(rng, tmp_path):
    data = _spiked(rng, 200, 50, np.float64) + 1e8
    operator = se.covariance(_mapped(data, tmp_path))
    assert operator.standard.explicit
    indices = np.array([3, 5, 7])
    expected = np.cov(data.T)[:, indices] @ [0.5, 0.5, 0.5]
    np.testing.assert_allclose(operator.apply_support(indices, np.full(3, 0.5)), expected, rtol=1e-6, atol=1e-7)


def test_block_of_cardinalities_equals_single_runs(rng, tmp_path):
    data = _spiked(rng, 60, 4500, np.float64)
    operator = se.covariance(_mapped(data, tmp_path))
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
        se.covariance(_mapped(data, tmp_path))


def test_columns_forgotten_during_a_pass_are_still_there_for_who_asked(tmp_path):
    """A computation beside this one may push remembered columns out while the pass is made."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((40, 30)))
    operator = se.covariance(tmp_path / "x.npy")
    operator.cache_bytes = 3 * 8 * operator.size  # three columns
    expected = np.cov(np.load(tmp_path / "x.npy").T)
    operator.accurate_columns(np.array([0, 1, 2]))
    asked = [np.array([6, 7, 8]), np.array([2, 5])]
    answers = operator.together([lambda indices=indices: operator.accurate_columns(indices) for indices in asked])
    for indices, answer in zip(asked, answers, strict=True):
        np.testing.assert_allclose(answer, expected[:, indices], atol=1e-12)
