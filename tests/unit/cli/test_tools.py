"""``convert``, ``reproduce``, ``bench`` and ``doctor``."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.running import check_refused, run, start_process


def test_benchmarks_need_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.cli import tools

    check_refused(run("bench", "nothing"), 2, "'nothing' is not a part of the benchmarks")
    assert "start-up" in run("bench", "--list").stdout
    started = []
    monkeypatch.setattr(
        tools.subprocess,
        "run",
        lambda *given, **named: started.append((given, named)) or subprocess.CompletedProcess(given, 0),
    )
    monkeypatch.setattr(tools, "__file__", __file__)  # in the source, wherever the package is installed
    monkeypatch.chdir(tmp_path)
    assert run("reproduce", "T4", "T1.spca", "--data", "here", "--fresh").exit_code == 0
    assert run("reproduce", "--list").exit_code == 0
    assert [given[0][1:] for given, _ in started] == [
        ["-m", "benchmarks.paper", f"--data={tmp_path / 'here'}", "--fresh", "--", "T4", "T1.spca"],
        ["-m", "benchmarks.paper", "--list", "--"],
    ]
    started.clear()
    assert run("bench", "quick").exit_code == 0
    assert run("bench", "speed", "startup").exit_code == 0
    assert [given[0][1:] for given, _ in started] == [
        ["-m", "benchmarks.speed", "quick"],
        ["-m", "benchmarks.speed", "startup"],
    ]
    monkeypatch.setattr(tools, "__file__", str(tmp_path / "installed" / "checkout.py"))
    monkeypatch.chdir(tmp_path)
    for command in ("bench", "reproduce"):
        check_refused(run(command), 2, "run this inside a checkout of the sparseigen repository")


def test_a_benchmark_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its exit code is passed on; a signal is a failure like any other."""
    from sparseigen.cli import tools

    monkeypatch.setattr(tools, "find_checkout", lambda: tmp_path)
    folder = tmp_path / "benchmarks" / "paper"
    folder.mkdir(parents=True)
    for text, code in (("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 1)):
        (folder / "__main__.py").write_text(text)
        answer = run("reproduce", "T1")
        assert answer.exit_code == code
        assert "error: benchmarks.paper ended with code" in answer.stderr


def test_doctor_tests_itself() -> None:
    answer = start_process("doctor")
    assert answer.returncode == 0
    assert "self-test   passed" in answer.stdout
    assert "kernels" in answer.stdout


def test_doctor_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.cli import tools

    assert json.loads(run("doctor", "--json").stdout)["failures"] == dict.fromkeys(tools.TESTS)
    monkeypatch.setitem(tools.TESTS, "graphs", lambda: "no clique")
    result = run("doctor")
    assert result.exit_code == 1
    assert "FAILED: no clique" in result.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,b,c\n1,2,3\n4,5,7\n2,1,9\n8,8,1\n")
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    refused = run("convert", "pipe.csv", "table.npy")
    assert refused.exit_code == 3
    assert "pipe.csv is not a file" in refused.stderr
    assert not (folder / "table.npy").exists()


def test_progress_of_a_conversion_is_not_part_of_its_answer(folder: Path) -> None:
    assert run("convert", "data.csv", "table.npy").stdout == "table.npy: 4 x 3\n"
