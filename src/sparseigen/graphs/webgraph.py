"""LAW's WebGraph format: ``name.graph`` (the bit stream) with ``name.properties`` beside it.

P. Boldi and S. Vigna, "The WebGraph framework I: compression techniques", WWW 2004.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sparseigen.errors import GraphFileError, one_of
from sparseigen.inputs.graphs import Graph
from sparseigen.inputs.memory import check_fits
from sparseigen.kernels.graph import decode_webgraph
from sparseigen.kernels.webgraph_reference import DELTA, GAMMA, UNARY, ZETA, WebGraphFormat

OnProgress = Callable[[int, int], None]

CODES = {"UNARY": UNARY, "GAMMA": GAMMA, "DELTA": DELTA, "ZETA": ZETA}
DEFAULTS = {"OUTDEGREES": GAMMA, "REFERENCES": UNARY, "BLOCK_COUNT": GAMMA, "BLOCKS": GAMMA, "RESIDUALS": ZETA}
"""What is coded how unless ``compressionflags`` says otherwise, in the order of WebGraphFormat."""

MOST_NODES = 2**31 - 1
LARGEST_PARAMETER = {"windowsize": MOST_NODES, "minintervallength": MOST_NODES, "zetak": 30}
BATCH = 1 << 16
"""Nodes decoded between two reports of progress."""


def read_webgraph(path: Path, on_progress: OnProgress | None = None) -> Graph:
    """The directed graph in a BV stream; memory is the graph's plus the compressed file's."""
    form = _read_properties(path.with_suffix(".properties"))
    stream = path.with_suffix(".graph")
    if form.nodes < 1 or form.arcs < 0:
        message = f"{stream}: the properties say {form.nodes} nodes and {form.arcs} arcs. Download the file again."
        raise GraphFileError(message)
    n_bytes = stream.stat().st_size
    if form.nodes > MOST_NODES or form.nodes > 8 * n_bytes or form.arcs > form.nodes**2:
        message = (
            f"{stream}: the properties say {form.nodes} nodes and {form.arcs} arcs, which {n_bytes} bytes cannot hold "
            f"(a bit a node at least, at most {MOST_NODES} nodes). Download both files again."
        )
        raise GraphFileError(message)
    check_fits(4 * form.arcs + 8 * form.nodes, f"{stream.name} with {form.nodes} nodes and {form.arcs} arcs")
    data = np.fromfile(stream, dtype=np.uint8)
    starts = np.zeros(form.nodes + 1, dtype=np.int64)
    successors = np.empty(form.arcs, dtype=np.int32)
    position = 0
    for first in range(0, form.nodes, BATCH):
        last = min(first + BATCH, form.nodes)
        try:
            position = decode_webgraph(data, position, form, first, last, starts, successors)
        except ValueError as error:
            message = f"{stream}: damaged between nodes {first} and {last}: {error}. Download the file again."
            raise GraphFileError(message) from error
        if on_progress is not None:
            on_progress(last, form.nodes)
    if int(starts[-1]) != form.arcs:
        message = f"{stream}: {int(starts[-1])} arcs were found, the properties say {form.arcs}. Download it again."
        raise GraphFileError(message)
    ones = np.ones(form.arcs, dtype=np.int8)
    narrow = starts.astype(np.int32) if form.arcs < 1 << 31 else starts
    matrix = sp.csr_array((ones, successors, narrow), shape=(form.nodes, form.nodes))
    return Graph(matrix, None, True, {"duplicate_edges": "none", "format": "webgraph"})


def _read_properties(path: Path) -> WebGraphFormat:
    if not path.is_file():
        message = f"{path} does not exist; a WebGraph file needs its .properties beside it. Download that too."
        raise GraphFileError(message)
    lines = (line.split("=", 1) for line in path.read_text().splitlines() if "=" in line and line[:1] != "#")
    found = {key.strip(): value.strip() for key, value in lines}
    try:
        numbers = [int(found[key]) for key in ("nodes", "arcs")]
        numbers += [int(found.get(key, usual)) for key, usual in (("windowsize", 7), ("minintervallength", 4))]
        zeta = int(found.get("zetak", 3))
        _check_parameters(numbers[2], numbers[3], zeta)
    except (KeyError, ValueError) as error:
        message = f"{path}: {error} is missing or not a number in range; nodes and arcs are needed."
        raise GraphFileError(message) from error
    if found.get("version", "0") != "0":
        message = f"{path}: version={found['version']} is not supported. Allowed: '0'."
        raise GraphFileError(message)
    return WebGraphFormat._make([*numbers, zeta, *_codes(found.get("compressionflags", ""), path).values()])


def _check_parameters(window: int, shortest_interval: int, zeta: int) -> None:
    given = {"windowsize": window, "minintervallength": shortest_interval, "zetak": zeta}
    for name, value in given.items():
        if not int(name == "zetak") <= value <= LARGEST_PARAMETER[name]:
            message = f"{name}={value}"
            raise ValueError(message)


def _codes(flags: str, path: Path) -> dict[str, int]:
    codes = dict(DEFAULTS)
    for flag in filter(None, (part.strip() for part in flags.split("|"))):
        kind, _, name = flag.rpartition("_")
        if kind == "OFFSETS":
            continue
        if kind not in codes or name not in CODES:
            message = f"{path}: compression flag {flag!r} is not supported. Codes: {one_of(CODES)}."
            raise GraphFileError(message)
        codes[kind] = CODES[name]
    return codes
