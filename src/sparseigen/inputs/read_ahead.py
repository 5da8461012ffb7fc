"""One thread reads ahead, so that the disk and the processor work at the same time; never more than a few blocks."""

from __future__ import annotations

import queue
import threading
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import InputError
from sparseigen.inputs.columns import damaged
from sparseigen.inputs.row_source import RowSource, file_state

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
            mark = _mark(block, place)
            if row not in self._seen and len(self._seen) >= MOST_MARKS:
                continue
            if self._seen.setdefault(row, mark) != mark:
                message = (
                    f"{self.source.label}: row {row} is not what it was in an earlier pass. Every pass must give the "
                    "same rows in the same order: no shuffling, no drawing anew, no writing in between."
                )
                raise InputError(message)

    def _check_unchanged(self) -> None:
        with damaged(self.source.label, "blocks of rows"):
            state = file_state(self.source)
        if state != self._state:
            message = (
                f"{self.source.label} changed while it was being read; make the operator anew, with covariance(...), "
                "when nobody writes to it."
            )
            raise InputError(message)

    def _from_thread(self, start: int) -> Generator[Any, None, None]:
        free: queue.SimpleQueue[NDArray[Any] | None] = queue.SimpleQueue()
        for buffer in self._own_buffers():
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

    def _own_buffers(self) -> list[NDArray[Any]]:
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


def _mark(block: Any, row: int) -> int:
    """A check sum of the beginning of one row of a dense or sparse block."""
    if not hasattr(block, "indptr"):
        return zlib.crc32(np.ascontiguousarray(block[row, :MARKED]).tobytes())
    begin, end = int(block.indptr[row]), int(block.indptr[row + 1])
    end = min(end, begin + MARKED)
    columns = np.ascontiguousarray(block.indices[begin:end], dtype=np.int64)
    return zlib.crc32(columns.tobytes(), zlib.crc32(np.ascontiguousarray(block.data[begin:end]).tobytes()))


class _Stopped(BaseException):
    """The consumer went away: nothing that a reader may take for a damaged file."""
