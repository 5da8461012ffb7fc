"""A matrix that several test modules look at."""

from __future__ import annotations

import pytest


@pytest.fixture
def matrix(rng):
    data = rng.standard_normal((30, 12))
    return data.T @ data
