"""``datasets``: what real data there are and where, and fetching those that are published."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from sparseigen.cli.commands import Command, bad_usage
from sparseigen.cli.options import argument, flag, json_flag, option, path_option, quiet_flag
from sparseigen.cli.output import Working, as_json
from sparseigen.errors import MissingDataError


class ShowByDefault(click.Group):
    """``datasets`` and ``datasets NAME`` mean ``datasets show [NAME]``."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command in where it was left out."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=ShowByDefault, short_help="List, show and fetch data sets.")
def datasets() -> None:
    """List the data sets, show where their files are, fetch those that are published.

    Example: sparseigen datasets colon
    """


@datasets.command(short_help="List the data sets, or show one.")
@argument("name", metavar="[NAME]", required=False, explanation="One data set: its files and a command to try.")
@json_flag
def show(name: str | None, json: bool) -> None:
    """List the data sets, and show where their files are ('datasets NAME' is the same).

    PitProps ships with the package. The others are read from the folder in SPARSEIGEN_DATA.

    Example: sparseigen datasets show colon
    """
    from sparseigen.datasets.catalogue import CATALOGUE, SOURCES, Entry, data_folder, is_there, paths_of
    from sparseigen.report.words import align_rows

    try:
        folder: Path | None = data_folder()
    except MissingDataError:
        folder = None

    def facts(key: str, entry: Entry) -> dict[str, object]:
        files = [] if folder is None else [str(path) for path in paths_of(entry, folder)]
        present = is_there(entry, folder)
        command = entry.command.format(*map(shlex.quote, files)) if present else None
        found = {"description": entry.description, "there": present, "files": files, "try": command}
        return {**found, "fetch": f"sparseigen datasets fetch {key}" if key in SOURCES else None}

    if name is not None and name not in CATALOGUE:
        message = f"{name!r} is not a data set; there are {', '.join(CATALOGUE)}."
        raise bad_usage(message)
    chosen = CATALOGUE if name is None else {name: CATALOGUE[name]}
    if json:
        found = {key: facts(key, entry) for key, entry in chosen.items()}
        print(as_json({"folder": None if folder is None else str(folder), "datasets": found}))
        return
    where = "not found: set SPARSEIGEN_DATA to the folder with the data sets" if folder is None else str(folder)
    print(f"data folder: {where}\n")
    if name is None:
        rows = [
            [key, "yes" if is_there(entry, folder) else "no", "yes" if key in SOURCES else "no", entry.description]
            for key, entry in chosen.items()
        ]
        print(align_rows([["name", "there", "fetch", "what"], *rows], [], text_columns=(0, 1, 2, 3)))
        return
    entry = chosen[name]
    print(f"{name}: {entry.description}")
    for path in paths_of(entry, folder) if folder is not None else []:
        print(f"  {path}{'' if path.is_file() else '  (missing)'}")
    if is_there(entry, folder) and folder is not None:
        print("try: " + entry.command.format(*(shlex.quote(str(path)) for path in paths_of(entry, folder))))
    elif name in SOURCES:
        print(f"get it: sparseigen datasets fetch {name}")


@datasets.command(short_help="Download a data set and check it.")
@argument("name", metavar="NAME", explanation="The data set; 'datasets' says which can be fetched.")
@path_option("--to", metavar="DIR", help="The data folder; without it the one in SPARSEIGEN_DATA.")
@option("--base-url", metavar="URL", help="A mirror with NAME/FILE below it; also the variable SPARSEIGEN_MIRROR.")
@flag("--replace", help="Replace a file that fails the check.")
@quiet_flag
def fetch(name: str, to: Path | None, base_url: str | None, replace: bool, quiet: bool) -> None:
    """Download a data set from where it is published, and check it.

    A download that was interrupted is continued by the same command. The web graphs come from the Laboratory for Web
    Algorithmics, the messages of newsgroups20 from the address that scikit-learn uses; only the raw messages are
    published, not the word counts.

    Example: sparseigen datasets fetch amazon-2008 --to ~/data
    """
    from sparseigen.datasets.catalogue import CATALOGUE, SOURCES
    from sparseigen.datasets.fetch import fetch_dataset

    if name not in SOURCES:
        known = "has no public address" if name in CATALOGUE else "is not a data set"
        message = f"{name!r} {known}; {', '.join(SOURCES)} can be fetched."
        raise bad_usage(message)

    with Working(quiet=quiet) as working:

        def report(file: str, done: int, total: int) -> None:
            if working.stage != file:
                working.step(file)
            working.on_progress(done, total) if total else working.step(f"{file} {done:,} bytes")

        files = fetch_dataset(name, to=to, base_url=base_url, replace=replace, on_progress=report)
    for file in files:
        print(f"{'fetched' if file.downloaded else 'there'}: {file.path}")
        print(f"  checked by {file.checked_by}; SHA-256 {file.sha256}")
    print(f"from: {SOURCES[name].publisher}")
    if SOURCES[name].unpacked is not None:
        print("These are the raw messages: sklearn.datasets.load_files(FOLDER, encoding='latin-1') reads each half.")
