"""What the tests of rows share."""

from __future__ import annotations

import pytest

from tests.unit.rows.sources import N, P


@pytest.fixture
def data(rng):
    table = rng.standard_normal((N, P)) * (rng.random((N, P)) < 0.6)
    table[:, 2:6] += rng.standard_normal((N, 1))
    return table
