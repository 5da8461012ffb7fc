"""Runs pieces over processes, stores each as it ends, and begins where an earlier run stopped."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.paper import store
from benchmarks.paper.parts import all_pieces
from benchmarks.paper.pieces import Outcome, Piece, Raw, Settings
from sparseigen.datasets import data_folder
from sparseigen.datasets.catalogue import SOURCES
from sparseigen.errors import MissingDataError, MissingDependencyError

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class Run:
    """What a run gave: outcomes by piece name, or the reason why there is none."""

    outcomes: dict[str, Outcome | str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    kept: int = 0
    """Blocks taken from an earlier run."""
    done: int = 0
    wall: float = 0.0

    @property
    def failed(self) -> list[str]:
        return [name for name, outcome in self.outcomes.items() if isinstance(outcome, str) and is_failure(outcome)]


def is_failure(reason: str) -> bool:
    return reason.startswith("failed")


def find_data() -> Path | None:
    try:
        return data_folder()
    except MissingDataError:
        return None


def missing_files(piece: Piece, data: Path | None) -> str | None:
    """Why a piece cannot run here, None when all its files are there."""
    if not piece.files:
        return None
    if data is None:
        return "the data folder is not here (--data DIR)"
    absent = [name for name in piece.files if not (data / name).is_file()]
    if not absent:
        return None
    hint = f"; where there is a network 'sparseigen datasets fetch {piece.dataset}' gets it"
    return f"{absent[0]} is not in the data folder" + (hint if piece.dataset in SOURCES else "")


def _work(name: str, settings: Settings, block: int) -> tuple[Raw, float]:
    """In a process of its own: one block of a piece."""
    began = time.perf_counter()
    raw = all_pieces()[name].run(settings, block)
    return raw, time.perf_counter() - began


def _end_with_parent() -> None:
    """In a worker: a killed run must not leave processes that go on computing for nobody."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _environment(names: Iterable[str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(before, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _reason(error: BaseException) -> str:
    if isinstance(error, (MissingDataError, MissingDependencyError)):
        return str(error)
    return f"failed: {''.join(traceback.format_exception_only(error)).strip()}"


Tell = Callable[[str, int, int], None]
"""Progress: what ended, how many blocks are done, how many there are."""


def _run_blocks(
    tasks: list[tuple[Piece, int]],
    settings: Settings,
    processes: int,
    take: Callable[[Piece, int, Raw, float], None],
    fail: Callable[[Piece, str], None],
) -> None:
    if not tasks:
        return
    context = multiprocessing.get_context("spawn")
    with (
        _environment(ONE_THREAD if processes > 1 else ()),
        ProcessPoolExecutor(
            max_workers=min(processes, len(tasks)), mp_context=context, initializer=_end_with_parent
        ) as pool,
    ):
        waiting: dict[Future[Any], tuple[Piece, int]] = {}
        try:
            for piece, block in tasks:
                waiting[pool.submit(_work, piece.name, settings, block)] = (piece, block)
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    piece, block = waiting.pop(future)
                    try:
                        raw, seconds = future.result()
                    except Exception as error:  # a piece that breaks is a row that says so, not the end of the run
                        fail(piece, _reason(error))
                    else:
                        take(piece, block, raw, seconds)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run(
    pieces: Mapping[str, Piece],
    settings: Settings,
    *,
    folder: Path = store.FOLDER,
    fresh: bool = False,
    processes: int | None = None,
    tell: Tell = lambda what, done, total: None,
) -> Run:
    """Run the pieces that are not stored yet, timed ones last and alone, and score all."""
    began, result, data = time.perf_counter(), Run(), find_data()
    raws: dict[str, dict[int, Raw]] = {}
    todo: list[tuple[Piece, int]] = []
    keys: dict[str, str] = {}
    for name, piece in pieces.items():
        reason = missing_files(piece, data)
        if reason is not None:
            result.outcomes[name] = reason
            continue
        keys[name], raws[name], result.seconds[name] = store.key_of(piece, settings, data), {}, 0.0
        for block in range(piece.blocks):
            stored = None if fresh else store.read(store.path_of(piece, block, folder), keys[name])
            if stored is None:
                todo.append((piece, block))
            else:
                raws[name][block] = stored["raw"]
                result.seconds[name] += stored["seconds"]
                result.kept += 1
    total = result.kept + len(todo)
    if result.kept:
        tell(f"{result.kept} of {total} blocks kept from an earlier run", result.kept, total)

    def take(piece: Piece, block: int, raw: Raw, seconds: float) -> None:
        store.write(store.path_of(piece, block, folder), keys[piece.name], raw, seconds)
        raws[piece.name][block] = raw
        result.seconds[piece.name] += seconds
        result.done += 1
        part = f" ({block + 1} of {piece.blocks})" if piece.blocks > 1 else ""
        tell(f"{piece.name}{part}, {seconds:.1f} s", result.kept + result.done, total)

    def fail(piece: Piece, reason: str) -> None:
        result.outcomes[piece.name] = reason
        result.done += 1
        tell(f"{piece.name}: {reason}", result.kept + result.done, total)

    cores = processes or os.cpu_count() or 1
    _run_blocks([task for task in todo if not task[0].timed], settings, cores, take, fail)
    _run_blocks([task for task in todo if task[0].timed], settings, 1, take, fail)
    for name, piece in pieces.items():
        if name not in result.outcomes:
            result.outcomes[name] = piece.score(settings, [raws[name][block] for block in range(piece.blocks)])
    result.wall = time.perf_counter() - began
    return result
