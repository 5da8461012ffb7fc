"""Processes with a hard time limit: one that says nothing for too long shows all its threads, and is ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass


@dataclass
class Ended:
    """How a process ended: the lines it printed, its status (None: it had to be ended), what it said on stderr."""

    lines: list[str]
    status: int | None
    complaint: str


def watched(module: str, arguments: list[str], limit: float) -> Ended:
    """Run ``python -m module ...`` in a session of its own; every line it prints gives it ``limit`` seconds more."""
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,
        )
        assert process.stdout is not None
        said, alive, deadline = b"", True, time.monotonic() + limit
        with process:
            while alive:
                ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
                if not ready:
                    break
                part = os.read(process.stdout.fileno(), 1 << 16)
                said, alive, deadline = said + part, bool(part), time.monotonic() + limit
            status = None
            if not alive:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    status = process.wait(limit)
            _end_session(process, ask=status is None)
        complaints.seek(0)
        text = complaints.read().decode(errors="replace")
    return Ended(said.decode(errors="replace").splitlines(), status, text)


def _end_session(process: subprocess.Popen[bytes], *, ask: bool) -> None:
    """End the process and all it started, after they have shown where they are."""
    with contextlib.suppress(ProcessLookupError):
        if ask:
            os.killpg(process.pid, signal.SIGUSR1)
            time.sleep(1.0)
        os.killpg(process.pid, signal.SIGKILL)
