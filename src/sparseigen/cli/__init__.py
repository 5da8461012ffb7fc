"""The command line. ``main`` loads the commands; what they need beyond that is loaded when they run."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        import typer  # noqa: F401 - only to tell the user early and clearly

        from sparseigen.cli.commands import run
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write("The command line needs typer and rich. Install them with: pip install 'sparseigen[cli]'\n")
        sys.exit(2)
    except KeyboardInterrupt:  # while the commands load, before anything of theirs can answer
        sys.stderr.write("error: stopped before there was an answer.\n")
        sys.exit(130)
    run()
