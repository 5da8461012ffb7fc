"""The command line inside this process, and what every failure must look like."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner, Result

from sparseigen.cli.commands import app


def run(*arguments: Any, **options: Any) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def check_refused(result: Result, code: int, message: str = "") -> None:
    """One line on standard error with an exit code, nothing on standard output, no traceback."""
    assert result.exit_code == code, result.stderr or result.exception
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    assert message in result.stderr
