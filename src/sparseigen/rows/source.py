"""Data that are read in blocks of rows, from wherever they are: the protocol, and the sources that need no package.

A source knows its shape, its precision and the names of its columns, and yields its rows in blocks, as often as asked.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import check_data_shape
from sparseigen.checks.coercion import check_integers, float_dtype
from sparseigen.checks.sparse import check_sparse
from sparseigen.errors import InputError, OptionError, ShapeError
from sparseigen.io.formats import guard_blocks

Buffers = Callable[[int], NDArray[Any]]
"""Number of rows -> a free array of that many rows to read into (of the source's dtype, C order)."""

CONVERT = "convert it once to the fast layout with: sparseigen convert"
SAMPLE_BYTES = 1 << 16
"""How much of a file's beginning, middle and end goes into its fingerprint."""


class RowSource(Protocol):
    """Samples x variables that can be read over and over, block by block, in the same order every time."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    """float32 or float64: what blocks come in."""
    names: tuple[str, ...] | None
    sparse: bool
    """Whether blocks are scipy CSR matrices; dense C-ordered arrays otherwise."""
    label: str
    """What errors and settings call it."""
    advice: str | None
    """What to do when this layout is slow to read, or None."""

    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[Any]:
        """Blocks of ``rows`` rows (the last one may be shorter) from row ``start`` on.

        A dense block may be an array from ``buffers``, which is filled anew once the block has been used.
        """

    def fingerprint(self) -> str:
        """What tells these data from others: equal for equal data, cheap to find."""


def as_floats(values: NDArray[Any], dtype: np.dtype[Any], subject: str) -> NDArray[Any]:
    """Numbers in a source's precision; integers that would be rounded are refused."""
    check_integers(values, subject)
    return values.astype(dtype, order="C", copy=False)


def file_fingerprint(path: Path) -> str:
    """Size, time of the last change, and a hash of the beginning, the middle and the end."""
    facts = path.stat()
    digest = hashlib.sha256(f"{facts.st_size} {facts.st_mtime_ns}".encode())
    with path.open("rb") as file:
        for offset in (0, max(0, facts.st_size // 2), max(0, facts.st_size - SAMPLE_BYTES)):
            file.seek(offset)
            digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()


def file_state(source: Any) -> tuple[int, int, int] | None:
    """What changes when somebody writes to a source's file: size, time and place; None where there is no one file."""
    path = getattr(source, "path", None)
    if not isinstance(path, Path):
        return None
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns, facts.st_ino


def sampled_hash(values: Any, shape: tuple[int, int]) -> str:
    """A hash of the first, the middle and the last row of an array, with its shape."""
    digest = hashlib.sha256(f"{shape} {values.dtype}".encode())
    for row in (0, shape[0] // 2, shape[0] - 1):
        digest.update(np.ascontiguousarray(values[row]).tobytes())
    return digest.hexdigest()


class PlainRows:
    """C-ordered numbers at an offset in a file: `.npy` files and plain memory maps. Read, not mapped."""

    sparse = False
    advice: str | None = None
    names: tuple[str, ...] | None = None

    def __init__(self, path: Path, offset: int, shape: tuple[int, ...], stored: np.dtype[Any], label: str) -> None:
        self.path, self.offset, self.label = path, offset, label
        self.shape = check_data_shape(shape, label)
        self.stored, self.dtype = stored, float_dtype(stored, label)
        expected = offset + self.shape[0] * self.shape[1] * stored.itemsize
        found = path.stat().st_size
        if found < expected:
            message = f"{label} is cut short: {found} bytes where shape {self.shape} {stored} needs {expected}."
            raise InputError(message)

    @guard_blocks
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[NDArray[Any]]:
        """Read straight into the buffers where no conversion is needed."""
        row_bytes = self.shape[1] * self.stored.itemsize
        with self.path.open("rb", buffering=0) as file:
            file.seek(self.offset + start * row_bytes)
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            for begin in range(start, self.shape[0], rows):
                count = min(rows, self.shape[0] - begin)
                block = buffers(count)
                if self.stored == self.dtype:
                    self._fill(file, memoryview(block.data).cast("B"))
                else:
                    raw = np.empty(block.shape, dtype=self.stored)
                    self._fill(file, memoryview(raw.data).cast("B"))
                    block[:] = as_floats(raw, self.dtype, self.label)
                yield block

    def _fill(self, file: Any, view: memoryview) -> None:
        done = 0
        while done < len(view):
            got = file.readinto(view[done:])
            if not got:
                message = f"{self.label} ended {len(view) - done} bytes early while it was read; was it changed?"
                raise InputError(message)
            done += got

    def fingerprint(self) -> str:
        """That of the file, with what is read from it."""
        return f"{file_fingerprint(self.path)} {self.offset} {self.shape} {self.stored.str}"


class ArrayRows:
    """A memory map of any layout, copied block by block so that its pages need not stay."""

    path: Path | None = None
    """The file, where it is only read."""
    sparse = False
    advice: str | None = None
    names: tuple[str, ...] | None = None

    def __init__(self, values: Any, label: str) -> None:
        self.values, self.label = values, label
        self.shape = check_data_shape(values.shape, label)
        self.dtype = float_dtype(values.dtype, label)
        by_column = values.flags.f_contiguous and not values.flags.c_contiguous
        self.advice = (
            f"{label} is stored by columns, so that a block of rows touches all of it; {CONVERT}" if by_column else None
        )

    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[NDArray[Any]]:
        """Copies of row blocks; mapped pages are given back as the reading goes on."""
        for begin in range(start, self.shape[0], rows):
            part = self.values[begin : begin + rows]
            block = buffers(len(part))
            block[:] = as_floats(np.asarray(part), self.dtype, self.label)
            self._release()
            yield block

    def _release(self) -> None:
        mapping, mode = getattr(self.values, "_mmap", None), getattr(self.values, "mode", "c")
        # A private mapping ("c") may hold changes of the caller's that are nowhere else.
        if isinstance(mapping, mmap.mmap) and mode in ("r", "r+", "w+") and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)

    def fingerprint(self) -> str:
        """A hash of the first, the middle and the last row."""
        return sampled_hash(self.values, self.shape)


class CallerRows:
    """Blocks from a function of the caller's (called once per pass), or from a list or tuple of arrays."""

    advice: str | None = None
    names: tuple[str, ...] | None = None

    def __init__(self, blocks: Any, shape: Any) -> None:
        self.label = f"X ({type(blocks).__name__} of row blocks)"
        if iter_once(blocks):
            message = (
                f"{self.label} can be read only once, and every product needs a pass. Pass a function without "
                "arguments that returns a fresh iterator of blocks, or a list of arrays."
            )
            raise OptionError(message)
        if shape is None:
            message = f"{self.label} needs shape=(n_samples, n_features), so that blocks can be checked."
            raise OptionError(message)
        self.shape = check_data_shape(tuple(int(side) for side in shape), self.label)
        self.make = blocks if callable(blocks) else (lambda: blocks)
        first = next(iter(self._make_blocks()), None)
        if first is None:
            message = f"{self.label} gave no block."
            raise ShapeError(message)
        first = _as_block(first, self.shape[1], 0, self.label)
        self.sparse = hasattr(first, "indptr")
        self.dtype = float_dtype(np.dtype(first.dtype), self.label)
        self._first = hashlib.sha256(_bytes_of(first)).hexdigest()

    def _make_blocks(self) -> Iterable[Any]:
        made = self.make()
        if not hasattr(made, "__iter__"):
            message = f"{self.label} must give an iterable of arrays, got {type(made).__name__}."
            raise OptionError(message)
        blocks: Iterable[Any] = made
        return blocks

    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[Any]:
        """The caller's blocks as they come, checked; rows before ``start`` are passed over."""
        seen = 0
        for number, part in enumerate(self._make_blocks()):
            block = _as_block(part, self.shape[1], number, self.label)
            if hasattr(block, "indptr") != self.sparse:
                message = f"{self.label}: block {number} is not of the same kind (dense or sparse) as the first."
                raise InputError(message)
            seen += block.shape[0]
            if seen > self.shape[0]:
                break
            if seen > start:
                yield block.astype(self.dtype, copy=False)
        if seen != self.shape[0]:
            message = f"{self.label} gave {'more than ' * (seen > self.shape[0])}{min(seen, self.shape[0])} rows "
            raise ShapeError(message + f"where shape={self.shape} says {self.shape[0]}.")

    def fingerprint(self) -> str:
        """A hash of the first block."""
        return f"{self._first} {self.shape}"


def iter_once(value: Any) -> bool:
    """Whether an object is its own iterator: a generator, which cannot be read twice."""
    return hasattr(value, "__next__")


def _as_block(part: Any, size: int, number: int, label: str) -> Any:
    if hasattr(part, "tocsr"):
        block = check_sparse(part, f"{label}: block {number}").tocsr()
        if not block.has_canonical_format:
            block = block.copy()  # what the caller gave is not ours to write
            block.sum_duplicates()
    else:
        block = np.ascontiguousarray(part)
    if block.ndim != 2 or block.shape[1] != size or block.shape[0] == 0:
        message = f"{label}: block {number} has shape {block.shape}; it must be (some rows, {size})."
        raise ShapeError(message)
    dtype = float_dtype(np.dtype(block.dtype), f"{label}, block {number},")
    return block.astype(dtype, copy=False) if hasattr(block, "indptr") else as_floats(block, dtype, label)


def _bytes_of(block: Any) -> bytes:
    if hasattr(block, "indptr"):
        return bytes(block.data.tobytes() + block.indices.tobytes() + block.indptr.tobytes())
    return bytes(block.tobytes())
