"""The command line as a user meets it: tables, exit codes, one clear sentence for every error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sparseigen.datasets import load_pitprops


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sparseigen", *arguments], capture_output=True, text=True, timeout=120)


def test_demo_prints_the_papers_table() -> None:
    answer = run("demo")
    assert answer.returncode == 0
    lines = answer.stdout.splitlines()
    loadings = {line.split()[0]: line.split()[1] for line in lines if line.startswith(("topdiam", "whorls", "moist"))}
    assert loadings == {"topdiam": "0.4235", "whorls": "0.3994", "moist": "0.7071"}
    assert [line.split()[1:] for line in lines if line.startswith("non-zeros")] == [["7", "2", "1", "1", "1", "1"]]
    assert any(line.split() == ["plain", "0.7599"] for line in lines)
    assert any(line.split() == ["adjusted", "0.7346"] for line in lines)
    assert "certificate" in answer.stdout


def test_doctor_tests_itself() -> None:
    answer = run("doctor")
    assert answer.returncode == 0
    assert "self-test   passed" in answer.stdout
    assert "kernels" in answer.stdout


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((30, 4)) * [1.0, 4.0, 1.0, 3.0]
    path = tmp_path / "table.csv"
    rows = ["id,age,height,shoe,weight", *(f"r{i}," + ",".join(map(repr, row.tolist())) for i, row in enumerate(data))]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_pca_of_a_csv(table: Path) -> None:
    answer = run("pca", str(table), "-k", "2", "-n", "2")
    assert answer.returncode == 0
    assert "height" in answer.stdout
    assert "PC2" in answer.stdout
    as_json = json.loads(run("pca", str(table), "-k", "2", "--json").stdout)
    assert set(as_json[0]["names"]) == {"height", "weight"}


def test_pca_of_a_covariance_matrix(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npy"
    np.save(path, load_pitprops().matrix)
    answer = json.loads(run("pca", str(path), "-k", "5", "--covariance", "--json").stdout)
    assert answer[0]["value"] == pytest.approx(3.406154946789761)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,x\n2,3\n", "line 2, column 'b': 'x' is not a number"),
        ("a,b\n1,2\n3\n", "line 3: 1 cells where the first line has 2"),
        ("", "is empty"),
        ("a,b\n1,2\n", "X has 1 sample"),
        ("a,b\n1,nan\n2,3\n", "1 NaN or infinite value, the first at row 0, column 1"),
        ("a,b\n1,5\n1,5\n", "all columns are constant"),
    ],
)
def test_bad_files_are_one_sentence_and_code_3(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    answer = run("pca", str(path), "-k", "1")
    assert answer.returncode == 3
    assert message in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert "Traceback" not in answer.stderr


def test_other_bad_files(tmp_path: Path) -> None:
    (tmp_path / "x.xls").write_text("")
    (tmp_path / "x.npy").write_bytes(b"not an array")
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    assert "does not exist" in run("pca", str(tmp_path / "none.csv"), "-k", "1").stderr
    assert (
        "'.xls', which is not known. Allowed: '.csv', '.h5ad', '.mtx', '.npy', '.npz', '.parquet', '.tsv'"
        in run("pca", str(tmp_path / "x.xls"), "-k", "1").stderr
    )
    for name in ("x.npy", "x.csv"):
        answer = run("pca", str(tmp_path / name), "-k", "1")
        assert answer.returncode == 3
        assert "Traceback" not in answer.stderr
    assert run("pca", str(tmp_path / "x.npy")).returncode == 2  # -k is missing


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a child process")
def test_ctrl_c_prints_the_best_answer_so_far(tmp_path: Path) -> None:
    path = tmp_path / "large.npy"
    np.save(path, np.random.default_rng(0).standard_normal((300, 6000)).astype(np.float32))
    for delay in (2.0, 4.0, 8.0):  # long enough for a first iterate, short enough for the solve not to be done
        command = [sys.executable, "-m", "sparseigen", "pca", str(path), "-k", "300", "-n", "40"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors
        if process.returncode == 4:
            assert "variance share" in output
            assert "stopped early" in errors
            return
    pytest.fail(f"never stopped with an answer: code {process.returncode}, {errors!r}")
