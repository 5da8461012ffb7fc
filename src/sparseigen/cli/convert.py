"""`sparseigen convert`: any table into the layout that streams fastest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(convert)


def convert(
    source: Annotated[Path, typer.Argument(help="Table: csv, tsv, parquet, arrow, h5, h5ad, zarr or npy.")],
    target: Annotated[Path, typer.Argument(help="File to write; ends in .npy.")],
    dtype: Annotated[str | None, typer.Option("--dtype", help="float32 or float64; the source's if not given.")] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="Which table of an HDF5, h5ad or zarr file.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a target that exists.")] = False,
) -> None:
    """Turn a table into a .npy file in rows, which is read at the speed of the disk.

    Memory stays small for tables stored by rows. The target appears only when it is complete.

    Example: sparseigen convert cells.h5ad cells.npy --dtype float32
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from sparseigen.rows.convert import convert as convert_file

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, transient=True, console=Console(stderr=True)) as bar:
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
