"""``certify`` and ``exact``: proofs, limits, progress and interruption."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sparseigen.datasets import load_pitprops
from tests.unit.cli.running import check_refused, run


def test_certify(pitprops: Path) -> None:
    answer = json.loads(run("certify", pitprops, "--covariance", "-k", "5", "--json").stdout)
    assert answer["lower_bound"] <= 3.406155 <= answer["upper_bound"] + 1e-6
    own = json.loads(run("certify", pitprops, "--covariance", "--support", "topdiam,length", "--json").stdout)
    assert own["lower_bound"] == pytest.approx(1.954)
    assert own["optimal"]
    assert (
        "No 2 variables can explain more: proven"
        in run("certify", pitprops, "--covariance", "--support", "topdiam,length").stdout
    )
    worse = run("certify", pitprops, "--covariance", "--support", "moist,knots", "-k", "3").stdout
    assert "gap" in worse
    check_refused(run("certify", pitprops, "--covariance"), 2, "give -k")
    check_refused(run("certify", pitprops, "--covariance", "--support", "leaf"), 2, "'leaf', which is not a variable")
    check_refused(run("certify", pitprops, "--covariance", "--support", "moist,knots", "-k", "1"), 2, "names 2")


def test_support_by_number(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", load_pitprops().matrix)
    by_number = run("certify", tmp_path / "m.npy", "--covariance", "--support", "0,1", "--json").stdout
    assert json.loads(by_number)["support"] == ["x0", "x1"]
    assert run("certify", tmp_path / "m.npy", "--covariance", "--support", "x0,x1", "--json").stdout == by_number
    check_refused(run("certify", tmp_path / "m.npy", "--covariance", "--support", "a"), 2, "numbers from 0 on")
    check_refused(run("certify", tmp_path / "m.npy", "--covariance", "--support", "99"), 2, "index 99")


def test_exact(pitprops: Path, tmp_path: Path) -> None:
    result = run("exact", pitprops, "--covariance", "-k", "5", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "bracket closed after" in result.stdout
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert document["answer"]["value"] == pytest.approx(3.406155, abs=1e-6)


def test_limits_end_with_code_4_and_an_answer(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).standard_normal((60, 120))
    np.save(tmp_path / "noise.npy", noise)
    result = run("exact", tmp_path / "noise.npy", "-k", "12", "--time-limit", "0.001")
    assert result.exit_code == 4
    assert "variance share" in result.stdout
    assert "time limit" in result.stderr
    answer = run("pca", tmp_path / "noise.npy", "-k", "40", "--max-iterations", "1", "--method", "gpower-l1", "--json")
    stopped = json.loads(answer.stdout)[0]["stop_reason"] == "iteration_limit"
    assert answer.exit_code == (4 if stopped else 0)
    assert stopped


def long_search(folder: Path, seconds: int) -> list[str]:
    """An exact search on noise, which never ends by itself."""
    np.save(folder / "noise.npy", np.random.default_rng(0).standard_normal((80, 150)))
    limit = ["--time-limit", str(seconds)]
    return [sys.executable, "-m", "sparseigen", "exact", str(folder / "noise.npy"), "-k", "15", *limit]


def test_progress_on_a_terminal_only(tmp_path: Path) -> None:
    command = long_search(tmp_path, seconds=2)
    for more, shown in (([], True), (["--quiet"], False)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        os.close(ours)
        assert process.wait(timeout=60) == 4
        assert (b"proving" in seen) is shown
        assert b"Traceback" not in seen


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a child process")
def test_ctrl_c_of_an_exact_search(tmp_path: Path) -> None:
    command = long_search(tmp_path, seconds=90)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4.0)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 4, errors
    assert "variance share" in output
    assert "Traceback" not in errors
