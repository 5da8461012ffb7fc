"""A few runs of the concurrency attack; `python -m fuzzing concurrency --runs 200` makes many."""

from __future__ import annotations

import os
import sys

import pytest

from fuzzing.children import watched
from fuzzing.concurrent_work import SCENARIOS
from sparseigen import kernels

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork") or kernels.active.NAME == "numpy", reason="needs fork and the compiled kernels"
)
SHORT = ["32 threads, own problems", "fork while threads solve", "threads inside a fork", "exit while threads solve"]
SHORT += ["Ctrl-C while threads solve"]


@pytest.mark.parametrize("name", SHORT)
def test_scenario(name: str) -> None:
    assert name in SCENARIOS
    ended = watched("fuzzing.concurrent_work", [name, "2"], 120.0)
    assert ended.status == 0, ended.complaint[-4000:]
    assert ended.lines == ["ready", "run 0", "run 1", "ok"]


def test_a_hanging_process_is_shown_and_ended(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch itself: a process that says nothing shows its stack, and is not waited for."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with open(f"{tmp_path}/hanging_work.py", "w") as file:
        file.write(
            "import faulthandler, signal, time\n"
            "faulthandler.register(signal.SIGUSR1)\n"
            "print('ready', flush=True)\n"
            "def asleep():\n    time.sleep(600)\n"
            "asleep()\n"
        )
    ended = watched("hanging_work", [], 3.0)
    assert ended.status is None
    assert "asleep" in ended.complaint
