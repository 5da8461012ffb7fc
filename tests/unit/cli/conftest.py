"""Tables and graphs that several files of tests read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sparseigen.datasets import load_pitprops
from tests.unit.checks.test_arrays import GOOD


@pytest.fixture
def pitprops(tmp_path: Path) -> Path:
    data = load_pitprops()
    rows = [f"{name}," + ",".join(map(repr, row)) for name, row in zip(data.names, data.matrix.tolist(), strict=True)]
    path = tmp_path / "pitprops.csv"
    path.write_text("\n".join(["," + ",".join(data.names), *rows]) + "\n")
    return path


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.csv"
    clique = [(a, b) for a in "pqrst" for b in "pqrst" if a < b]
    tail = [("t", "u"), ("u", "v"), ("v", "w"), ("w", "x")]
    path.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in clique + tail))
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    values = np.random.default_rng(3).standard_normal((12, 4)).round(3)
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,d\n" + "".join(",".join(map(str, row)) + "\n" for row in values.tolist()))
    return path


@pytest.fixture
def numbered_graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.csv"
    clique = [(a, b) for a in range(5) for b in range(5) if a < b]
    path.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in [*clique, (4, 5), (5, 6)]))
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    np.save(tmp_path / "good.npy", GOOD)
    return tmp_path / "good.npy"
