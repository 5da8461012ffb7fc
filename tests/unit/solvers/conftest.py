"""Data with one strong direction."""

from __future__ import annotations

import pytest


@pytest.fixture
def data(rng):
    data = rng.standard_normal((40, 15))
    data[:, 3:8] += 3.0 * rng.standard_normal((40, 1))
    return data
