"""Options: those that several commands share, in groups, and lists of k as they are written on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from sparseigen.errors import CardinalityError

MOST_CARDINALITIES = 1_000_000
MISSING = ("error", "mean", "drop")
FORMATS = ("csv", "tsv", "npy", "npz", "mtx", "parquet", "xlsx", "h5ad", "zarr")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Option(click.Option):
    """An option that is shown beside errors of the library.

    It stands for the parameter of its own name; ``answers`` names further parameters, where the library calls them
    otherwise or where this option is another way out.
    """

    def __init__(self, *declarations: Any, answers: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*declarations, **settings)
        self.answers = frozenset((self.name, *answers))


class Argument(click.Argument):
    """An argument with an explanation for --help."""

    def __init__(self, *declarations: Any, explanation: str, **settings: Any) -> None:
        super().__init__(*declarations, **settings)
        self.explanation = explanation


def option(*names: str, **settings: Any) -> Decorator:
    """An option with a value; the decorator can be used for many commands (click's own only once before 8.1.4)."""
    return lambda function: click.option(*names, cls=Option, **settings)(function)


def argument(name: str, **settings: Any) -> Decorator:
    """An argument, for many commands too."""
    return lambda function: click.argument(name, cls=Argument, **settings)(function)


flag = partial(option, is_flag=True)
path_option = partial(option, type=click.Path(path_type=Path))


def choice_option(name: str, allowed: Sequence[str], *, default: str | None, help: str) -> Decorator:
    """An option with a few allowed words."""
    return option(name, type=click.Choice(allowed), default=default, help=help)


data_argument = argument(
    "data",
    metavar="DATA",
    explanation="Samples x variables: csv, tsv (also .gz), parquet, npy, npz, mtx, h5ad; - is stdin.",
)
graph_argument = argument(
    "graph",
    metavar="GRAPH",
    explanation="Edge list (csv, tsv, txt, also .gz), mtx, npz, parquet, graphml or WebGraph (.graph); - is stdin.",
)
json_flag = flag("--json", help="Print the answer as JSON.")
quiet_flag = flag("--quiet", "-q", help="No progress and no notes on standard error.")
report_option = path_option("--report", metavar="PAGE.html", help="Write a page that opens in any browser.")


effort_option = choice_option(
    "--effort",
    ("quick", "default", "thorough"),
    default="default",
    help="How much search and proof an open gap is worth; an answer that is proven ends all.",
)
time_limit_option = option(
    "--time-limit", metavar="SECONDS", type=float, help="Then the best answer and bracket so far, exit code 4."
)


@dataclass
class Reading:
    """How to read a table."""

    covariance: bool
    scale: bool
    drop_text: bool
    label: str | None
    index: str
    header: bool | None
    transpose: bool
    missing: str
    names: str | None
    array: str | None
    format: str | None

    def files(self) -> tuple[str, ...]:
        """What else is read besides the table; FILE:COLUMN may be a file of that name or FILE."""
        return () if self.names is None else (self.names, self.names.rpartition(":")[0] or self.names)


@dataclass
class GraphReading:
    """How to read a graph."""

    weight: str | None
    vertices: Path | None
    format: str | None


@dataclass
class Output:
    """Where the answer goes."""

    json: bool = False
    csv: bool = False
    out: Path | None = None
    report: Path | None = None
    quiet: bool = False
    debug: bool = False


def option_group(name: str, kind: type[Any], *options: Decorator) -> Decorator:
    """A decorator that adds the options and hands their values to the command as one object, under ``name``."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(**values: Any) -> Any:
            group: Any = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            return function(**values, **{name: group})

        decorated: Callable[..., Any] = call
        for add in reversed(options):
            decorated = add(decorated)
        return decorated

    return decorate


reading_options = option_group(
    "reading",
    Reading,
    flag("--covariance", help="The file is a covariance matrix, not data."),
    flag("--scale", help="Scale every variable to unit variance."),
    flag("--drop-text", help="Leave out columns that hold text."),
    option(
        "--label", metavar="COLUMN", answers=["drop_text"], help="Column of groups: not a variable, colours the scores."
    ),
    option("--index", metavar="COLUMN", default="auto", help="Column of row names; 'none' if there is none."),
    flag("--header/--no-header", default=None, help="First line holds names (default: if it holds text)."),
    flag("--transpose", help="Variables are rows, samples are columns."),
    choice_option(
        "--missing", MISSING, default="error", help="Gaps: refuse, fill with the column's mean, or drop the rows."
    ),
    option("--names", metavar="FILE[:COLUMN]", help="Names of the variables, from another table."),
    option("--array", metavar="NAME", help="Which array of an npz file, which layer of an h5ad file."),
    choice_option("--format", FORMATS, default=None, help="Format of the file, where its name does not say it."),
)
graph_reading_options = option_group(
    "reading",
    GraphReading,
    option("--weight", metavar="COLUMN", help="Column or edge attribute with the weights."),
    path_option(
        "--vertices", metavar="FILE", help="Table of the vertices: number, name, and latitude and longitude for a map."
    ),
    option("--format", metavar="NAME", help="For stdin: csv, mtx, npz, ..."),
)
output_options = option_group(
    "output",
    Output,
    json_flag,
    flag("--csv", help="Print the answer as CSV."),
    path_option("--out", metavar="DIR", help="Write csv files and result.json into this folder."),
    report_option,
    quiet_flag,
    flag("--debug", help="Show the traceback of an error."),
)


def read_cardinalities(text: str, subject: str = "cardinality") -> list[int]:
    """Whole numbers from '5', '7,2,1' or '10:300:10' (both ends included).

    Examples
    --------
    >>> read_cardinalities("7,2,1"), read_cardinalities("10:30:10")
    ([7, 2, 1], [10, 20, 30])
    """
    found: list[int] = []
    for part in text.split(","):
        numbers = [_read_whole(number, text, subject) for number in part.split(":")]
        if len(numbers) > 3 or (len(numbers) == 3 and numbers[2] < 1):
            message = f"{subject}={text!r} must be a number, first:last or first:last:step with a step of at least 1."
            raise CardinalityError(message, parameter=subject)
        first, last = numbers[0], numbers[1] if len(numbers) > 1 else numbers[0]
        step = numbers[2] if len(numbers) == 3 else 1
        if len(numbers) > 1 and not 0 <= (last - first) // step < MOST_CARDINALITIES:
            message = f"{subject}={text!r} must go up, and over at most {MOST_CARDINALITIES} numbers."
            raise CardinalityError(message, parameter=subject)
        found += range(first, last + 1, step)
    return found


def _read_whole(number: str, text: str, subject: str) -> int:
    try:
        return int(number)
    except ValueError:
        message = f"{subject}={text!r} must be a whole number, several (7,2,1) or a range (10:300:10)."
        raise CardinalityError(message, parameter=subject) from None


def read_cardinality(text: str, subject: str = "cardinality") -> int:
    """A single k."""
    found = read_cardinalities(text, subject)
    if len(found) != 1:
        message = f"{subject}={text!r} must be one whole number here."
        raise CardinalityError(message, parameter=subject)
    return found[0]
