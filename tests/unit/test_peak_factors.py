"""Peak memory of solves, measured in processes of their own, against the factors that docs/trust.md states."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CONSTANT = 100_000_000
"""Work space that does not grow with the input: blocks that are checked, converted and multiplied at a time."""

FACTORS = {
    "matrix": {"float64": (1, 2), "float32": (1, 4)},
    "wide data": {"float64": (2, 8), "float32": (2, 16)},
    "tall data": {"float64": (1.5, 2), "float32": (1.5, 4)},
    "sparse data": {"float64": (3, 3), "float32": (4, 4)},
    "sparse matrix": {"float64": (1, 1), "float32": (1, 1)},
    "graph": {"float64": (4, 4), "float32": (6, 6)},
}
"""Kind of input -> precision -> what a solve takes beyond the input and CONSTANT, in inputs: plain, certified."""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("kind", list(FACTORS))
def test_peak_is_within_the_stated_factor(kind: str) -> None:
    command = [sys.executable, "-m", "tests.unit.peak_work", kind]
    measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for precision, certify, size, extra in measured:
        factor = FACTORS[kind][precision][certify]
        assert extra <= factor * size + CONSTANT, (precision, certify, size, extra)
