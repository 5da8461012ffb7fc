"""Zarr stores: opened for reading, with nothing in them that could run code."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from sparseigen.checks.memory import check_fits
from sparseigen.config import require
from sparseigen.errors import InputError, one_of

CODECS = frozenset({
    "adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "fixedscaleoffset",
    "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits", "pcodec", "quantize",
    "sharding_indexed", "shuffle", "transpose", "vlen-utf8", "zfpy", "zlib", "zstd",
})  # fmt: skip
"""Ways to pack chunks that only ever make numbers or text."""


def is_store(value: Any) -> bool:
    """Whether this is a group or an array of zarr's."""
    return type(value).__module__.split(".")[0] == "zarr"


def open_store(path: Path) -> Any:
    """The array or the group of a store, for reading."""
    zarr = require("zarr", purpose="reading zarr stores")
    try:
        return zarr.open(str(path), mode="r")
    except Exception as error:  # zarr has errors of its own for every way a store can be damaged
        message = f"{path.name} cannot be read as a zarr store: {error}"
        if zarr.__version__.startswith("2.") and (path / "zarr.json").exists():
            message = (
                f"{path.name} is in zarr's format 3, which zarr {zarr.__version__} does not read. "
                "Install a newer one: pip install 'zarr>=3'"
            )
        raise InputError(message) from error


def list_store(group: Any) -> list[str]:
    """The names in a group; what zarr does not recognise is left out, and is missed where it is needed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "Object at ... is not recognized as a component of a Zarr hierarchy"
        return sorted(group.keys())


def find_in_store(parent: Any, place: str, file: str) -> Any:
    """A group or an array of a store; ``place`` may name several steps (``layers/counts``)."""
    node = parent
    for step in filter(None, place.split("/")):
        if not hasattr(node, "keys") or step not in node:
            message = f"{file} has no {place!r}; it is damaged, or not laid out as its ending says."
            raise InputError(message)
        node = node[step]
    if hasattr(node, "shape"):
        check_codecs(node, f"{file}:{place}")
        chunk = int(node.dtype.itemsize)
        for side in node.chunks:
            chunk *= int(side)
        check_fits(chunk, f"{file}: a chunk of {place!r}")
    return node


def check_codecs(array: Any, label: str) -> None:
    """Refuse chunks packed in a way that is not plainly a compression: one way is to unpickle them."""
    facts = array.metadata if hasattr(array, "metadata") else array
    used = [*(getattr(facts, "filters", None) or ()), *(getattr(facts, "codecs", None) or ())]
    used += [] if getattr(facts, "compressor", None) is None else [facts.compressor]
    used += [inner for codec in used for inner in getattr(codec, "codecs", ())]
    for codec in used:
        name = getattr(codec, "codec_id", None) or codec.to_dict().get("name", type(codec).__name__)
        if name.removeprefix("numcodecs.") not in CODECS:
            message = f"{label} is packed by {name!r}, which is not read from data files. Allowed: {one_of(CODECS)}."
            raise InputError(message)
