"""NumPy's file format, read without evaluating anything: what a header declares is checked before it is believed."""

from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.memory import check_fits
from sparseigen.errors import DtypeError, InputError, ShapeError

MAGIC = b"\x93NUMPY"
LARGEST_HEADER = 10_000
LENGTHS = {1: "<H", 2: "<I", 3: "<I"}
"""Version of the format -> how the length of the header is written."""
TYPE = re.compile(r"[<>|=]?([a-zA-Z?])[0-9]{0,9}")
LARGEST_SIDE = 2**62


class Header(NamedTuple):
    """What an array's header says; ``start`` is where the numbers begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str
    start: int

    @property
    def size(self) -> int:
        """Number of entries."""
        entries = 1
        for side in self.shape:
            entries *= side
        return entries

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
    begin = file.read(8)
    if len(begin) < 8 or begin[:6] != MAGIC or begin[6] not in LENGTHS:
        message = f"{name} cannot be read as a NumPy array: it does not begin as one. It is damaged, or something else."
        raise InputError(message)
    form = LENGTHS[begin[6]]
    length_bytes = file.read(struct.calcsize(form))
    length = struct.unpack(form, length_bytes)[0] if len(length_bytes) == struct.calcsize(form) else LARGEST_HEADER + 1
    text = file.read(min(length, LARGEST_HEADER)).decode("utf-8" if begin[6] == 3 else "latin-1", "replace")
    if length > LARGEST_HEADER or len(text.encode("utf-8", "replace")) < min(length, LARGEST_HEADER):
        message = f"{name} is truncated inside its header, or the header is longer than {LARGEST_HEADER} bytes."
        raise InputError(message)
    shape, dtype = _shape(text, name), _dtype(text, name)
    order = "F" if _found(r"fortran_order['\"]\s*:\s*(True|False)", text, "fortran_order", name) == "True" else "C"
    header = Header(shape, dtype, order, 8 + len(length_bytes) + length)
    if dtype.itemsize == 0 and header.size:
        message = f"{name} declares {header.size} entries of no bytes ({dtype.str}); it must hold numbers or names."
        raise DtypeError(message)
    return header


def _found(pattern: str, text: str, key: str, name: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        message = f"{name} cannot be read as a NumPy array: its header has no usable {key!r}. It is damaged."
        raise InputError(message)
    return match.group(1)


def _shape(text: str, name: str) -> tuple[int, ...]:
    listed = _found(r"shape['\"]\s*:\s*\(([^)]{0,400})\)", text, "shape", name)
    sides = [part.strip().removesuffix("L") for part in listed.split(",") if part.strip()]
    if not all(re.fullmatch(r"-?[0-9]{1,30}", side) for side in sides):
        message = f"{name} cannot be read as a NumPy array: it declares the shape ({listed.strip()[:60]})."
        raise InputError(message)
    shape = tuple(int(side) for side in sides)
    if any(not 0 <= side <= LARGEST_SIDE for side in shape):
        message = f"{name} declares the shape {shape}; sides cannot be negative, nor beyond 2^62."
        raise ShapeError(message)
    return shape


def _dtype(text: str, name: str) -> np.dtype[Any]:
    if re.search(r"descr['\"]\s*:\s*[\[(]", text):
        message = f"{name} holds records (a structured dtype); it must hold real numbers. Save one field as an array."
        raise DtypeError(message)
    descr = _found(r"descr['\"]\s*:\s*['\"]([^'\"]*)['\"]", text, "descr", name)
    match = TYPE.fullmatch(descr)
    if match is not None and match.group(1) == "O":
        message = f"{name} has dtype object; it must hold real numbers (pickled objects are never loaded)."
        raise DtypeError(message)
    if match is None or match.group(1) not in "?biufcSU":
        message = f"{name} has dtype {descr[:40]!r}; it must hold real numbers."
        raise DtypeError(message)
    try:
        return np.dtype(descr)
    except (TypeError, ValueError) as error:
        message = f"{name} has dtype {descr[:40]!r}, which NumPy does not know; it must hold real numbers."
        raise DtypeError(message) from error


def check_length(header: Header, held: int, name: str) -> None:
    """Refuse an array that declares more than there is."""
    if header.n_bytes > held:
        message = f"{name} declares {header.n_bytes} bytes of numbers and holds {max(0, held)}: truncated."
        raise InputError(message)


def mapped_array(path: Path, header: Header) -> NDArray[Any]:
    """The numbers of a file whose length was checked, left on disk."""
    if header.n_bytes == 0:
        return np.zeros(header.shape, dtype=header.dtype)
    order: Any = header.order
    return np.memmap(path, dtype=header.dtype, mode="r", offset=header.start, shape=header.shape, order=order)


def file_header(path: Path) -> Header:
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
        check_fits(sum(_checked_member(archive, member) for member in members), path.name)
        arrays = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if wanted is None or name in wanted:
                with archive.open(member) as file:
                    arrays[name] = read_array(file, f"{member.filename} in {path.name}")  # type: ignore[arg-type]
    return arrays


def _checked_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Bytes that a member of the archive says it holds, if its header agrees."""
    name = f"{member.filename} in {Path(archive.filename or '').name}"
    with archive.open(member) as file:
        header = read_header(file, name)  # type: ignore[arg-type]
    check_length(header, member.file_size - header.start, name)
    return member.file_size
