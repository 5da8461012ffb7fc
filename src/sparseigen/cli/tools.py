"""``convert``, ``reproduce``, ``bench`` and ``doctor``: files, the paper's numbers, timings, and this installation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click

from sparseigen.cli.commands import FAILED, bad_usage, command
from sparseigen.cli.options import argument, flag, json_flag, option
from sparseigen.cli.output import as_json

AREAS = {
    "quick": "other packages, growth and three verdicts in under three minutes",
    "speed": "the same in full, and start-up, bandwidth, iterations, screening",
    "certificates": "gaps and seconds of every bound",
    "graphs": "dense subgraphs, up to 100 million arcs",
    "gpu": "on a CUDA device",
}
"""Parts of the benchmarks folder, and the short form of one."""


@command(short_help="Turn a table into a file that is read fast.")
@argument(
    "source",
    metavar="SOURCE",
    type=click.Path(path_type=Path),
    explanation="Table: csv, tsv, parquet, arrow, h5, h5ad, zarr or npy.",
)
@argument("target", metavar="TARGET", type=click.Path(path_type=Path), explanation="File to write; ends in .npy.")
@option("--dtype", metavar="NAME", help="float32 or float64; the source's if not given.")
@option("--dataset", metavar="NAME", help="Which table of an HDF5, h5ad or zarr file.")
@flag("--overwrite", help="Replace a target that exists.")
def convert(source: Path, target: Path, dtype: str | None, dataset: str | None, overwrite: bool) -> None:
    """Turn a table into a .npy file in rows, which is read at the speed of the disk.

    Memory stays small for tables stored by rows. The target appears only when it is complete.

    Example: sparseigen convert cells.h5ad cells.npy --dtype float32
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from sparseigen.rows.convert import convert as convert_file

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, transient=True, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        rows = bar.add_task("rows", total=None)
        shape = convert_file(
            source,
            target,
            dtype=dtype,
            dataset=dataset,
            overwrite=overwrite,
            on_rows=lambda done, total: bar.update(rows, completed=done, total=total),
        )
    print(f"{target}: {shape[0]} x {shape[1]}")


def find_checkout() -> Path:
    """The root of the source tree that this package runs from, or that the working directory is in."""
    module = Path(__file__).resolve()
    for folder in (*module.parents, Path.cwd(), *Path.cwd().parents):
        project = folder / "pyproject.toml"
        complete = project.is_file() and (folder / "benchmarks" / "__init__.py").is_file()
        if complete and 'name = "sparseigen"' in project.read_text(encoding="utf-8"):
            return folder
    message = (
        "the benchmarks are part of the source repository, not of the installed package; run this inside a checkout "
        "of the sparseigen repository"
    )
    raise bad_usage(message)


def _run_benchmark(area: str, parts: list[str]) -> None:
    command = [sys.executable, "-m", f"benchmarks.{area}", *parts]
    code = subprocess.run(command, cwd=find_checkout(), check=False).returncode
    if code:
        click.echo(f"error: benchmarks.{area} ended with code {code}.", err=True)
        raise click.exceptions.Exit(code if code > 0 else FAILED)


@command(short_help="Make the paper's numbers again and compare.")
@argument(
    "what",
    metavar="[WHAT]...",
    nargs=-1,
    explanation="Tables (T1), rows (T1.spca.success) or patterns ('T3.*'); all without.",
)
@option("--data", metavar="DIR", help="The folder of data sets.")
@option("--out", metavar="PAGE.md", help="The page to write; without WHAT it is docs/reproduction.md.")
@flag("--fresh", help="Run again what an earlier run stored.")
@flag("--list", "show", help="List the rows and stop.")
def reproduce(what: tuple[str, ...], data: str | None, out: str | None, fresh: bool, show: bool) -> None:
    """Make the paper's numbers again and compare, in a checkout of the source.

    Example: sparseigen reproduce T3 T1.spca.success --data DIR
    """
    # The benchmarks run in the checkout: a path must mean there what it means here.
    options = [f"--data={Path(data).resolve()}"] if data is not None else []
    options += [f"--out={Path(out).resolve()}"] if out is not None else []
    options += [name for name, wanted in (("--fresh", fresh), ("--list", show)) if wanted]
    _run_benchmark("paper", [*options, "--", *what])


@command(short_help="Run the benchmarks.")
@argument("area", metavar="[AREA]", default="speed", explanation=f"One of {', '.join(AREAS)}; speed if not given.")
@argument("parts", metavar="[PARTS]...", nargs=-1, explanation="Parts of it, for example startup; all without.")
@flag("--list", "show", help="List the areas and stop.")
def bench(area: str, parts: tuple[str, ...], show: bool) -> None:
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
        _run_benchmark("speed", ["quick", *parts])
        return
    _run_benchmark(area, list(parts))


def _check_eigenvector() -> str | None:
    from sparseigen.datasets import load_pitprops
    from sparseigen.solve import sparse_eigenvector

    value = sparse_eigenvector(load_pitprops().matrix, 5).value
    return None if abs(value - 3.406154946789761) < 1e-9 else f"PitProps, 5 variables gave {value!r}"


def _check_proof() -> str | None:
    from sparseigen.datasets import load_pitprops
    from sparseigen.solve import solve_exact

    result = solve_exact(load_pitprops().matrix, 5)
    proven = result.certificate is not None and result.certificate.optimal
    return None if proven else f"PitProps, 5 variables: {result!r}"


def _check_kernels() -> str | None:
    import numpy as np

    from sparseigen import kernels
    from sparseigen.kernels import numpy_reference

    values = np.sin(np.arange(1.0, 400.0))
    in_use, reference = (part.largest_magnitudes(values, 37) for part in (kernels, numpy_reference))
    return None if np.array_equal(in_use, reference) else "compiled and NumPy kernels disagree"


def _check_graph() -> str | None:
    import numpy as np
    import scipy.sparse as sp

    from sparseigen.graphs import densest_k_subgraph

    clique = np.zeros((12, 12))
    clique[3:8, 3:8] = 1.0
    np.fill_diagonal(clique, 0.0)
    found = densest_k_subgraph(sp.csr_array(clique), 5)
    return None if found.nodes == (3, 4, 5, 6, 7) else f"a clique of 5 was not found: {found.nodes}"


TESTS: dict[str, Callable[[], str | None]] = {
    "self-test": _check_eigenvector,
    "proof": _check_proof,
    "kernel twin": _check_kernels,
    "graphs": _check_graph,
}
"""Name -> a test with a known answer; it returns what is wrong, or None."""


@command(short_help="Check this installation on problems with known answers.")
@json_flag
def doctor(json: bool) -> None:
    """Print versions, kernels, threads and optional parts, and solve problems with known answers.

    Example: sparseigen doctor
    """
    from sparseigen.config import config, show_config
    from sparseigen.datasets import data_folder
    from sparseigen.errors import MissingDataError

    try:
        folder = str(data_folder())
    except MissingDataError:
        folder = "not found (set SPARSEIGEN_DATA)"
    failures = {name: test() for name, test in TESTS.items()}
    if json:
        print(as_json({"config": config(), "data": folder, "failures": failures}))
    else:
        show_config()
        print(f"{'data':<12}{folder}")
        for name, wrong in failures.items():
            print(f"{name:<12}{'passed' if wrong is None else f'FAILED: {wrong}'}")
    if any(failures.values()):
        raise click.exceptions.Exit(FAILED)
