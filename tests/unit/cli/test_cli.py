"""The moment before the commands are loaded: missing packages, closed streams, poor encodings, odd variables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STARTS = {
    "raise KeyboardInterrupt": (130, "error: stopped before there was an answer.\n"),
    "raise ModuleNotFoundError('no click', name='click')": (
        2,
        "The command line needs click and rich. Install them with: pip install 'sparseigen[cli]'\n",
    ),
}


def start(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """The command line with a click of our own, which is loaded first."""
    (folder / "click.py").write_text(source)
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


TABLE = "größe,b\u202ex,c\n1,2,3\n4,5,7\n2,1,9\n8,8,1\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def in_a_shell(redirection: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    words = " ".join(f"'{word}'" for word in (sys.executable, "-m", "sparseigen", *arguments))
    return subprocess.run(
        ["/bin/sh", "-c", f"{words} {redirection}"],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | environment,
        timeout=120,
        check=False,
    )


posix = pytest.mark.skipif(os.name != "posix", reason="needs a shell that closes streams")


@posix
def test_a_closed_output_is_said(table: Path) -> None:
    done = in_a_shell(">&-", "pca", table, "-k", 2)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: standard output is closed")
    assert done.stderr.count("\n") == 1


@posix
def test_a_closed_input_is_empty() -> None:
    done = in_a_shell("<&-", "pca", "-", "-k", 2)
    assert done.returncode == 3
    assert "is empty" in done.stderr


@posix
def test_a_closed_error_stream_does_not_stop_the_answer(table: Path) -> None:
    done = in_a_shell("2>&-", "pca", table, "-k", 2)
    assert done.returncode == 0
    assert "PC1" in done.stdout
    assert in_a_shell("2>&-", "pca", table, "-k", 99).returncode == 2


@posix
def test_names_that_the_encoding_lacks_are_written_by_their_numbers(table: Path) -> None:
    done = in_a_shell("", "pca", table, "-k", 3, "--csv", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "gr\\xf6\\xdfe" in done.stdout


@posix
@pytest.mark.parametrize("threads", ["abc", "-1", "1.5", "9" * 30])
def test_a_number_of_threads_that_is_none(threads: str, table: Path) -> None:
    done = in_a_shell("", "pca", table, "-k", 2, SPARSEIGEN_NUM_THREADS=threads)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: SPARSEIGEN_NUM_THREADS='{threads}' must be a whole number")
