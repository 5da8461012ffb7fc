"""The three definitions of explained variance, against the data they speak of."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import OptionError, ShapeError


@pytest.fixture
def data(rng):
    return rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6))


@pytest.fixture
def vectors(rng):
    vectors = rng.standard_normal((3, 6)) * (rng.random((3, 6)) < 0.6)
    vectors[:, 0] = 1.0
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]


def test_adjusted_is_the_squared_diagonal_of_qr_of_the_scores(data, vectors) -> None:
    centred = data - data.mean(axis=0)
    upper = np.linalg.qr(centred @ vectors.T)[1]
    expected = np.diag(upper) ** 2 / (len(data) - 1)
    np.testing.assert_allclose(se.explained_variance(se.covariance(data), vectors), expected)


def test_span_sums_to_the_variance_of_the_projected_data(data, vectors) -> None:
    centred = data - data.mean(axis=0)
    projected = centred @ np.linalg.pinv(vectors) @ vectors
    expected = (projected**2).sum() / (len(data) - 1)
    found = se.explained_variance(se.covariance(data), vectors, definition="span")
    assert found.sum() == pytest.approx(expected)


def test_plain_is_the_variance_of_each_score(data, vectors) -> None:
    expected = np.var(data @ vectors.T, axis=0, ddof=1)
    found = se.explained_variance(se.covariance(data), vectors, definition="plain")
    np.testing.assert_allclose(found, expected)


def test_all_definitions_agree_on_eigenvectors(data) -> None:
    matrix = np.cov(data.T)
    values, columns = np.linalg.eigh(matrix)
    for definition in ("plain", "adjusted", "span"):
        found = se.explained_variance(matrix, columns.T, definition=definition)
        np.testing.assert_allclose(found, values, rtol=1e-9)


@pytest.mark.parametrize("definition", ["adjusted", "span"])
def test_a_repeated_component_adds_nothing(data, vectors, definition) -> None:
    twice = np.vstack([vectors, vectors[0]])
    found = se.explained_variance(se.covariance(data), twice, definition=definition)
    assert found[-1] == 0.0
    np.testing.assert_allclose(found[:-1], se.explained_variance(se.covariance(data), vectors, definition=definition))


def test_errors_name_what_is_allowed(data, vectors) -> None:
    with pytest.raises(OptionError, match="'adjusted', 'plain', 'span'"):
        se.explained_variance(np.cov(data.T), vectors, definition="total")
    with pytest.raises(ShapeError, match=r"\(n_components, 6\)"):
        se.explained_variance(np.cov(data.T), vectors[:, :4])
