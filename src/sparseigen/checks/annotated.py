"""AnnData objects: which of their tables is meant, with the names of its samples and variables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import DtypeError, DuplicateNamesError, OptionError, ShapeError, one_of


@dataclass(frozen=True)
class AnnotatedTable:
    """One table of an AnnData object: samples x variables, with names on both sides."""

    values: Any
    """An array, a scipy sparse matrix or a dask array; of an object on disk the path of its file."""
    names: tuple[str, ...]
    row_labels: tuple[str, ...]
    kept: NDArray[np.bool_]
    """Which of the object's variables are in the table."""
    dataset: str | None = None
    """Where the table lies in the file, for an object on disk."""


def choose_table(value: Any, *, layer: str | None = None, use_raw: bool = False, mask: Any = None) -> AnnotatedTable:
    """A table of an AnnData object.

    Parameters
    ----------
    value : AnnData
        The object, in memory or on disk.
    layer : str, optional
        The layer to take; X without it.
    use_raw : bool
        Take ``value.raw``.
    mask : str or array of bool, optional
        The variables to take: a column of ``var`` that holds yes or no, such as "highly_variable", or one value per
        variable.
    """
    if layer is not None and use_raw:
        message = f"layer={layer!r} and use_raw=True name two tables; give one of them."
        raise OptionError(message, parameter="layer")
    if use_raw and value.raw is None:
        msg = "use_raw=True, but this AnnData object has no raw; set adata.raw, or leave use_raw out."
        raise OptionError(msg, parameter="use_raw")
    if layer is not None and layer not in value.layers:
        has = one_of(value.layers.keys()) or "none"
        message = f"layer={layer!r} is not a layer of this AnnData object; it has: {has}."
        raise OptionError(message, parameter="layer")
    source = value.raw if use_raw else value
    names = tuple(str(name) for name in source.var_names)
    kept = _read_mask(mask, source.var, len(names))
    place = "raw/X" if use_raw else "X" if layer is None else f"layers/{layer}"
    chosen = tuple(name for name, keep in zip(names, kept, strict=True) if keep)
    _check_unique(chosen)
    samples = tuple(str(name) for name in value.obs_names)
    if value.isbacked:
        return AnnotatedTable(_find_file(value, kept), chosen, samples, kept, place)
    values = source.X if layer is None else source.layers[layer]
    if values is None:
        msg = "this AnnData object has no X; name one of its layers (layer=...)."
        raise OptionError(msg, parameter="layer")
    return AnnotatedTable(values if kept.all() else values[:, kept], chosen, samples, kept)


def _check_unique(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        repeated = next(name for place, name in enumerate(names) if name in names[:place])
        message = f"the name {repeated!r} occurs twice among the variables; call adata.var_names_make_unique() first."
        raise DuplicateNamesError(message)


def _read_mask(mask: Any, variables: Any, count: int) -> NDArray[np.bool_]:
    if mask is None:
        return np.ones(count, dtype=bool)
    subject = "mask"
    if isinstance(mask, str):
        if mask not in variables:
            message = f"mask={mask!r} is not a column of var; it has: {one_of(variables.columns) or 'none'}."
            raise OptionError(message, parameter="mask")
        subject, mask = f"the column {mask!r} of var", variables[mask]
    chosen = np.asarray(mask)
    if chosen.dtype != bool:
        message = f"{subject} has dtype {chosen.dtype}; it must say True or False of every variable."
        raise DtypeError(message, parameter="mask")
    if chosen.shape != (count,):
        message = f"{subject} has shape {chosen.shape}; it must have one entry for each of the {count} variables."
        raise ShapeError(message, parameter="mask")
    if not chosen.any():
        message = f"{subject} chooses no variable; at least one is needed."
        raise OptionError(message, parameter="mask")
    return chosen


def _find_file(value: Any, kept: NDArray[np.bool_]) -> str:
    """The file of an object on disk, to be read in blocks of rows, which have all the variables."""
    if value.is_view or not kept.all():
        msg = (
            "this AnnData object is on disk, and only a part of it is meant. Load that part with adata.to_memory(), or "
            "write it to a file of its own."
        )
        raise OptionError(msg, parameter="mask")
    return str(os.fspath(value.filename))
