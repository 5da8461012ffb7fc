"""Certificates shared along a path are valid at every cardinality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseigen import cardinality_path, covariance, sparse_components
from sparseigen.certificates import paths as along_path
from sparseigen.problems import brute_force

# Random data may be nearly constant, of which the package warns on purpose: what is proven must hold there too.
pytestmark = pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")

KINDS = ("covariance", "indefinite", "rank-one", "ties", "scaled")


def matrix_of(kind: str, size: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    square = rng.standard_normal((size, size))
    matrices: dict[str, Any] = {
        "covariance": lambda: np.cov(rng.standard_normal((max(3, size - 2), size)).T),
        "indefinite": lambda: square + square.T,
        "rank-one": lambda: np.outer(square[0], square[0]),
        "ties": lambda: np.eye(size) + (np.arange(size)[:, None] // 3 == np.arange(size) // 3),
        "scaled": lambda: np.ldexp(square @ square.T, 300),
    }
    matrix: np.ndarray = matrices[kind]()
    return matrix


@pytest.fixture(autouse=True, scope="module")
def _share_every_path() -> Any:
    before, along_path.FEWEST_POINTS = along_path.FEWEST_POINTS, 1
    yield
    along_path.FEWEST_POINTS = before


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(KINDS), st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_every_bound_of_the_path_is_valid(kind: str, size: int, seed: int) -> None:
    matrix = matrix_of(kind, size, seed)
    path = cardinality_path(matrix, range(1, size + 1))
    for result in path:
        optimum, _ = brute_force(matrix, result.cardinality)
        assert result.certificate is not None
        assert result.certificate.lower_bound <= optimum + 1e-14 * abs(optimum)
        assert result.certificate.upper_bound >= optimum - 1e-14 * abs(optimum)
        assert result.certificate.upper_bound >= result.certificate.lower_bound


def data_far_from_zero(size: int, seed: int, *, single: bool) -> tuple[np.ndarray, np.ndarray]:
    """Data with means of 100, and their covariance in extended precision."""
    data = np.random.default_rng(seed).standard_normal((12, size)) + 100.0
    data = data.astype(np.float32 if single else np.float64)
    return data, np.cov(data.astype(np.longdouble).T).astype(np.float64)


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 9), st.integers(0, 2**32 - 1), st.booleans())
def test_bounds_from_data_cover_the_rounding_of_the_data(size: int, seed: int, single: bool) -> None:
    data, exact = data_far_from_zero(size, seed, single=single)
    for result in cardinality_path(covariance(data), range(1, size + 1, 2)):
        optimum, _ = brute_force(exact, result.cardinality)
        assert result.certificate is not None
        assert result.certificate.upper_bound >= optimum * (1.0 - 1e-14)


def test_shared_bounds_are_close_to_single_ones() -> None:
    rng = np.random.default_rng(3)
    data = rng.standard_normal((60, 40))
    data[:, :12] += 1.5 * rng.standard_normal((60, 1))
    path = cardinality_path(covariance(data), range(1, 41))
    gaps = np.array([result.certificate.relative_gap for result in path if result.certificate is not None])
    assert len(gaps) == 40
    assert np.median(gaps) < 0.05
    uppers = [result.certificate.upper_bound for result in path if result.certificate is not None]
    assert (np.diff(uppers) >= 0).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 8), st.integers(0, 2**32 - 1), st.booleans())
def test_components_from_data_cover_the_rounding_too(size: int, seed: int, single: bool) -> None:
    data, exact = data_far_from_zero(size, seed, single=single)
    first = sparse_components(covariance(data), [2])[0]
    assert first.certificate is not None
    assert first.certificate.upper_bound >= brute_force(exact, 2)[0] * (1.0 - 1e-14)
