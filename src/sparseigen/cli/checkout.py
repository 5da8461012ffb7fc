"""``reproduce`` and ``bench``: the benchmarks folder, which is part of the source, not of the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from sparseigen.cli.failures import FAILED, bad_usage

AREAS = {
    "quick": "other packages, growth and three verdicts in under three minutes",
    "speed": "the same in full, and start-up, bandwidth, iterations, screening",
    "certificates": "gaps and seconds of every bound",
    "graphs": "dense subgraphs, up to 100 million arcs",
    "gpu": "on a CUDA device",
}
"""Parts of the benchmarks folder, and the short form of one."""


def checkout() -> Path:
    """The root of the source tree that this package runs from, or that the working directory is in."""
    here = Path(__file__).resolve()
    for folder in (*here.parents, Path.cwd(), *Path.cwd().parents):
        project = folder / "pyproject.toml"
        complete = project.is_file() and (folder / "benchmarks" / "__init__.py").is_file()
        if complete and 'name = "sparseigen"' in project.read_text(encoding="utf-8"):
            return folder
    message = (
        "the benchmarks are part of the source repository, not of the installed package; run this inside a checkout "
        "of the sparseigen repository"
    )
    raise bad_usage(message)


def _run(area: str, parts: list[str]) -> None:
    command = [sys.executable, "-m", f"benchmarks.{area}", *parts]
    code = subprocess.run(command, cwd=checkout(), check=False).returncode
    if code:
        sys.stderr.write(f"error: benchmarks.{area} ended with code {code}.\n")
        raise typer.Exit(code if code > 0 else FAILED)


def reproduce(
    what: Annotated[
        list[str] | None, typer.Argument(help="Tables (T1), rows (T1.spca.success) or patterns ('T3.*'); all without.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="The folder of data sets.")] = None,
    out: Annotated[str | None, typer.Option(help="The page to write; without WHAT it is docs/reproduction.md.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what an earlier run stored.")] = False,
    show: Annotated[bool, typer.Option("--list", help="List the rows and stop.")] = False,
) -> None:
    """Make the paper's numbers again and compare, in a checkout of the source.

    Example: sparseigen reproduce T3 T1.spca.success --data DIR
    """
    # The benchmarks run in the checkout: a path must mean there what it means here.
    options = [f"--data={Path(data).resolve()}"] if data is not None else []
    options += [f"--out={Path(out).resolve()}"] if out is not None else []
    options += [flag for flag, given in (("--fresh", fresh), ("--list", show)) if given]
    _run("paper", [*options, "--", *(what or [])])


def bench(
    area: Annotated[str, typer.Argument(help=f"One of {', '.join(AREAS)}.")] = "speed",
    parts: Annotated[list[str] | None, typer.Argument(help="Parts of it, for example startup; all without.")] = None,
    show: Annotated[bool, typer.Option("--list", help="List the areas and stop.")] = False,
) -> None:
    """Run the benchmarks, in a checkout of the source.

    Example: sparseigen bench speed startup
    """
    if show:
        print("\n".join(f"{name:<14}{what}" for name, what in AREAS.items()))
        return
    if area not in AREAS:
        message = f"{area!r} is not a part of the benchmarks; choose from {', '.join(AREAS)}."
        raise bad_usage(message)
    if area == "quick":
        _run("speed", ["quick", *(parts or [])])
        return
    _run(area, list(parts or []))


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("reproduce")(reproduce)
    app.command("bench")(bench)
