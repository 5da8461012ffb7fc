"""Weights of samples: what is refused, and the covariance they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen import errors
from sparseigen.estimators.weighting import check_sample_weights, weigh_rows


@pytest.mark.parametrize(
    ("weights", "kind", "message"),
    [
        ([1.0, 2.0], errors.ShapeError, "one entry for each of the 3 samples"),
        ([[1.0], [1.0], [1.0]], errors.ShapeError, r"shape \(3, 1\)"),
        ([1.0, -1.0, 2.0], errors.NonFiniteError, "negative, NaN or infinite"),
        ([1.0, np.nan, 2.0], errors.NonFiniteError, "negative, NaN or infinite"),
        ([0.0, 0.0, 0.0], errors.TooFewSamplesError, "weights of all samples are zero"),
        ([0.5, 0.25, 0.0], errors.TooFewSamplesError, "sum to 0.75; a covariance needs more than 1"),
    ],
)
def test_weights_that_mean_nothing(weights, kind, message) -> None:
    with pytest.raises(kind, match=message):
        check_sample_weights(weights, 3)


def test_weighted_rows_have_the_weighted_covariance(rng) -> None:
    data, weights = rng.standard_normal((20, 4)), rng.integers(0, 4, 20).astype(float)
    rows, means, _ = weigh_rows(data, weights, scale=False)
    np.testing.assert_allclose(rows.T @ rows / 19.0, np.cov(data.T, fweights=weights.astype(int)))
    np.testing.assert_allclose(means, np.average(data, axis=0, weights=weights))
    data[:, 2] = 5.0
    rows, _, scales = weigh_rows(data, weights, scale=True)
    np.testing.assert_allclose((rows**2).sum(axis=0) / 19.0, [1.0, 1.0, 0.0, 1.0])
    assert scales[2] == 1.0
