"""Which of a caller's objects are read in passes, and as what."""

from __future__ import annotations

import mmap
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from sparseigen.errors import InputError, OptionError, SlowLayoutWarning
from sparseigen.inputs.columns import Table, check_names
from sparseigen.inputs.paths import as_file_path
from sparseigen.inputs.row_files import ZarrRows, open_rows
from sparseigen.inputs.row_source import ArrayRows, CallerRows, PlainRows, RowSource, iter_once

LARGE = 1 << 26
"""Bytes from which a slow layout is worth a warning."""
SOURCE_MEMBERS = ("shape", "dtype", "names", "sparse", "blocks", "fingerprint")


def as_row_source(value: Any, *, dataset: str | None, shape: Any) -> RowSource | None:
    """The source behind a path, a memory map, a zarr array, an iterable of blocks; None for data in memory."""
    source = _found(value, dataset, shape)
    if source is None:
        return None
    if shape is not None and tuple(shape) != source.shape:
        message = f"shape={tuple(shape)} does not fit {source.label}, which has shape {source.shape}."
        raise OptionError(message)
    check_names(source.label, source.names)
    if source.advice is not None and source.shape[0] * source.shape[1] * source.dtype.itemsize > LARGE:
        warnings.warn(f"{source.advice}", SlowLayoutWarning, stacklevel=4)
    return source


def _found(value: Any, dataset: str | None, shape: Any) -> RowSource | None:
    if isinstance(value, (str, os.PathLike)):
        return open_rows(as_file_path(value, "X"), dataset)
    if isinstance(value, np.memmap):
        return _mapped(value)
    if isinstance(value, Table) and isinstance(value.values, np.memmap):
        source = _mapped(value.values)
        source.names = value.names
        return source
    if type(value).__module__.split(".")[0] == "zarr" and hasattr(value, "chunks"):
        return ZarrRows(value, "X (zarr array)")
    if all(hasattr(value, name) for name in SOURCE_MEMBERS):
        return value  # type: ignore[no-any-return]
    if callable(value) or iter_once(value) or (shape is not None and isinstance(value, (list, tuple))):
        return CallerRows(value, shape)
    return None


def _mapped(values: Any) -> RowSource:
    """A memory map; a plain one that nobody writes to is read from its file, which is faster and keeps no pages."""
    plain = isinstance(values.base, mmap.mmap) and values.flags.c_contiguous and values.ndim == 2
    if plain and values.mode == "r" and values.filename is not None and Path(values.filename).is_file():
        return PlainRows(Path(values.filename), values.offset, values.shape, values.dtype, "X (memory map)")
    return ArrayRows(values, "X (memory map)")


def check_checkpoint(value: Any) -> Path | None:
    """A path in a folder that exists."""
    if value is None:
        return None
    path = as_file_path(value, "checkpoint")
    if path.is_dir() or not path.parent.is_dir():
        message = f"checkpoint={str(path)!r} must name a file in a folder that exists."
        raise InputError(message)
    return path
