"""What must hold for every matrix: variances, paths, scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseigen as se

pytestmark = pytest.mark.filterwarnings("ignore::sparseigen.errors.RedundantComponentWarning")  # of three variables


@st.composite
def tables(draw):
    """Gaussian data of a drawn shape, seed and scale."""
    n, p = draw(st.integers(5, 15)), draw(st.integers(3, 10))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    return rng.standard_normal((n, p)) * 10.0 ** draw(st.integers(-3, 3)) @ rng.standard_normal((p, p))


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 3), st.integers(1, 3))
def test_variances_are_ordered_and_bounded(data, count, cardinality) -> None:
    pca = se.SparsePCA(count, cardinality, certify=False).fit(data)
    plain, adjusted, span = (pca.explained_variance_ratios_[d] for d in ("plain", "adjusted", "span"))
    assert (adjusted <= plain * (1 + 1e-9) + 1e-12).all()
    assert adjusted.sum() <= 1.0 + 1e-9
    assert span.sum() <= 1.0 + 1e-9
    assert (adjusted >= 0.0).all()


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 3))
def test_scores_survive_the_round_trip(data, count) -> None:
    pca = se.SparsePCA(count, 2, certify=False).fit(data)
    if np.linalg.cond(pca.components_) > 1e6:
        return
    scores = pca.transform(data)
    np.testing.assert_allclose(pca.transform(pca.inverse_transform(scores)), scores, atol=1e-7 * np.abs(scores).max())


@settings(max_examples=30, deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_paths_rise_and_follow_a_permutation(data, random) -> None:
    matrix = np.cov(data.T)
    path = se.cardinality_path(matrix, range(1, len(matrix) + 1), certify=False)
    assert (np.diff(path.values) >= 0.0).all()
    assert path.values[-1] <= np.linalg.eigvalsh(matrix)[-1] * (1.0 + 1e-9)
    order = random.sample(range(len(matrix)), len(matrix))
    shuffled = se.cardinality_path(matrix[np.ix_(order, order)], range(1, len(matrix) + 1), certify=False)
    np.testing.assert_allclose(shuffled.values, path.values, rtol=1e-8)
