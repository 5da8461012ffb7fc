"""Checkpoints: the answers of finished passes, so that a killed run goes on where it was.

Everything a solver does follows from the answers of its passes. Given those of the passes that were finished, a second
run asks for the same passes in the same order, gets the stored answers at once, and makes the first pass that is
missing. Nothing of the solvers' own state has to be saved, and the result is the same to the last bit.

Two files: ``path`` (small: what the checkpoint belongs to, the number of passes, where each answer lies, and hashes of
all of it; replaced as a whole by a rename) and ``path`` with ``.data`` added (the answers one after the other; only the
part that ``path`` speaks of counts). Nothing is unpickled. A byte changed anywhere in what counts is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import CheckpointError
from sparseigen.io.npy import read_array
from sparseigen.io.writing import whole_file, writing
from sparseigen.operators.passes import Moments

FORMAT = "sparseigen checkpoint 2"
PARTIAL_SECONDS = 20.0
"""A pass that takes longer than this is saved in between, this often."""


class Record(NamedTuple):
    """Where the answer of one pass lies in the data file. ``rows`` is 0 for a whole pass, else the rows done."""

    key: str
    kind: str
    offset: int
    length: int
    digest: str
    rows: int


class PassLog:
    """The finished passes of one computation on one data set."""

    def __init__(self, path: Path, identity: dict[str, Any]) -> None:
        self.path, self.data_path = path, path.with_name(path.name + ".data")
        self.identity = json.loads(json.dumps(identity))
        self.records: list[Record] = []
        self.partial: Record | None = None
        self.next = 0
        """The number of the pass to come."""
        self._saved_at = time.monotonic()
        if self.data_path.is_symlink():
            self._refuse(f"{self.data_path.name} is a link, and links are not written through")
        if path.exists():
            self._load()
        elif self.data_path.exists():
            message = f"{self.data_path} belongs to a checkpoint whose file {path.name} is gone; delete it first."
            raise CheckpointError(message)
        self.resumed = len(self.records)

    def made(self, key: str, compute: Callable[[int, Any], Any]) -> Any:
        """The answer of the next pass: the stored one, or computed and stored.

        ``compute(first_row, total)`` goes on from a total over the rows before ``first_row`` (0 and None: from the
        start).
        """
        number, self.next = self.next, self.next + 1
        if number < len(self.records):
            self._check_key(self.records[number], key, number)
            return self._read(self.records[number])
        if self.partial is not None:
            self._check_key(self.partial, key, number)
            answer = compute(self.partial.rows, self._read(self.partial))
        else:
            answer = compute(0, None)
        self._store(key, answer, 0)
        return answer

    def during(self, key: str, total: Any, rows: int) -> None:
        """Save a pass that is not finished, if the last save was long ago."""
        if time.monotonic() - self._saved_at > PARTIAL_SECONDS:
            self._store(key, total, rows)

    def _check_key(self, record: Record, key: str, number: int) -> None:
        if record.key != key:
            message = (
                f"checkpoint {self.path} holds another computation: pass {number + 1} asked for something else then. "
                "Resume with the same calls and arguments as before, or choose another path (or delete the file)."
            )
            raise CheckpointError(message)

    def _store(self, key: str, answer: Any, rows: int) -> None:
        kind, content = _encode(answer)
        offset = self.records[-1].offset + self.records[-1].length if self.records else 0
        if not self.path.exists():  # a kill from here on must leave something that can be gone on with
            self._commit()
        with writing(self.path), self.data_path.open("r+b" if self.data_path.exists() else "w+b") as file:
            if self.partial is None:
                file.truncate(offset)
            elif self.partial.offset < offset + len(content):  # it still counts until the new one is in force
                offset = self.partial.offset + self.partial.length
            file.seek(offset)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        record = Record(key, kind, offset, len(content), hashlib.sha256(content).hexdigest(), rows)
        if rows:
            self.partial = record
        else:
            self.records.append(record)
            self.partial = None
        self._commit()

    def _commit(self) -> None:
        body = {
            "format": FORMAT,
            "identity": self.identity,
            "passes": len(self.records),
            "records": [list(record) for record in self.records],
            "partial": None if self.partial is None else list(self.partial),
        }
        text = json.dumps(body, sort_keys=True)
        content = f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n".encode()
        with whole_file(self.path) as file:
            file.write(content)
        self._saved_at = time.monotonic()

    def _load(self) -> None:
        digest, _, text = self.path.read_bytes().partition(b"\n")
        if not text.endswith(b"\n") or hashlib.sha256(text[:-1]).hexdigest().encode() != digest:
            self._refuse("it is cut short or damaged (its checksum does not fit)")
        try:
            body = json.loads(text)
            self._take(body)
        except CheckpointError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._refuse("it is not laid out as a checkpoint")

    def _take(self, body: dict[str, Any]) -> None:
        if body.get("format") != FORMAT:
            self._refuse(f"its format is {body.get('format')!r}, this version reads {FORMAT!r}")
        differing = sorted(
            name
            for name in {*body["identity"], *self.identity}
            if body["identity"].get(name) != self.identity.get(name)
        )
        if differing:
            self._refuse(f"it was written for other data or settings (different: {', '.join(differing)})")
        self.records = [_record(*record) for record in body["records"]]
        self.partial = None if body["partial"] is None else _record(*body["partial"])
        for record in [*self.records, *([] if self.partial is None else [self.partial])]:
            self._content(record)

    def _content(self, record: Record) -> bytes:
        try:
            with self.data_path.open("rb") as file:
                fits = record.offset + record.length <= os.fstat(file.fileno()).st_size
                file.seek(record.offset if fits else 0)
                content = file.read(record.length if fits else 0)
        except FileNotFoundError:
            self._refuse(f"its file {self.data_path.name} is missing")
        if len(content) != record.length or hashlib.sha256(content).hexdigest() != record.digest:
            self._refuse(f"{self.data_path.name} is cut short or damaged (a checksum does not fit)")
        return content

    def _read(self, record: Record) -> Any:
        try:
            return _decode(record.kind, self._content(record), self.data_path.name)
        except CheckpointError:
            raise
        except (ValueError, TypeError):
            self._refuse(f"an answer in {self.data_path.name} is not what a pass gives")

    def _refuse(self, why: str) -> NoReturn:
        message = f"checkpoint {self.path} cannot be used: {why}. Delete it and its .data file to start again."
        raise CheckpointError(message)


def _encode(answer: Any) -> tuple[str, bytes]:
    """The arrays of an answer in NumPy's own format, one after the other."""
    stream = io.BytesIO()
    kind = "moments" if isinstance(answer, Moments) else "arrays"
    for part in answer:
        np.save(stream, np.asarray(part), allow_pickle=False)
    return kind, stream.getvalue()


def _record(key: Any, kind: Any, offset: Any, length: Any, digest: Any, rows: Any) -> Record:
    texts, counts = (key, kind, digest), (offset, length, rows)
    if not all(isinstance(text, str) for text in texts) or not all(type(n) is int and n >= 0 for n in counts):
        message = "not a record"
        raise ValueError(message)
    return Record(key, kind, offset, length, digest, rows)


def _decode(kind: str, content: bytes, name: str) -> Any:
    stream = io.BytesIO(content)
    arrays: list[NDArray[Any]] = []
    while stream.tell() < len(content):
        arrays.append(read_array(stream, name))
    if kind == "arrays":
        return arrays
    n_rows, means, squares, bad, row, column, stored, rest = arrays
    return Moments(int(n_rows), means, squares, int(bad), int(row), int(column), int(stored), rest)


def pass_key(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """A hash of what a pass computes, down to the last bit of its arguments."""
    digest = hashlib.sha256(function.__name__.encode())
    _absorb(digest, arguments)
    return digest.hexdigest()


def _absorb(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list)):
        digest.update(f"({len(value)}".encode())
        for part in value:
            _absorb(digest, part)
    else:
        digest.update(repr(value).encode())
