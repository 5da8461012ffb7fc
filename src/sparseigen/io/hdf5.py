"""HDF5 files, and the tables and names in AnnData's layout; nothing outside the file is ever opened.

Damaged HDF5 files can make the HDF5 library itself hang or crash: `sparseigen.io.hdf5_probe` says what to do about it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.memory import check_columns_fit, check_fits
from sparseigen.checks.sparse import build_compressed, check_sides
from sparseigen.config import require
from sparseigen.errors import InputError, OptionError, ShapeError, one_of
from sparseigen.io.hdf5_probe import find_trouble
from sparseigen.io.zarr_stores import find_in_store, is_store

MOST_LINKS = 8
OLD_INDEXES = ("index", "_index", "cell_names", "gene_names", "obs_names", "var_names")
"""Under which the names of samples and variables lie where a file does not say it."""
LARGEST_NAMES = 100
"""Bytes that a name takes in memory, roughly and at most, for refusing lists of names that cannot fit."""


def open_hdf5(path: Path) -> Any:
    """The file, for reading."""
    h5py = require("h5py", purpose=f"reading {path.suffix} files")
    trouble = find_trouble(path)
    if trouble is not None:
        message = f"{path.name} cannot be read as HDF5: {trouble}. It is damaged."
        raise InputError(message)
    try:
        return h5py.File(path, "r")
    except OSError as error:
        message = f"{path.name} cannot be read as HDF5: {' '.join(str(error).split())}. It is damaged, or not HDF5."
        raise InputError(message) from error


def find_node(parent: Any, place: str, file: str, links: int = MOST_LINKS) -> Any:
    """A group or dataset of this very file or zarr store; ``place`` may name several steps (``layers/counts``)."""
    if is_store(parent):
        return find_in_store(parent, place, file)
    h5py = require("h5py", purpose="reading HDF5 files")
    node = parent
    for step in filter(None, place.split("/")):
        link = node.get(step, getlink=True) if hasattr(node, "keys") else None
        if link is None:
            message = f"{file} has no {place!r}; it is damaged, or not laid out as its ending says."
            raise InputError(message)
        if isinstance(link, h5py.SoftLink) and links:
            node = find_node(node.file if link.path.startswith("/") else node, link.path, file, links - 1)
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
        check_fits(math.prod(map(int, node.chunks)) * int(node.dtype.itemsize), f"{file}: a chunk of {place!r}")


def read_matrix(matrix: Any, file: str, subject: str) -> Any:
    """A dense dataset, or a group that holds compressed rows or columns, read whole; ``subject`` names it in errors."""
    if hasattr(matrix, "shape"):
        if len(matrix.shape) != 2 or matrix.dtype.kind not in "fiub":
            message = f"{subject} has the shape {matrix.shape} and dtype {matrix.dtype}; it must be a table of numbers."
            raise ShapeError(message)
        check_columns_fit(int(matrix.shape[1]), file)
        check_fits(int(matrix.shape[0]) * int(matrix.shape[1]) * int(matrix.dtype.itemsize), file)
        return matrix[()]
    before = "h5sparse_shape" in matrix.attrs  # up to anndata 0.6
    shape = check_sides(matrix.attrs["h5sparse_shape" if before else "shape"], subject)
    form = _as_word(matrix.attrs.get("h5sparse_format" if before else "encoding-type", "csr_matrix"))[:3]
    if form not in ("csr", "csc"):
        message = f"{subject} is a {form!r} matrix of shape {shape}; it must be dense, csr or csc, with two sides."
        raise ShapeError(message)
    check_columns_fit(shape[1], file)
    parts = [find_node(matrix, part, file) for part in ("data", "indices", "indptr")]
    check_fits(sum(int(part.size) * 8 for part in parts), file)
    return build_compressed(form, (parts[0][()], parts[1][()], parts[2][()]), shape, subject)


def read_names(tree: Any, axis: str, file: str) -> tuple[str, ...] | None:
    """The names of an AnnData file's variables (``var``) or samples (``obs``), if it has them."""
    if axis not in tree:
        return None
    group = find_node(tree, axis, file)
    if not hasattr(group, "keys"):  # before anndata 0.7: one compound array
        fields = group.dtype.names or ()
        _check_names_fit(group, file)
        name = next((known for known in OLD_INDEXES if known in fields), None)
        return None if name is None else as_words(group[name])
    name = group.attrs.get("_index", "_index")
    if not isinstance(name, str) or name not in group:
        name = next((known for known in OLD_INDEXES if known in group), "")
    if not name:
        return None
    found = find_node(group, name, file)
    if not hasattr(found, "shape") or len(found.shape) != 1:
        message = f"{file}: the names in {axis!r} are not a list."
        raise InputError(message)
    _check_names_fit(found, file)
    return as_words(found[()])


def read_label(tree: Any, wanted: str, rows: int, file: str) -> tuple[str, ...]:
    """A column of an AnnData file's samples, as text, in every layout there has been; categories written out."""
    obs = find_node(tree, "obs", file)
    known = list(obs.keys()) if hasattr(obs, "keys") else list(obs.dtype.names or ())
    if wanted not in known:
        known = [name for name in known if name not in ("__categories", *OLD_INDEXES)]
        message = f"label={wanted!r} is not a column of obs in {file}; it has {one_of(known)}."
        raise OptionError(message, parameter="label")
    column = find_node(obs, wanted, file) if hasattr(obs, "keys") else obs[wanted]
    cells, categories = column, None
    if hasattr(column, "keys"):
        parts = ("codes", "categories") if "categories" in column else ("values", "mask")
        cells, other = (find_node(column, part, file) for part in parts)
        categories = as_words(other[()]) if parts[0] == "codes" else None
    else:
        listed = next(
            (place for place in (f"obs/__categories/{wanted}", f"uns/{wanted}_categories") if place in tree), None
        )
        categories = None if listed is None else as_words(find_node(tree, listed, file)[()])
    if cells.shape != (rows,):
        message = f"{file}: label has {cells.shape} entries, X has {rows} rows."
        raise ShapeError(message, parameter="label")
    values = np.asarray(cells[()])
    if categories is None:
        return as_words(values)
    if values.dtype.kind not in "iu" or (values.size and int(values.max()) >= len(categories)):
        message = f"{file}: the codes of label={wanted!r} do not fit its {len(categories)} categories; it is damaged."
        raise InputError(message, parameter="label")
    return tuple(categories[code] if code >= 0 else "" for code in values.tolist())


def _as_word(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _check_names_fit(node: Any, file: str) -> None:
    check_fits(math.prod(map(int, node.shape)) * (LARGEST_NAMES + int(node.dtype.itemsize)), f"{file}: its names")


def as_words(array: NDArray[Any]) -> tuple[str, ...]:
    """Text of a list of names, whether bytes, text or numbers."""
    flat = np.ravel(array).tolist()
    return tuple(_as_word(item) for item in flat)
