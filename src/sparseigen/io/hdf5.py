"""HDF5 files, looked at before they are trusted.

A damaged HDF5 file can make the HDF5 library itself run for ever or fall over: another process looks first.

That process (this file, run as a script) opens the file, follows its tree, reads attributes, names and the index of the
chunks, and small arrays in full. Only a file that it comes back from is opened here. It takes a few tenths of a second,
once for each file and each change of it.
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.memory import check_fits
from sparseigen.config import require
from sparseigen.errors import InputError

CPU_SECONDS = 30
"""Of processor time for looking a file over; one more for every gigabyte of it."""
WALL_SECONDS = 600
SMALL = 1 << 25
"""Bytes up to which an array is read in full."""
MISSING = 4
"""Exit status: the file could not be looked over here, for no fault of its own."""


def survives(path: Path) -> str | None:
    """None for a file that can be opened; otherwise what happened to the process that tried."""
    facts = path.stat()
    return _looked_over(str(path.absolute()), facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=64)
def _looked_over(path: str, size: int, changed: int) -> str | None:
    seconds = CPU_SECONDS + size // 10**9
    # -P: the modules beside this file must not stand in for others of the same name.
    command = [sys.executable or "python", "-P", __file__, path, str(seconds)]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=WALL_SECONDS + seconds, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"the HDF5 library did not come back from it within {WALL_SECONDS + seconds} s"
    except OSError:  # no second process to be had: nothing is known against the file
        return None
    if done.returncode < 0:
        return f"the HDF5 library crashed or ran for more than {seconds} s on it (signal {-done.returncode})"
    return None


def _look(path: str, seconds: int) -> None:
    """Everything a reader might touch; errors that the library reports are the reader's to explain."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass
    import h5py

    with h5py.File(path, "r") as file:
        _attributes(file)
        file.visititems(_touch)


def _attributes(node: Any) -> None:
    for name in node.attrs:
        _quietly(lambda name=name: node.attrs[name])


def _touch(name: str, node: Any) -> None:
    _quietly(lambda: _attributes(node))
    if not hasattr(node, "shape") or node.shape is None:
        return
    stored = _quietly(lambda: int(node.size) * int(node.dtype.itemsize))
    if node.chunks is not None:
        _quietly(lambda: [node.id.get_chunk_info(i) for i in range(node.id.get_num_chunks())])
    if stored is not None and stored <= SMALL and not node.is_virtual and not node.external:
        _quietly(lambda: node[()])


def _quietly(action: Any) -> Any:
    try:
        return action()
    except Exception:
        return None


if __name__ == "__main__":
    try:
        _look(sys.argv[1], int(sys.argv[2]))
    except Exception:
        sys.exit(MISSING)


LARGEST_NAMES = 100
"""Bytes that a name takes in memory, roughly and at most, for refusing lists of names that cannot fit."""


def open_hdf5(path: Path) -> Any:
    """The file, for reading."""
    h5py = require("h5py", purpose=f"reading {path.suffix} files")
    trouble = survives(path)
    if trouble is not None:
        message = f"{path.name} cannot be read as HDF5: {trouble}. It is damaged."
        raise InputError(message)
    try:
        return h5py.File(path, "r")
    except OSError as error:
        message = f"{path.name} cannot be read as HDF5: {' '.join(str(error).split())}. It is damaged, or not HDF5."
        raise InputError(message) from error


MOST_LINKS = 8


def child(parent: Any, place: str, file: str, links: int = MOST_LINKS) -> Any:
    """A group or dataset of this very file; ``place`` may name several steps (``layers/counts``)."""
    h5py = require("h5py", purpose="reading HDF5 files")
    node = parent
    for step in filter(None, place.split("/")):
        link = node.get(step, getlink=True) if hasattr(node, "keys") else None
        if link is None:
            message = f"{file} has no {place!r}; it is damaged, or not laid out as its ending says."
            raise InputError(message)
        if isinstance(link, h5py.SoftLink) and links:
            node = child(node.file if link.path.startswith("/") else node, link.path, file, links - 1)
        elif isinstance(link, h5py.HardLink):
            node = node[step]
        else:
            message = f"{file}: {place!r} is a link to another file, which is not opened. Copy the data into one file."
            raise InputError(message)
    if hasattr(node, "shape"):
        _check_dataset(node, place, file)
    return node


def _check_dataset(node: Any, place: str, file: str) -> None:
    if node.is_virtual or node.external:
        message = f"{file}: the numbers of {place!r} lie in other files, which are not opened. Copy them into one file."
        raise InputError(message)
    if node.shape is None:
        message = f"{file}: {place!r} is empty; it must hold numbers or names."
        raise InputError(message)
    if node.chunks is not None:  # a chunk is unpacked as a whole, however little is asked for
        entries = 1
        for side in node.chunks:
            entries *= int(side)
        check_fits(entries * int(node.dtype.itemsize), f"{file}: a chunk of {place!r}")


def names_of(tree: Any, axis: str, file: str) -> tuple[str, ...] | None:
    """The names of an AnnData file's variables (``var``) or samples (``obs``), if it has them."""
    if axis not in tree:
        return None
    group = child(tree, axis, file)
    if not hasattr(group, "keys"):  # before anndata 0.7: one compound array
        fields = group.dtype.names or ()
        _check_names_fit(group, file)
        return as_words(group["index"]) if "index" in fields else None
    name = group.attrs.get("_index", "_index")
    if not isinstance(name, str) or name not in group:
        return None
    found = child(group, name, file)
    if not hasattr(found, "shape") or len(found.shape) != 1:
        message = f"{file}: the names in {axis!r} are not a list."
        raise InputError(message)
    _check_names_fit(found, file)
    return as_words(found[()])


def _check_names_fit(node: Any, file: str) -> None:
    check_fits(int(node.size) * (LARGEST_NAMES + int(node.dtype.itemsize)), f"{file}: its names")


def as_words(array: NDArray[Any]) -> tuple[str, ...]:
    """Text of a list of names, whether bytes, text or numbers."""
    flat = np.ravel(array).tolist()
    return tuple(item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item) for item in flat)
