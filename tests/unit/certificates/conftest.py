"""Fixtures of the tests of certificates."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.certificates.streamed import Streamed


@pytest.fixture
def streamed(monkeypatch):
    """Nine variables, treated like many: the matrix does not come to the host."""
    monkeypatch.setattr("sparseigen.certificates.problem.LARGEST_FETCHED", 2)
    return Streamed(np.random.default_rng(3).standard_normal((9, 4)) * np.linspace(2.0, 0.3, 9)[:, None])
