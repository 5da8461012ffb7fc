"""The command line inside this process and as one of its own, and what every failure must look like."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

from click.testing import CliRunner, Result

from sparseigen.cli.commands import app

STREAMS: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
"""Before click 8.2 the streams are kept apart only on request."""


def run(*arguments: Any, **options: Any) -> Result:
    return CliRunner(**STREAMS).invoke(app, [str(argument) for argument in arguments], **options)


def start_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line as a user starts it."""
    return subprocess.run([sys.executable, "-m", "sparseigen", *arguments], capture_output=True, text=True, timeout=120)


def check_refused(result: Result, code: int, message: str = "") -> None:
    """One line on standard error with an exit code, nothing on standard output, no traceback."""
    assert result.exit_code == code, result.stderr or result.exception
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    assert message in result.stderr
