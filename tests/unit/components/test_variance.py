"""The three definitions of explained variance, against the data they speak of."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.components import find_overlap
from sparseigen.components.variance import word_redundancy
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


def test_overlap_is_that_of_the_scores(data, vectors) -> None:
    scores = (data - data.mean(axis=0)) @ vectors.T
    overlap = find_overlap(se.covariance(data), vectors)
    np.testing.assert_allclose(overlap.correlations, np.corrcoef(scores.T), atol=1e-12)
    np.testing.assert_allclose(overlap.plain, np.var(scores, axis=0, ddof=1))
    np.testing.assert_allclose(overlap.adjusted, se.explained_variance(np.cov(data.T), vectors))
    assert overlap.total == pytest.approx(np.trace(np.cov(data.T)))
    nearest = int(np.argmax(np.abs(overlap.correlations[2, :2])))
    assert overlap.find_nearest(2) == nearest
    assert overlap.find_nearest(0) is None
    facts = overlap.to_dict(2)
    assert facts["most_correlated_with"] == nearest + 1
    assert facts["score_correlation"] == pytest.approx(overlap.correlations[2, nearest])
    assert facts["adjusted_share"] == pytest.approx(overlap.adjusted[2] / overlap.total)
    assert overlap.to_dict(0)["most_correlated_with"] is None


def test_a_component_without_variance_has_no_correlations() -> None:
    overlap = find_overlap(np.diag([1.0, 0.0]), np.eye(2))
    np.testing.assert_array_equal(overlap.correlations, np.eye(2))
    assert overlap.redundant == []


def test_redundancy_names_both_components_and_the_remedy(programmes) -> None:
    operator = se.covariance(programmes)
    said = {}
    for deflation in ("projection", "schur"):
        found = se.sparse_components(operator, [10, 10], deflation=deflation, certify=False)
        overlap = find_overlap(operator, [result.vector for result in found])
        said[deflation] = word_redundancy(overlap, deflation)
        assert overlap.redundant == ([1] if deflation == "projection" else [])
    assert said["schur"] is None
    assert "component 2 adds 0." in said["projection"]
    assert "correlate 1.00 with those of component 1): use deflation='schur', or ask for fewer" in said["projection"]
    repeated = find_overlap(operator, [found[0].vector, found[0].vector])
    assert word_redundancy(repeated, "schur").endswith(": ask for fewer components, or for more variables in each.")
