"""The command line. ``main`` loads the commands; what they need beyond that is loaded when they run."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run the command line."""
    _check_streams()
    try:
        from sparseigen.cli.commands import run
    except ImportError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write("The command line needs click and rich. Install them with: pip install 'sparseigen[cli]'\n")
        sys.exit(2)
    except KeyboardInterrupt:  # while the commands load, before anything of theirs can answer
        sys.stderr.write("error: stopped before there was an answer.\n")
        sys.exit(130)
    run()


def _check_streams() -> None:
    """Closed streams are None in Python, and their numbers would go to the next files that are opened."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 - for the life of the process
    closed = sys.stdout is None
    if closed:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if closed:
        sys.stderr.write("error: standard output is closed; send the answer to a file or to /dev/null.\n")
        sys.exit(2)
    if isinstance(sys.stdout, io.TextIOWrapper):  # names may hold what the encoding of a terminal does not have
        sys.stdout.reconfigure(errors="backslashreplace")
