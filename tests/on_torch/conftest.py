"""Tests of the torch operator. `make test` skips them where torch is missing; `make test-torch` installs it."""

from __future__ import annotations

import importlib.util
import os

import numpy as np
import pytest

REASON = "torch is not installed; `make test-torch` installs it and runs these"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if importlib.util.find_spec("torch") is not None:
        return
    if os.environ.get("SPARSEIGEN_TORCH_REQUIRED") == "1":
        pytest.exit(f"SPARSEIGEN_TORCH_REQUIRED=1, but {REASON}", returncode=1)
    for item in items:
        if "tests/on_torch/" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason=REASON))


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    values = rng.standard_normal((30, 120))
    values[:, :15] += 1.5 * rng.standard_normal((30, 1))
    return values


@pytest.fixture(scope="module")
def wide() -> np.ndarray:
    """More variables than any matrix is formed for."""
    rng = np.random.default_rng(4)
    data = rng.standard_normal((80, 4500)).astype(np.float32)
    data[:, :30] += 1.5 * rng.standard_normal((80, 1)).astype(np.float32)
    return data
