"""Table 1 of Yuan and Zhang: two sparse eigenvectors from 50 samples of 500 variables (ten repeats)."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se

METHODS = {
    "TPower": {"method": "tpower", "start": "max-variance", "polish": None},
    "PathSPCA": {"method": "pathspca"},
    "GPower l1": {"method": "gpower-l1"},
    "GPower l0": {"method": "gpower-l0"},
    "GPower l1, block": {"method": "gpower-l1", "deflation": "block"},
    "GPower l0, block": {"method": "gpower-l0", "deflation": "block"},
}


def sample(rng):
    vectors = np.zeros((2, 500))
    vectors[0, :10] = vectors[1, 10:20] = 10.0**-0.5
    noise = rng.standard_normal((50, 500))
    return noise + ((noise @ vectors.T) * (np.sqrt([400.0, 300.0]) - 1.0)) @ vectors, vectors


@pytest.mark.parametrize("name", sorted(METHODS))
def test_both_vectors_are_recovered(name, rng) -> None:
    for _ in range(10):
        data, truth = sample(rng)
        operator = se.covariance(data, center=False, ddof=0)
        found = se.sparse_components(operator, [10, 10], certify=False, **({"deflation": "projection"} | METHODS[name]))
        products = np.abs(truth @ np.array([result.vector for result in found]).T)
        assert (np.sort(products.ravel())[-2:] > 0.99).all()
        assert (products.max(axis=1) > 0.99).all()


def test_plain_pca_fails_on_this_data(rng) -> None:
    data, truth = sample(rng)
    operator = se.covariance(data, center=False, ddof=0)
    found = se.sparse_components(operator, [500, 500], method="pca", certify=False)
    products = np.abs(truth @ np.array([result.vector for result in found]).T)
    assert products.max(axis=1).min() < 0.99
