"""Errors on the command line: one clear sentence with a hint, an exit code, a traceback only with --debug."""

from __future__ import annotations

import re
import sys
from typing import Any

import typer

from sparseigen.errors import MissingDependencyError, OptionError, SparseigenError, WriteError

FAILED, BAD_USAGE, BAD_DATA, STOPPED_EARLY, INTERRUPTED = 1, 2, 3, 4, 130

UsageError: Any = typer.BadParameter.__base__
"""What the parser raises on a bad command line; typer does not export it."""

AS_OPTIONS = {
    "('drop_text')": "(--drop-text; --label NAME uses one to colour scores)",
    "('array')": "(--array NAME)",
    "('weight')": "(--weight NAME)",
    "('base_url')": "(--base-url URL)",
    "('to')": "(--to DIR)",
    "('replace')": "(--replace)",
    "(missing='mean')": "(--missing mean)",
    "missing='mean' and missing='drop'": "--missing",
    "(for example with sklearn.impute.SimpleImputer)": "(--missing mean, or --missing drop)",
    "For data (samples x variables) pass covariance(X).": "For data (samples x variables) leave out --covariance.",
    "Pass a covariance matrix itself as it is.": "For a covariance matrix add --covariance.",
    "Pass (A + A.T) / 2 if that is what you mean.": "For data (samples x variables) leave out --covariance.",
}
"""Advice of the library about its arguments -> the same advice about options."""


def explain(error: BaseException, *, debug: bool) -> int:
    """Say on standard error what went wrong; the exit code. What is not ours to explain is raised again."""
    if isinstance(error, (typer.Exit, typer.Abort, BrokenPipeError)):
        raise error
    if debug:
        import traceback

        traceback.print_exception(error)
    code, sentence = _told(error)
    sys.stderr.write(one_line(f"error: {sentence}") + "\n")
    return code


def _told(error: BaseException) -> tuple[int, str]:
    if isinstance(error, UsageError):
        command = error.ctx.command_path if error.ctx is not None else "sparseigen"
        return BAD_USAGE, f"{error.format_message().rstrip('.')}. Try '{command} --help'."
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "stopped before there was an answer."
    sentence = re.sub(r"cardinalities\[\d+\]=", "cardinality=", str(error))
    for advice, option in AS_OPTIONS.items():
        sentence = sentence.replace(advice, option)
    if isinstance(error, (OptionError, MissingDependencyError, WriteError)):
        return BAD_USAGE, sentence
    if isinstance(error, SparseigenError):
        return BAD_DATA, sentence
    if isinstance(error, MemoryError):
        return BAD_DATA, "there is not enough memory for these data; use fewer rows or columns."
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return BAD_USAGE, f"{where}{error.strerror or error}. Choose another place to write to, or make room."
    return FAILED, f"unexpected {type(error).__name__}: {error}. This is a defect; --debug shows where it happened."


def one_line(text: str) -> str:
    r"""Text without line breaks and without characters that could steer a terminal.

    Examples
    --------
    >>> one_line("a\nb\x1b[2Jc")
    'a b[2Jc'
    """
    return "".join(c for c in " ".join(text.split()) if c.isprintable())


def bad_usage(message: str) -> Exception:
    """A mistake in the options, for exit code 2."""
    return typer.BadParameter(message)
