"""A table that several test modules look at."""

from __future__ import annotations

import pytest


@pytest.fixture
def table(rng):
    return rng.standard_normal((12, 5))
