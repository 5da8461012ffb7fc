"""The moment before the commands are loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STARTS = {
    "raise KeyboardInterrupt": (130, "error: stopped before there was an answer.\n"),
    "raise ModuleNotFoundError('no typer', name='typer')": (
        2,
        "The command line needs typer and rich. Install them with: pip install 'sparseigen[cli]'\n",
    ),
}


def start(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """The command line with a typer of our own, which is loaded first."""
    (folder / "typer.py").write_text(source)
    command = [sys.executable, "-m", "sparseigen", "demo"]
    return subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("source", STARTS)
def test_what_ends_the_start_is_said_without_a_traceback(source: str, tmp_path: Path) -> None:
    done = start(tmp_path, source)
    assert (done.returncode, done.stderr) == STARTS[source]


def test_a_broken_package_is_not_called_missing(tmp_path: Path) -> None:
    done = start(tmp_path, "raise ImportError('libbroken.so is not there', name='libbroken')")
    assert done.returncode == 1
    assert "libbroken.so is not there" in done.stderr
    assert "pip install" not in done.stderr
