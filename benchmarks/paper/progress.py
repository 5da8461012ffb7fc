"""Progress of a run: a bar where rich is installed and somebody looks, else a line for each block."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.paper.runner import Tell


def _lines() -> Tell:
    began = time.perf_counter()

    def tell(what: str, done: int, total: int) -> None:
        print(f"[{done}/{total}] {time.perf_counter() - began:6.0f} s  {what}", file=sys.stderr, flush=True)

    return tell


@contextmanager
def progress(pieces: int) -> Iterator[Tell]:
    """A function to be told of every block that ended."""
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield _lines()
        return
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{pieces} pieces", total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, description=what)

        yield tell
