"""Matrices and data that several test modules look at."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def matrix(rng):
    data = rng.standard_normal((30, 12))
    return data.T @ data


@pytest.fixture
def programmes(rng):
    """Two gene programmes, of 40 and of 20 variables, the first much stronger."""
    strong, weak = 3.0 * rng.standard_normal((100, 1)), rng.standard_normal((100, 1))
    return np.hstack([strong.repeat(40, axis=1), weak.repeat(20, axis=1)]) + 0.3 * rng.standard_normal((100, 60))
