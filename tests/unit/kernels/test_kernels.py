"""Which kernels are in use, and what the environment says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sparseigen
from sparseigen import kernels

pytest.importorskip("sparseigen.kernels.compiled", reason="the extension is not built")


@pytest.mark.parametrize(("wanted", "name"), [("numpy", "numpy"), ("compiled", "compiled"), ("", "compiled")])
def test_kernels_are_chosen_by_the_environment(wanted: str, name: str) -> None:
    environment = os.environ | {"SPARSEIGEN_KERNELS": wanted}
    code = "from sparseigen import kernels; print(kernels.active.NAME)"
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == name


def test_unknown_kernels_are_an_error() -> None:
    environment = os.environ | {"SPARSEIGEN_KERNELS": "fast"}
    answer = subprocess.run(
        [sys.executable, "-c", "import sparseigen.kernels"], env=environment, capture_output=True, text=True
    )
    assert "SPARSEIGEN_KERNELS='fast' is not known" in answer.stderr


def test_thread_count_from_the_environment() -> None:
    environment = os.environ | {"SPARSEIGEN_NUM_THREADS": "3"}
    code = "from sparseigen import kernels; print(kernels.thread_count())"
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "3"


def test_active_kernels_are_one_of_the_two() -> None:
    assert kernels.active.NAME in ("compiled", "numpy")


def test_source_tree_without_extension_solves(tmp_path: Path) -> None:
    """The pure source tree on the path: everything imports and runs on the NumPy kernels."""
    for path in Path(sparseigen.__file__).parent.rglob("*.py"):
        copy = tmp_path / "sparseigen" / path.relative_to(Path(sparseigen.__file__).parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    probe = (
        "import sparseigen as se; from sparseigen import kernels; "
        "print(se.__file__, kernels.active.NAME, se.sparse_eigenvector(se.datasets.load_pitprops().matrix, 5).value)"
    )
    # -S leaves out the hooks of editable installs; the packages themselves come by path.
    packages = str(Path(np.__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), packages]), "SPARSEIGEN_KERNELS": ""}
    command = [sys.executable, "-S", "-c", probe]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    where, name, value = answer.stdout.split()
    assert Path(where).is_relative_to(tmp_path)
    assert name == "numpy"
    assert float(value) == pytest.approx(3.406154946789761)
