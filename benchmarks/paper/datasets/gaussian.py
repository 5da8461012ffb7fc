"""The data of Table 2: 500 samples of standard normal noise."""

from __future__ import annotations

import numpy as np

N_SAMPLES = 500
SIZES = (1000, 2000, 4000, 8000, 16000, 32000)
SHARES = (0.05, 0.1, 0.2, 0.5)


def draw(size: int, seed: int, number: int) -> np.ndarray:
    """Draw `number` of the data set with `size` variables, column-major as the library stores data."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(size, number)))
    return rng.standard_normal((size, N_SAMPLES)).T
