"""``reproduce`` and ``bench``: the tables of the benchmarks folder, which is part of the source, not of the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from sparseigen.cli.failures import FAILED, bad_usage

PAPER = {
    "T1": ("pca", "recovery on the toy model"),
    "T3": ("pca", "PitProps: explained variance"),
    "T4": ("pca", "PitProps: loadings"),
    "F1": ("pca", "colon and lymphoma: variance against cardinality"),
    "T5": ("pca", "20 Newsgroups: key terms"),
    "airline": ("graphs", "air travel: density and six disjoint sets"),
    "web": ("graphs", "web graphs: density against k"),
}
"""Tables and figures of the paper -> the benchmark that makes them, and what they show."""

AREAS = {
    "quick": "other packages, growth and three verdicts in under three minutes",
    "speed": "the same in full, and start-up, bandwidth, iterations, screening",
    "pca": "the paper's tables",
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
    parts: Annotated[list[str] | None, typer.Argument(help=f"Any of {', '.join(PAPER)}; all without.")] = None,
    show: Annotated[bool, typer.Option("--list", help="List the parts and stop.")] = False,
) -> None:
    """Make the paper's tables and figures again and compare, in a checkout of the source.

    Example: sparseigen reproduce T3 T4
    """
    if show:
        print("\n".join(f"{part:<9}{what}" for part, (_, what) in PAPER.items()))
        return
    unknown = [part for part in parts or [] if part not in PAPER]
    if unknown:
        message = f"{unknown[0]!r} is not a part of the paper; choose from {', '.join(PAPER)}."
        raise bad_usage(message)
    checkout()
    wanted = parts or list(PAPER)
    for area in dict.fromkeys(PAPER[part][0] for part in wanted):
        _run(area, [part for part in wanted if PAPER[part][0] == area])


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
