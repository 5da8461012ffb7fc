"""The command line. ``main`` loads the commands; what they need beyond that is loaded when they run."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        import typer  # noqa: F401 - only to tell the user early and clearly
    except ImportError:
        sys.stderr.write("The command line needs typer and rich. Install them with: pip install 'sparseigen[cli]'\n")
        sys.exit(2)
    from sparseigen.cli.commands import run

    run()
