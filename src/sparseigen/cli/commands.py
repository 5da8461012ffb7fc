"""The commands: a table of names and modules, each loaded when it is called, and what happens to errors.

Exit codes: 0 an answer, 2 bad usage, 3 bad data, 4 stopped early with a valid answer.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import typer
import typer.core
import typer.main

from sparseigen.cli.failures import explain
from sparseigen.cli.plain_values import use_plain_values
from sparseigen.errors import ConvergenceWarning

COMMANDS = {
    "pca": "sparseigen.cli.pca",
    "path": "sparseigen.cli.pca",
    "certify": "sparseigen.cli.exact",
    "exact": "sparseigen.cli.exact",
    "dks": "sparseigen.cli.graphs",
    "curve": "sparseigen.cli.graphs",
    "convert": "sparseigen.cli.convert",
    "datasets": "sparseigen.cli.datasets",
    "reproduce": "sparseigen.cli.checkout",
    "bench": "sparseigen.cli.checkout",
    "demo": "sparseigen.cli.demo",
    "doctor": "sparseigen.cli.doctor",
}
"""Command -> the module whose ``register(app)`` adds it. A new command is a module and a row here."""


class Commands(typer.core.TyperGroup):
    """The group: a command's module is imported when the command is looked up, and no error leaves as a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One command, built from its module."""
        if cmd_name not in COMMANDS:
            return None
        part = typer.Typer(add_completion=False, rich_markup_mode=None)
        part.callback()(lambda: None)  # keeps a module with a single command a group
        import_module(COMMANDS[cmd_name]).register(part)
        group: Any = typer.main.get_command(part)
        command = group.commands[cmd_name]
        use_plain_values(command, ctx)
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The options of the group itself have plain values too."""
        use_plain_values(self, ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error becomes one sentence on standard error and an exit code."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # exit code 4 and the notes say it
            try:
                return super().invoke(ctx)
            except (Exception, KeyboardInterrupt) as error:
                raise typer.Exit(explain(error, debug=bool(ctx.meta.get("debug")))) from None


app = typer.Typer(
    cls=Commands,
    help="Which k variables carry the most variance, which k vertices are most tightly connected? Fast answers with "
    "proven bounds.",
    epilog="Exit codes: 0 an answer, 2 bad usage, 3 bad data, 4 stopped early with a valid answer. "
    "Example: sparseigen pca measurements.csv -k 10 -n 5",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from sparseigen.cli.output import version

        print(f"sparseigen {version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def run() -> None:
    """Run the app."""
    app(prog_name="sparseigen")
