"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sparseigen.datasets import data_folder
from sparseigen.errors import MissingDataError


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets. Missing: skipped with a reason, but a failure under CI=true."""
    try:
        return data_folder()
    except MissingDataError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"under CI the real data must be there: {error}")
        pytest.skip(f"real data not found: {error}")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20110601)


@pytest.fixture
def bounds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates and exact method without the search over blocks, which leaves nothing to do for what comes after."""
    for name in ("SMALL_WORK", "WORK_PER_ENTRY"):
        monkeypatch.setattr(f"sparseigen.certificates.small_proof.{name}", 0.0)
    monkeypatch.setattr("sparseigen.solvers.branch_and_bound.SHARE_OF_TIME", 0.0)
