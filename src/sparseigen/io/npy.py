"""NumPy's file format: what a header declares is checked before it is believed, and nothing is ever unpickled."""

from __future__ import annotations

import ast
import io
import math
import re
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from sparseigen.checks.memory import check_fits
from sparseigen.errors import DtypeError, InputError, ShapeError

LARGEST_HEADER = 10_000
LARGEST_SIDE = 2**62
PYTHON_2 = re.compile(rb"(\d)\s*L\b")
"""Whole numbers as Python 2 wrote some."""
WARNED_ABOUT = re.compile(rb"\\|\d[A-Za-z]|[<>|=']a\d")
"""Escapes, letters behind digits and an old name of bytes: Python's parser or NumPy would warn, and a filter of
warnings is shared by all threads."""


class Header(NamedTuple):
    """What an array's header says; ``start`` is where the numbers begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str
    start: int

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """Bytes of all entries."""
        return self.size * int(self.dtype.itemsize)


def read_header(file: BinaryIO, name: str) -> Header:
    """The header at the beginning of a stream; pickled objects and records are refused here.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> stream = io.BytesIO()
    >>> np.save(stream, np.eye(2))
    >>> _ = stream.seek(0)
    >>> read_header(stream, "eye.npy")
    Header(shape=(2, 2), dtype=dtype('float64'), order='C', start=128)
    """
    try:
        shape, by_columns, dtype, start = _parse_header(file)
    except Exception as error:  # NumPy takes the header for Python source, with all errors of its parser
        reason = " ".join(str(error).split()).partition(": <ast")[0][:160].rstrip(".")
        message = f"{name} cannot be read as a NumPy array: {reason}. It is damaged, or something else."
        raise InputError(message) from error
    if any(not 0 <= side <= LARGEST_SIDE for side in shape):
        message = f"{name} declares the shape {shape}; sides cannot be negative, nor beyond 2^62."
        raise ShapeError(message)
    if dtype.hasobject:
        message = f"{name} has dtype object; it must hold real numbers (pickled objects are never loaded)."
        raise DtypeError(message)
    if dtype.kind == "V":
        message = f"{name} holds records (a structured dtype); it must hold real numbers. Save one field as an array."
        raise DtypeError(message)
    if dtype.kind not in "?biufcSU":
        message = f"{name} has dtype {dtype.str!r}; it must hold real numbers."
        raise DtypeError(message)
    header = Header(tuple(map(int, shape)), dtype, "F" if by_columns else "C", start)
    if dtype.itemsize == 0 and header.size:
        message = f"{name} declares {header.size} entries of no bytes ({dtype.str}); it must hold numbers or names."
        raise DtypeError(message)
    return header


def _parse_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, whether by columns, type, and where the numbers begin, as NumPy reads them."""
    version = npy_format.read_magic(file)[0]
    if version not in (1, 2, 3):
        message = f"its version is {version}, not 1, 2 or 3"
        raise ValueError(message)
    prefix = file.read(2 if version == 1 else 4)
    length = int.from_bytes(prefix, "little")
    if length > LARGEST_HEADER:  # asked before it is read: in an archive any length could be there
        message = f"the header is longer than {LARGEST_HEADER} bytes"
        raise ValueError(message)
    text = file.read(length)
    if len(text) < length:
        message = f"its header ends after {len(text)} of {length} bytes"
        raise ValueError(message)
    text = PYTHON_2.sub(rb"\1", text).strip()
    if WARNED_ABOUT.search(text):
        message = "its header is not as NumPy writes it"
        raise ValueError(message)
    ast.parse(text.decode("latin-1"), mode="eval")  # what is no Python NumPy would mend, with a warning
    # Version 3 is version 2 with field names in another encoding; those are records, which are refused.
    read = npy_format.read_array_header_1_0 if version == 1 else npy_format.read_array_header_2_0
    return *read(io.BytesIO(len(text).to_bytes(len(prefix), "little") + text)), 8 + len(prefix) + length


def check_length(header: Header, held: int, name: str) -> None:
    """Refuse an array that declares more than there is."""
    if header.n_bytes > held:
        message = f"{name} declares {header.n_bytes} bytes of numbers and holds {max(0, held)}: truncated."
        raise InputError(message)


def map_array(path: Path, header: Header) -> NDArray[Any]:
    """The numbers of a file whose length was checked, left on disk."""
    if header.n_bytes == 0:
        return np.zeros(header.shape, dtype=header.dtype)
    order: Any = header.order
    return np.memmap(path, dtype=header.dtype, mode="r", offset=header.start, shape=header.shape, order=order)


def read_file_header(path: Path) -> Header:
    """The header of a file that is as long as it declares."""
    with path.open("rb") as file:
        header = read_header(file, path.name)
    check_length(header, path.stat().st_size - header.start, path.name)
    return header


def read_array(file: BinaryIO, name: str) -> NDArray[Any]:
    """The next array of a stream; no more is read, and asked for, than its header declares."""
    header = read_header(file, name)
    content = file.read(header.n_bytes)
    check_length(header, len(content), name)
    order: Any = header.order
    return np.frombuffer(content, dtype=header.dtype, count=header.size).reshape(header.shape, order=order)


def read_archive(path: Path, wanted: tuple[str, ...] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file by name (of these names only, if given), all of them checked first.

    Arrays that are objects, longer than the archive says, or larger than memory together are refused.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        check_fits(sum(_check_member(archive, member) for member in members), path.name)
        arrays = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if wanted is None or name in wanted:
                with archive.open(member) as file:
                    arrays[name] = read_array(file, f"{member.filename} in {path.name}")  # type: ignore[arg-type]
    return arrays


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Bytes that a member of the archive says it holds, if its header agrees."""
    name = f"{member.filename} in {Path(archive.filename or '').name}"
    with archive.open(member) as file:
        header = read_header(file, name)  # type: ignore[arg-type]
    check_length(header, member.file_size - header.start, name)
    return member.file_size
