"""Screening is exact: the same variables, values and iterates as full products, on any data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sparseigen import covariance, kernels, sparse_eigenvector
from sparseigen.kernels import numpy_reference
from sparseigen.operators import screening

TWINS = [numpy_reference, *([kernels.active] if kernels.active is not numpy_reference else [])]


def spiked(rng: np.random.Generator, n_samples: int, size: int) -> np.ndarray:
    data = rng.standard_normal((n_samples, size))
    for spike in range(5):
        data[:, spike * 20 : spike * 20 + 20] += 2.0 * rng.standard_normal((n_samples, 1))
    return data


def heavy(rng: np.random.Generator, n_samples: int, size: int) -> np.ndarray:
    return rng.standard_t(2.1, (n_samples, size)) * rng.lognormal(0.0, 2.0, size)


def tied(rng: np.random.Generator, n_samples: int, size: int) -> np.ndarray:
    return np.repeat(rng.integers(-2, 3, (n_samples, size // 4 + 1)), 4, axis=1)[:, :size].astype(float)


DATA = {"noise": lambda rng, n, p: rng.standard_normal((n, p)), "spiked": spiked, "heavy": heavy, "tied": tied}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", sorted(DATA))
@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 1.0])
def test_bounded_step_equals_the_full_product(kind: str, share: float, dtype: type, rng: np.random.Generator) -> None:
    rows = np.ascontiguousarray(DATA[kind](rng, 300, 400).T.astype(dtype))
    vector = rng.standard_normal(300).astype(dtype)
    count = max(1, int(share * 400))
    slack = 316 * float(np.finfo(dtype).eps)
    for twin in TWINS:
        codes, scales, errors, norms = twin.shadow_codes(rows)
        assert codes.dtype == np.int8
        residual = np.linalg.norm(rows.astype(np.float64) - codes * scales[:, None], axis=1)
        assert (errors >= residual).all()
        exact = twin.row_dots(rows, vector)
        lower, upper = twin.shadow_bounds(codes, scales, errors, norms, vector.astype(np.float64), slack)
        assert (lower <= np.abs(exact)).all()
        assert (np.abs(exact) <= upper).all()
        expected = twin.largest_magnitudes(exact, count)
        smallest = float(np.abs(exact[expected]).min())
        for guess in (0.0, 0.8 * smallest, smallest, 1.2 * smallest, np.inf):  # it decides the speed alone
            indices, values, combined, read = twin.bounded_step(rows, lower, upper, vector, guess, count)
            assert count <= read <= 400
            product, kept, kept_values, kept_sum = twin.fused_step(rows, vector, guess, count)
            np.testing.assert_array_equal(product, exact)
            np.testing.assert_array_equal(indices, expected)
            np.testing.assert_array_equal(kept, expected)
            np.testing.assert_allclose(values, exact[expected], rtol=0 if twin is not numpy_reference else 1e-5)
            np.testing.assert_array_equal(kept_values, exact[expected])
            scale = float(np.abs(values).max() * np.linalg.norm(rows.astype(np.float64), axis=1).max()) * count
            np.testing.assert_allclose(combined, values @ rows[indices], atol=scale * slack)
            np.testing.assert_allclose(kept_sum, values @ rows[indices], atol=scale * slack)


@pytest.mark.parametrize("short_row", [0, 1 << 60])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", sorted(DATA))
def test_screened_run_equals_the_plain_run(
    kind: str, dtype: type, short_row: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screening, "SHORT_ROW", short_row)
    data = DATA[kind](rng, 60, 500).astype(dtype)
    runs: dict[str, tuple[Any, list[np.ndarray]]] = {}
    for name, limit in (("plain", 1 << 60), ("screened", 0)):
        monkeypatch.setattr(screening, "SMALLEST_DATA", limit)
        seen: list[np.ndarray] = []
        options: dict[str, Any] = {"start": "max-variance", "polish": None, "certify": False, "rtol": 1e-9}
        callback = lambda iteration, vector, value, seen=seen: seen.append(vector)  # noqa: E731
        runs[name] = sparse_eigenvector(covariance(data), 25, on_iteration=callback, **options), seen
    plain, screened = runs["plain"], runs["screened"]
    assert "screening" not in plain[0].settings
    facts = screened[0].settings["screening"]
    assert facts["steps"]["shadow"] + facts["steps"]["running"] > 0
    assert 0.0 < facts["share_of_variables_read"] <= 1.0
    assert facts["extra_bytes"] >= data.size if short_row == 0 else facts["extra_bytes"] == 0
    np.testing.assert_array_equal(screened[0].support, plain[0].support)
    tolerance = 1e-10 if dtype is np.float64 else 1e-4
    for ours, reference in zip(screened[1], plain[1], strict=dtype is np.float64):
        np.testing.assert_allclose(ours, reference, atol=tolerance)


def test_structured_data_are_hardly_read(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "SMALLEST_DATA", 0)
    monkeypatch.setattr(screening, "SHORT_ROW", 0)
    result = sparse_eigenvector(covariance(spiked(rng, 100, 3000)), 20, start="max-variance", polish=None, rtol=1e-12)
    facts = result.settings["screening"]
    assert facts["steps"]["full"] <= 4
    per_step = (facts["share_of_variables_read"] * sum(facts["steps"].values()) - facts["steps"]["full"]) / max(
        1, facts["steps"]["shadow"] + facts["steps"]["running"]
    )
    assert per_step < 0.1


def test_repeated_solves_give_the_same_bits(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "SMALLEST_DATA", 0)
    operator = covariance(rng.standard_normal((50, 600)))
    options: dict[str, Any] = {"start": "max-variance", "polish": None, "certify": False}
    first = sparse_eigenvector(operator, 30, **options)
    again = sparse_eigenvector(operator, 30, **options)
    np.testing.assert_array_equal(first.vector, again.vector)
    np.testing.assert_array_equal(first.history, again.history)


def test_screening_pauses_where_it_does_not_pay(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "SMALLEST_DATA", 0)
    monkeypatch.setattr(screening, "SHORT_ROW", 0)
    flat = np.sign(rng.standard_normal((40, 400)))  # all products of about one size: everything is ambiguous
    flat[0] *= 50.0  # one large sample makes the codes coarse
    result = sparse_eigenvector(
        covariance(flat, center=False), 30, start="max-variance", polish=None, certify=False, rtol=1e-13
    )
    steps = result.settings["screening"]["steps"]
    assert steps["full"] > screening.PLAIN_STEPS


def test_nonnegative_runs_read_everything(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "SMALLEST_DATA", 0)
    result = sparse_eigenvector(covariance(rng.standard_normal((50, 80))), 5, nonnegative=True, start="max-variance")
    steps = result.settings["screening"]["steps"]
    assert steps["shadow"] == steps["running"] == 0
    assert (result.vector >= 0).all()
