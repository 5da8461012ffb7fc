"""The group of commands, each loaded when it is called, and what becomes of their errors.

Exit codes: 0 an answer, 1 a defect, 2 bad usage, 3 bad data, 4 stopped early with a valid answer, 130 interrupted.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from sparseigen.cli.options import Argument, Option
from sparseigen.errors import (
    CardinalityError,
    ConvergenceWarning,
    MissingDependencyError,
    OptionError,
    SparseigenError,
    UnusedWeightsWarning,
    WriteError,
)

FAILED, BAD_USAGE, BAD_DATA, STOPPED_EARLY, INTERRUPTED = 1, 2, 3, 4, 130

COMMANDS = {
    "pca": "components",
    "path": "components",
    "certify": "exact",
    "exact": "exact",
    "dks": "graphs",
    "curve": "graphs",
    "convert": "tools",
    "datasets": "datasets",
    "reproduce": "tools",
    "bench": "tools",
    "demo": "components",
    "doctor": "tools",
}
"""Command -> the module of this package that defines it under the same name."""

COMPLETION = "_SPARSEIGEN_COMPLETE"
SHELLS = {
    "bash": (".sparseigen-complete.bash", ".bashrc"),
    "zsh": (".sparseigen-complete.zsh", ".zshrc"),
    "fish": (".config/fish/completions/sparseigen.fish", None),
}
"""Shell -> where its completion goes, and the file that must source it; both below the home folder."""


class Command(click.Command):
    """A command that explains its arguments in --help and its errors in one sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with explain_failures(ctx):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments first, then options."""
        arguments = [(str(each.metavar), each.explanation) for each in self.params if isinstance(each, Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        super().format_options(ctx, formatter)


command = partial(click.command, cls=Command)


class Commands(click.Group):
    """The group: a command's module is imported when the command is looked up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command, from its module."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"sparseigen.cli.{COMMANDS[cmd_name]}"), cmd_name)
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without any argument, the help and the exit code of bad usage."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(BAD_USAGE)
        with explain_failures(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Load and run the command."""
        with warnings.catch_warnings(), explain_failures(ctx):
            for said in (ConvergenceWarning, UnusedWeightsWarning):  # exit code 4 and the notes say it
                warnings.simplefilter("ignore", said)
            return super().invoke(ctx)


@contextmanager
def explain_failures(context: click.Context) -> Iterator[None]:
    """No error leaves as a traceback: it becomes one sentence on standard error and an exit code."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        code = explain(error, context, debug=bool(context.params.get("debug")))
        raise click.exceptions.Exit(code) from None


def explain(error: BaseException, context: click.Context | None = None, *, debug: bool) -> int:
    """Say on standard error what went wrong; the exit code. What needs no explanation is raised again."""
    if isinstance(error, (click.exceptions.Exit, click.Abort, BrokenPipeError)):
        raise error
    if debug:
        import traceback

        traceback.print_exception(error)
    code, sentence = _describe(error)
    options = [] if context is None else find_options(error, context)
    hint = f" See {' or '.join(options)}." if options else ""
    click.echo(one_line(f"error: {sentence}{hint}"), err=True)
    return code


def find_options(error: BaseException, context: click.Context) -> list[str]:
    """The options of the command that set the parameter at fault, as --help writes them."""
    parameter = getattr(error, "parameter", None)
    asked = [each for each in context.command.params if isinstance(each, Option) and parameter in each.answers]
    records = [each.get_help_record(context) for each in asked]
    return [record[0] for record in records if record is not None]


def _describe(error: BaseException) -> tuple[int, str]:
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx is not None else "sparseigen"
        return BAD_USAGE, f"{error.format_message().rstrip('.')}. Try '{command} --help'."
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "stopped before there was an answer."
    if isinstance(error, (OptionError, CardinalityError, MissingDependencyError, WriteError)):
        return BAD_USAGE, str(error)
    if isinstance(error, SparseigenError):
        return BAD_DATA, str(error)
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


def bad_usage(message: str) -> click.UsageError:
    """A mistake in the options, for exit code 2."""
    return click.UsageError(message, ctx=click.get_current_context(silent=True))


def _show_version(context: click.Context) -> None:
    from sparseigen.cli.output import version

    print(f"sparseigen {version()}")


def _completion_script(context: click.Context) -> tuple[str, str]:
    """The user's shell, and the script that completes the commands in it."""
    from click.shell_completion import get_completion_class

    shell = Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        message = f"SHELL={shell!r} has no completion. Set the variable SHELL to one of {', '.join(SHELLS)}."
        raise bad_usage(message)
    return shell, kind(context.command, {}, "sparseigen", COMPLETION).source()


def _show_completion(context: click.Context) -> None:
    print(_completion_script(context)[1])


def _install_completion(context: click.Context) -> None:
    shell, script = _completion_script(context)
    place, startup = SHELLS[shell]
    target = Path.home() / place
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(script, encoding="utf-8")
    if startup is not None:
        line = f'. "{target}"\n'.encode()
        file = Path.home() / startup
        if not file.exists() or line not in file.read_bytes():
            with file.open("ab") as end:
                end.write(b"\n" + line)
    print(f"{shell} completion installed in {target}; it works in new terminals.")


def _action(name: str, act: Callable[[click.Context], None], help: str) -> Callable[..., Any]:
    """A flag of the group that does something instead of running a command."""

    def call(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            act(context)
            context.exit()

    return click.option(name, is_flag=True, is_eager=True, expose_value=False, callback=call, help=help)


@click.group(
    "sparseigen",
    cls=Commands,
    help="Which k variables carry the most variance, which k vertices are most tightly connected? Fast answers with "
    "proven bounds.",
    epilog="Exit codes: 0 an answer, 2 bad usage, 3 bad data, 4 stopped early with a valid answer. "
    "Example: sparseigen pca measurements.csv -k 10 -n 5",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@_action("--version", _show_version, "Print the version.")
@_action("--install-completion", _install_completion, "Install completion for the current shell.")
@_action(
    "--show-completion",
    _show_completion,
    "Show completion for the current shell, to copy it or customize the installation.",
)
def app() -> None:
    """The group itself does nothing."""


def run() -> None:
    """Run the app."""
    app(prog_name="sparseigen")
