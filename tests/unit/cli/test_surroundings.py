"""The command line where streams are closed, an encoding is poor, or the environment holds nonsense."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.running import check_refused, run

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
    assert in_a_shell("2>&-", "pca", table, "-k", 99).returncode == 3


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


def test_a_line_break_in_a_file_name_makes_no_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "data\nk = 1, optimal.csv"
    try:
        path.write_text(TABLE, encoding="utf-8")
    except OSError:
        pytest.skip("this file system has no such names")
    assert run("pca", path, "-k", 2, "-q").stdout.startswith("data k = 1, optimal.csv: 4 samples")


@pytest.mark.parametrize("kind", ["zzz", "../../x", "csv/x", ""])
def test_formats_of_graphs_are_known_ones(kind: str) -> None:
    check_refused(run("dks", "-", "-k", 2, "--format", kind, input="1,2\n2,3\n"), 2, "is not known. Allowed")


def test_an_edge_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text("source,target,weight\na,b,1\n,c,2\n")
    check_refused(run("dks", path, "-k", 2), 3, "line 3: an end of the edge is empty")
