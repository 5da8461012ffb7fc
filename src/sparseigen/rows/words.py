"""Bags of words: docword.txt with its vocabulary, as the UCI repository has them, in compressed rows.

The file has three lines, the numbers of documents, words and counts, then one line "document word count" per count,
counted from 1 and sorted by documents. Text is slow to read over and over: it is read and checked once, into a
temporary file of numbers that goes with the source; nothing of it is held in memory but where each document begins.
"""

from __future__ import annotations

import tempfile
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arrays import check_data_shape
from sparseigen.checks.coercion import check_names
from sparseigen.checks.memory import check_columns_fit, check_fits
from sparseigen.errors import InputError
from sparseigen.io.columns import Table, TableOptions
from sparseigen.io.formats import guard_blocks, open_bytes
from sparseigen.rows.source import Buffers, file_fingerprint

READ_BYTES = 1 << 24
"""Text that is parsed at a time."""
LARGEST_COUNT = 1 << 24
"""Counts up to this are exact in float32."""
HEAD = "a bag of words begins with three lines: the numbers of documents, words and counts"


class WordRows:
    """Counts, documents x words, in blocks of compressed rows; words are named by the vocabulary beside the file."""

    sparse = True
    advice: str | None = None
    dtype = np.dtype(np.float32)

    def __init__(self, path: Path) -> None:
        self.path, self.label = path, path.name
        # Deleted when closed: with the source, or with the process.
        self._words, self._counts = (tempfile.TemporaryFile(prefix="sparseigen-") for _ in range(2))  # noqa: SIM115
        for copy in (self._words, self._counts):
            weakref.finalize(self, copy.close)
        with open_bytes(path) as file:
            documents, words, entries = self._read_head(file)
            self.shape = check_data_shape((documents, words), path.name)
            check_columns_fit(words, path.name)
            check_fits(16 * (documents + 1), path.name)
            lengths = self._copy(file, entries)
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(lengths)])
        self.names = self._read_vocabulary()
        # As read, as a matrix, and what is made of it.
        self.row_bytes = 3 * int(np.ceil(8 * self.starts[-1] / documents)) + 8

    def _read_head(self, file: IO[bytes]) -> list[int]:
        lines = [file.readline(100).strip() for _ in range(3)]
        if not all(line.isdigit() for line in lines):
            message = f"{self.label} begins with {b' / '.join(lines)[:40].decode(errors='replace')!r}; {HEAD}."
            raise InputError(message)
        return [int(line) for line in lines]

    def _copy(self, file: IO[bytes], entries: int) -> NDArray[np.int64]:
        """Copy the numbers, checked, and count the words of each document."""
        lengths, last, done = np.zeros(self.shape[0], dtype=np.int64), 0, 0
        for numbers in self._parse(file):
            place, word, count = numbers[0::3], numbers[1::3], numbers[2::3]
            self._check(place, word, count, last, done)
            last, done = int(place[-1]), done + len(place)
            lengths += np.bincount(place - 1, minlength=self.shape[0])
            self._words.write((word - 1).astype(np.int32).tobytes())
            self._counts.write(count.astype(np.float32).tobytes())
        if done != entries:
            message = f"{self.label} has {done} counts, and its third line says {entries}; it is cut short or damaged."
            raise InputError(message)
        return lengths

    def _parse(self, file: IO[bytes]) -> Iterator[NDArray[np.int64]]:
        """Whole lines as numbers, three for each."""
        rest = b""
        while True:
            text = file.read(READ_BYTES)
            text, rest = (rest + text, b"") if not text else _split_last(rest + text)
            if text.strip():
                numbers = _parse_numbers(text)
                if len(numbers) % 3 or len(numbers) != 3 * text.strip().count(b"\n") + 3:
                    message = f"{self.label} has a line that is not three whole numbers (document, word, count)."
                    raise InputError(message)
                yield numbers
            if not rest and not text:
                return

    def _check(self, place: Any, word: Any, count: Any, last: int, done: int) -> None:
        documents, words = self.shape
        wrong = (place < 1) | (place > documents) | (word < 1) | (word > words) | (count < 0) | (count > LARGEST_COUNT)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            message = (
                f"{self.label}, line {done + at + 4}, is '{place[at]} {word[at]} {count[at]}'; documents must be "
                f"within 1..{documents}, words within 1..{words} and counts within 0..{LARGEST_COUNT}."
            )
            raise InputError(message)
        back = np.flatnonzero(np.diff(np.concatenate([[last], place])) < 0)
        if back.size:
            message = (
                f"{self.label}, line {done + int(back[0]) + 4}: document {place[back[0]]} comes after a later one; "
                "sort the lines by document (sort -n)."
            )
            raise InputError(message)

    def _read_vocabulary(self) -> tuple[str, ...] | None:
        """The words of vocab.X.txt beside docword.X.txt, where there is one."""
        if "docword" not in self.path.name:
            return None
        name = self.path.name.replace("docword", "vocab")
        found = next((self.path.with_name(n) for n in (name, name.removesuffix(".gz")) if self._has(n)), None)
        if found is None:
            return None
        with open_bytes(found) as file:
            names = tuple(line.decode("utf-8", errors="replace").strip() for line in file if line.strip())
        if len(names) != self.shape[1]:
            message = f"{found.name} has {len(names)} words for the {self.shape[1]} of {self.label}; is it another's?"
            raise InputError(message)
        return names

    def _has(self, name: str) -> bool:
        return self.path.with_name(name).is_file()

    @guard_blocks
    def blocks(self, rows: int, start: int, buffers: Buffers) -> Iterator[Any]:
        """CSR matrices of some documents each; a word that a document lists twice is added up."""
        from scipy.sparse import csr_matrix

        for begin in range(start, self.shape[0], rows):
            end = min(begin + rows, self.shape[0])
            first, count = int(self.starts[begin]), int(self.starts[end] - self.starts[begin])
            parts = [_read_part(file, first, count, kind) for file, kind in ((self._counts, "f4"), (self._words, "i4"))]
            pointers = (self.starts[begin : end + 1] - first).astype(np.int32)
            block = csr_matrix((parts[0], parts[1], pointers), shape=(end - begin, self.shape[1]))
            block.sum_duplicates()
            yield block

    def fingerprint(self) -> str:
        """That of the text."""
        return file_fingerprint(self.path)


def _parse_numbers(text: bytes) -> NDArray[np.int64]:
    """The numbers up to the first thing that is none; newer NumPy raises there, older only warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return np.fromstring(text.decode("ascii", errors="replace"), dtype=np.int64, sep=" ")
        except ValueError:
            return np.zeros(0, dtype=np.int64)


def _split_last(text: bytes) -> tuple[bytes, bytes]:
    end = text.rfind(b"\n") + 1
    return text[:end], text[end:]


def _read_part(file: Any, first: int, count: int, kind: str) -> NDArray[Any]:
    file.seek(4 * first)
    return np.frombuffer(bytearray(file.read(4 * count)), dtype=kind)


def open_words(path: Path, dataset: str | None) -> WordRows:
    """The documents of a bag of words."""
    return WordRows(path)


def read_bag(path: Path, options: TableOptions) -> Table:
    """All counts of a bag of words in memory, as compressed rows, and its vocabulary."""
    rows = WordRows(path)
    check_fits(24 * int(rows.starts[-1]), path.name)
    check_names(path.name, rows.names)
    (block,) = rows.blocks(rows.shape[0], 0, np.empty)
    return Table(block, rows.names)
