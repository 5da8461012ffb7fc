"""``datasets``: what real data there are and where."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from sparseigen.cli.failures import bad_usage
from sparseigen.cli.output import as_json
from sparseigen.errors import MissingDataError


def datasets(
    name: Annotated[str | None, typer.Argument(help="One data set: its files and a command to try.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the data sets, and show where their files are.

    PitProps ships with the package. The others are read from the folder in SPARSEIGEN_DATA.

    Example: sparseigen datasets colon
    """
    from sparseigen.datasets.catalogue import CATALOGUE, Entry, is_there, paths_of
    from sparseigen.datasets.folder import data_folder
    from sparseigen.report.tables import aligned

    try:
        folder: Path | None = data_folder()
    except MissingDataError:
        folder = None

    def facts(entry: Entry) -> dict[str, object]:
        files = [] if folder is None else [str(path) for path in paths_of(entry, folder)]
        command = entry.command.format(*map(shlex.quote, files)) if is_there(entry, folder) else None
        return {"description": entry.description, "there": is_there(entry, folder), "files": files, "try": command}

    if name is not None and name not in CATALOGUE:
        message = f"{name!r} is not a data set; there are {', '.join(CATALOGUE)}."
        raise bad_usage(message)
    chosen = CATALOGUE if name is None else {name: CATALOGUE[name]}
    if json:
        found = {key: facts(entry) for key, entry in chosen.items()}
        print(as_json({"folder": None if folder is None else str(folder), "datasets": found}))
        return
    where = "not found: set SPARSEIGEN_DATA to the folder with the data sets" if folder is None else str(folder)
    print(f"data folder: {where}\n")
    if name is None:
        rows = [[key, "yes" if is_there(entry, folder) else "no", entry.description] for key, entry in chosen.items()]
        print(aligned([["name", "there", "what"], *rows], [], text_columns=(0, 1, 2)))
        return
    entry = chosen[name]
    print(f"{name}: {entry.description}")
    for path in paths_of(entry, folder) if folder is not None else []:
        print(f"  {path}{'' if path.is_file() else '  (missing)'}")
    if is_there(entry, folder) and folder is not None:
        print("try: " + entry.command.format(*(shlex.quote(str(path)) for path in paths_of(entry, folder))))


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("datasets")(datasets)
