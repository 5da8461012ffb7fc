"""How many files of the package a reader has to open to follow one call."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import sparseigen as se

SOURCE = Path(se.__file__).parent
MOST_FILES = 21
"""Files whose functions run in a default solve whose certificate closes the bracket, kernels included."""


def list_files(call: Any) -> list[str]:
    """The files of the package whose functions run during the call, after a first call has loaded them."""
    call()
    files: set[str] = set()

    def look(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            files.add(Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix())

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return sorted(files)


def test_a_default_certified_solve_runs_through_few_files(rng: np.random.Generator) -> None:
    data = rng.standard_normal((100, 50))
    data[:, :5] += 3.0 * rng.standard_normal((100, 1))
    matrix, solve = np.cov(data.T), se.sparse_eigenvector
    assert solve(matrix, 5).certificate.optimal
    files = list_files(lambda: solve(matrix, 5))
    assert "solve/eigenvector.py" in files
    if "kernels/compiled.py" not in files:
        pytest.skip("the compiled kernels are not in use")
    assert len(files) <= MOST_FILES, files
