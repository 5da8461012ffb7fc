"""Data with two groups of variables."""

from __future__ import annotations

import pytest


@pytest.fixture
def data(rng):
    data = rng.standard_normal((80, 12))
    data[:, :4] += 2.0 * rng.standard_normal((80, 1))
    data[:, 4:7] += 1.5 * rng.standard_normal((80, 1))
    return data + 3.0
