"""The toy model of Table 1: 50 samples of 500 variables, two sparse eigenvectors."""

from __future__ import annotations

import numpy as np

N_SAMPLES, SIZE, CARDINALITY = 50, 500, 10
EIGENVALUES = (400.0, 300.0)


def true_vectors() -> np.ndarray:
    vectors = np.zeros((2, SIZE))
    vectors[0, :10] = vectors[1, 10:20] = 10.0**-0.5
    return vectors


def sample(rng: np.random.Generator) -> np.ndarray:
    """Zero-mean normal data whose covariance has eigenvalues 400, 300 on the two sparse vectors and 1 elsewhere."""
    noise = rng.standard_normal((N_SAMPLES, SIZE))
    vectors = true_vectors()
    stretch = np.sqrt(EIGENVALUES) - 1.0
    return noise + ((noise @ vectors.T) * stretch) @ vectors


def repeat(seed: int, number: int) -> np.ndarray:
    """Repeat `number` of the experiment: the same data whatever else is run, and in whatever order."""
    return sample(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,))))
