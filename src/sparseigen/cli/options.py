"""Options that several commands share, and how a command takes them in groups."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer


class Missing(StrEnum):
    """What to do about gaps."""

    ERROR = "error"
    MEAN = "mean"
    DROP = "drop"


class Format(StrEnum):
    """Formats of tables."""

    CSV = "csv"
    TSV = "tsv"
    NPY = "npy"
    NPZ = "npz"
    MTX = "mtx"
    PARQUET = "parquet"
    H5AD = "h5ad"


def _set_debug(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        context.meta["debug"] = True
    return wanted


DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="Samples x variables: csv, tsv (also .gz), parquet, npy, npz, mtx, h5ad; - is stdin."
    ),
]
GraphFile = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="Edge list (csv, tsv, txt, also .gz), mtx, npz, parquet, graphml or WebGraph (.graph); - is stdin.",
    ),
]


@dataclass
class Reading:
    """How to read a table."""

    covariance: Annotated[bool, typer.Option("--covariance", help="The file is a covariance matrix, not data.")] = False
    scale: Annotated[bool, typer.Option("--scale", help="Scale every variable to unit variance.")] = False
    drop_text: Annotated[bool, typer.Option("--drop-text", help="Leave out columns that hold text.")] = False
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of groups: not a variable, colours the scores.")
    ] = None
    index: Annotated[str, typer.Option(metavar="COLUMN", help="Column of row names; 'none' if there is none.")] = "auto"
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="First line holds names (default: if it holds text).")
    ] = None
    transpose: Annotated[bool, typer.Option("--transpose", help="Variables are rows, samples are columns.")] = False
    missing: Annotated[Missing, typer.Option(help="Gaps: refuse, fill with the column's mean, or drop the rows.")] = (
        Missing.ERROR
    )
    names: Annotated[
        str | None, typer.Option(metavar="FILE[:COLUMN]", help="Names of the variables, from another table.")
    ] = None
    array: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which array of an npz file, which layer of an h5ad file.")
    ] = None
    format: Annotated[Format | None, typer.Option(help="Format of the file, where its name does not say it.")] = None

    def files(self) -> tuple[str, ...]:
        """What else is read besides the table; FILE:COLUMN may be a file of that name or FILE."""
        return () if self.names is None else (self.names, self.names.rpartition(":")[0] or self.names)


@dataclass
class Output:
    """Where the answer goes."""

    json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False
    csv: Annotated[bool, typer.Option("--csv", help="Print the answer as CSV.")] = False
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write csv files and result.json into this folder.")
    ] = None
    report: Annotated[
        Path | None, typer.Option(metavar="PAGE.html", help="Write a page that opens in any browser.")
    ] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on standard error.")] = False
    debug: Annotated[bool, typer.Option("--debug", callback=_set_debug, help="Show the traceback of an error.")] = False


GROUPS = (Reading, Output)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every parameter of a group type replaced by the options of that group.

    Examples
    --------
    >>> def show(data: str, output: Output) -> None: ...
    >>> list(inspect.signature(expanded(show)).parameters)
    ['data', 'json', 'csv', 'out', 'report', 'quiet', 'debug']
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hints[name] for name in inspect.signature(command).parameters if hints[name] in GROUPS}
    parameters: dict[str, inspect.Parameter] = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in groups
    }
    for group in groups.values():  # after the command's own, so that --help begins with those
        kinds = get_type_hints(group, include_extras=True)
        for option in fields(group):
            parameters[option.name] = inspect.Parameter(
                option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=kinds[option.name]
            )

    def call(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{option.name: given.pop(option.name) for option in fields(group)})
        command(**given)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return call
