"""HDF5 files from strangers: what a file says of itself is checked, and links out of it are not followed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import InputError
from sparseigen.inputs.hdf5_probe import survives
from sparseigen.inputs.memory import check_fits
from sparseigen.inputs.optional import require

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
