"""Reading ahead of the work, within a limit of memory."""

from __future__ import annotations

import queue
import re
import threading
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import InputError, OptionError
from sparseigen.io.formats import explain_damage
from sparseigen.rows.source import RowSource, file_state

BLOCKS_HELD = 3
"""One being read, one waiting, one in use."""


MARKED, MOST_MARKS = 4096, 1 << 16
"""Entries of a row, and rows, that are remembered from one pass to the next, to see that they stay the same."""


class ReadAhead:
    """The blocks of a source, read by a thread of their own into buffers that are used over and over."""

    def __init__(self, source: RowSource, rows: int) -> None:
        self.source, self.rows = source, rows
        self._state = file_state(source)
        self._seen: dict[int, int] = {}
        self._buffers: list[NDArray[Any]] = []

    def blocks(self, start: int = 0) -> Iterator[Any]:
        """Blocks in order; each is valid until the next one is asked for.

        A file that changed since it was opened is refused, before the first block and after the last: means of one
        file and products of another make an answer about neither.
        """
        self._check_unchanged()
        row = start
        with closing(self._from_thread(start)) as blocks:  # the thread ends with whoever stops here, and at once
            for block in blocks:
                self._check_same_rows(row, block)
                row += block.shape[0]
                yield block
        self._check_unchanged()

    def _check_same_rows(self, first: int, block: Any) -> None:
        """Refuse a pass whose rows are not those of the passes before, by a look at the ends of every block.

        A source that shuffles, draws anew, or is written to between passes has no covariance.
        """
        for row, place in ((first, 0), (first + block.shape[0] - 1, block.shape[0] - 1)):
            mark = _check_sum(block, place)
            if row not in self._seen and len(self._seen) >= MOST_MARKS:
                continue
            if self._seen.setdefault(row, mark) != mark:
                message = (
                    f"{self.source.label}: row {row} is not what it was in an earlier pass. Every pass must give the "
                    "same rows in the same order: no shuffling, no drawing anew, no writing in between."
                )
                raise InputError(message)

    def _check_unchanged(self) -> None:
        with explain_damage(self.source.label, "blocks of rows"):
            state = file_state(self.source)
        if state != self._state:
            message = (
                f"{self.source.label} changed while it was being read; make the operator anew, with covariance(...), "
                "when nobody writes to it."
            )
            raise InputError(message)

    def _from_thread(self, start: int) -> Generator[Any, None, None]:
        free: queue.SimpleQueue[NDArray[Any] | None] = queue.SimpleQueue()
        for buffer in self._make_buffers():
            free.put(buffer)
        ready: queue.Queue[tuple[Any, NDArray[Any] | None, BaseException | None]] = queue.Queue(maxsize=1)
        stop = threading.Event()
        reader = threading.Thread(target=self._read, args=(start, free, ready, stop), daemon=True)
        reader.start()
        try:
            while True:
                block, used, failure = ready.get()
                if failure is not None:
                    raise failure
                if block is None:
                    return
                yield block
                if used is not None:
                    free.put(used)
        finally:
            stop.set()
            free.put(None)
            while reader.is_alive():
                try:
                    ready.get(timeout=0.02)
                except queue.Empty:
                    continue
            reader.join()

    def _make_buffers(self) -> list[NDArray[Any]]:
        if not self.source.sparse and not self._buffers:
            shape = (min(self.rows, self.source.shape[0]), self.source.shape[1])
            self._buffers = [np.empty(shape, dtype=self.source.dtype) for _ in range(BLOCKS_HELD)]
        return self._buffers

    def _read(self, start: int, free: Any, ready: Any, stop: threading.Event) -> None:
        lent: list[NDArray[Any]] = []

        def buffers(count: int) -> NDArray[Any]:
            buffer = free.get()
            if buffer is None:
                raise _Stopped
            lent.append(buffer)
            view: NDArray[Any] = buffer[:count]
            return view

        try:
            for block in self.source.blocks(self.rows, start, buffers):
                ready.put((block, lent.pop() if lent else None, None))
                if stop.is_set():
                    return
            ready.put((None, None, None))
        except _Stopped:
            pass
        except BaseException as failure:
            ready.put((None, None, failure))


def _check_sum(block: Any, row: int) -> int:
    """A check sum of the beginning of one row of a dense or sparse block."""
    if not hasattr(block, "indptr"):
        return zlib.crc32(np.ascontiguousarray(block[row, :MARKED]).tobytes())
    begin, end = int(block.indptr[row]), int(block.indptr[row + 1])
    end = min(end, begin + MARKED)
    columns = np.ascontiguousarray(block.indices[begin:end], dtype=np.int64)
    return zlib.crc32(columns.tobytes(), zlib.crc32(np.ascontiguousarray(block.data[begin:end]).tobytes()))


class _Stopped(BaseException):
    """The consumer went away: nothing that a reader may take for a damaged file."""


UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
DEFAULT_BLOCK, USUAL_ROWS = 1 << 23, 128
"""Bytes of a block: large enough to make a read cheap, small enough to stay in the last cache; and more where that
would be fewer rows than this, because what a block adds to the sums has to be worth adding."""
DEFAULT_CACHE = 1 << 28
WORK_VECTORS = 128
"""Vectors of length p that a solve holds at the same time, at most, besides remembered columns."""


class MemoryPlan(NamedTuple):
    """Rows of a block, and bytes for remembered columns of A."""

    rows: int
    cache_bytes: int


def check_memory_limit(value: Any) -> int | None:
    """Bytes from a number or text such as "1GB", "512 MiB"; None for no limit."""
    if value is None:
        return None
    found: float | None = None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]?i?)b?\s*", value.lower())
        if match and match.group(2) in UNITS:
            found = float(match.group(1)) * UNITS[match.group(2)]
    elif not isinstance(value, bool) and isinstance(value, (int, float, np.integer, np.floating)):
        found = float(value)
    if found is None or not 1.0 <= found < 2.0**60:
        message = f'memory_limit={value!r} must be a number of bytes or text such as "1GB" or "512MiB".'
        raise OptionError(message)
    return int(found)


def plan_memory(limit: int | None, row_bytes: int, n_rows: int, size: int) -> MemoryPlan:
    """Blocks and memory for columns that keep within the limit, or an error that says what is needed.

    A sixth of the limit is for blocks, a twentieth for remembered columns: asking for columns, and what solvers and
    bounds make of them, takes several times as much.
    """
    work = 8 * WORK_VECTORS * size
    if limit is None:
        usual = max(DEFAULT_BLOCK, USUAL_ROWS * row_bytes)
        return MemoryPlan(_count_rows(usual, row_bytes, n_rows), max(DEFAULT_CACHE, work))
    needed = 8 * BLOCKS_HELD * row_bytes + 2 * work
    if limit < needed:
        message = (
            f"memory_limit={limit} bytes is too little for {size} variables: a few rows and the vectors of a solve "
            f"need {needed} bytes ({needed / 1e6:.0f} MB). Raise memory_limit, or use fewer variables."
        )
        raise OptionError(message)
    usual = max(DEFAULT_BLOCK, USUAL_ROWS * row_bytes)
    block = min(usual, max(limit // (6 * BLOCKS_HELD), row_bytes))
    return MemoryPlan(_count_rows(block, row_bytes, n_rows), limit // 20)


def _count_rows(block: int, row_bytes: int, n_rows: int) -> int:
    return max(1, min(n_rows, block // max(1, row_bytes)))
