"""Blocks, merging and requests: what a pass computes."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen.operators import passes
from sparseigen.operators.passes import Request, Standard


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
