"""The samples behind a covariance: every kind of data gives the sums that dense NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import sparseigen as se
from sparseigen.errors import UnsupportedOperatorError
from sparseigen.operators import as_operator


@pytest.fixture
def data(rng):
    X = rng.standard_normal((40, 12)) * (rng.random((40, 12)) < 0.6)
    X[:, 0] += 3.0
    return X


def make_samples(kind: str, data, scale: bool, tmp_path):
    if kind == "sparse":
        return se.covariance(sparse.csr_array(data), center=True, scale=scale).samples
    if kind == "file":
        np.save(tmp_path / "data.npy", data)
        return se.covariance(str(tmp_path / "data.npy"), center=True, scale=scale).samples
    if kind == "torch":
        torch = pytest.importorskip("torch")
        return se.covariance(torch.as_tensor(data), center=True, scale=scale).samples
    return se.covariance(data, center=True, scale=scale).samples


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "file", "torch"])
def test_sums_are_those_of_the_centred_data(kind, scale, data, tmp_path, rng) -> None:
    samples = make_samples(kind, data, scale, tmp_path)
    X = data - data.mean(axis=0)
    if scale:
        X /= X.std(axis=0, ddof=1)
    unit = np.sqrt(samples.squares[0] / (X[:, 0] @ X[:, 0]))  # dense data are divided by a power of two
    X = X * unit
    assert samples.n_samples == 40
    assert samples.size == 12
    taken = np.zeros((40, 0))
    for removed in range(3):
        indices, weights = np.array([1, 4, 7]), np.array([0.5, -0.5, 1.0])
        scores = samples.scores(indices, weights)
        np.testing.assert_allclose(scores, X[:, indices] @ weights, atol=2e-5)
        np.testing.assert_allclose(samples.squares, np.einsum("ij,ij->j", X, X), rtol=2e-5, atol=1e-5)
        block = rng.standard_normal((12, 2))
        np.testing.assert_allclose(samples.combine(block), X @ block, atol=2e-5)
        block = rng.standard_normal((40, 2))
        np.testing.assert_allclose(samples.multiply(block), X.T @ block, atol=5e-5)
        w = rng.random(40)
        expected = np.column_stack([X.T @ scores, X.T @ (w * scores), (X * X).T @ w])
        np.testing.assert_allclose(samples.moments(scores, w), expected, atol=5e-4)
        np.testing.assert_allclose(samples.gather(indices), X[:, indices].T, atol=2e-5)
        v = rng.random(12)
        np.testing.assert_allclose(samples.multiply_samples(v), (X * v) @ X.T, atol=5e-4)
        hat = np.full(40, 1 / 40) + (taken**2).sum(axis=1)
        np.testing.assert_allclose(samples.leverages, hat, atol=1e-5)
        assert samples.removed == removed
        score = samples.scores(np.array([removed, removed + 1]), np.ones(2))
        unit_score = score / np.linalg.norm(score)
        before = samples.gather(np.arange(12)).copy()
        smaller = samples.without(score)
        np.testing.assert_array_equal(samples.gather(np.arange(12)), before)  # what was given stays as it was
        samples, X = smaller, X - np.outer(unit_score, unit_score @ X)
        taken = np.column_stack([taken, unit_score])


def test_a_direction_that_is_gone_is_not_taken_out_twice(data) -> None:
    samples = se.covariance(sparse.csr_array(data), center=True).samples
    score = samples.scores(np.array([0]), np.ones(1))
    once = samples.without(score)
    assert once.without(score) is once


@pytest.mark.parametrize("exponent", [-120, 90])
def test_data_of_any_size_keep_their_precision(exponent, data) -> None:
    X = np.ldexp(data, exponent)
    samples = se.covariance(X, center=True).samples
    plain = se.covariance(data, center=True).samples
    np.testing.assert_array_equal(samples.squares, plain.squares)
    np.testing.assert_array_equal(samples.gather(np.arange(12)), plain.gather(np.arange(12)))


def test_files_that_do_not_fit_give_rows_that_were_drawn(rng, tmp_path) -> None:
    np.save(tmp_path / "long.npy", rng.standard_normal((3000, 20)))
    operator = se.covariance(str(tmp_path / "long.npy"), center=True)
    operator.cache_bytes = 8 * 20 * 600
    samples = operator.samples
    assert 600 <= samples.n_samples < 700
    assert operator.decisions["rows_drawn"] == samples.n_samples
    assert np.abs(samples.gather(np.arange(20)).sum(axis=1)).max() < 1e-3
    np.testing.assert_array_equal(operator.samples.squares, samples.squares)  # the same rows in every pass


def test_a_matrix_has_no_samples() -> None:
    with pytest.raises(UnsupportedOperatorError, match="samples"):
        as_operator(np.eye(3)).samples  # noqa: B018
