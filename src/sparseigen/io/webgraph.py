"""LAW's WebGraph format: ``name.graph`` (the BV bit stream) with ``name.properties`` beside it.

`read_webgraph` reads both. The stream is decoded by the compiled extension where it was built, else in plain Python:
`decode_in_python` is the text to read, and what the compiled decoder is tested against.

P. Boldi and S. Vigna, "The WebGraph framework I: compression techniques", WWW 2004.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.checks.graphs import Graph
from sparseigen.checks.memory import check_fits
from sparseigen.errors import GraphFileError, one_of
from sparseigen.io.formats import OnProgress
from sparseigen.kernels.graph_reference import Flags, Integers

UNARY, GAMMA, DELTA, ZETA = range(4)
NOT_A_NODE = "a successor is not a node of the graph"


class WebGraphFormat(NamedTuple):
    """What the ``.properties`` file says about the stream; the last five are codes (UNARY, GAMMA, DELTA, ZETA)."""

    nodes: int
    arcs: int
    window: int
    shortest_interval: int
    zeta: int
    out_degrees: int
    references: int
    block_counts: int
    blocks: int
    residuals: int


def decode_in_python(
    data: Flags,
    position: int,
    form: WebGraphFormat,
    first: int,
    last: int,
    starts: Integers,
    successors: NDArray[np.int32],
) -> int:
    """Decode the successor lists of nodes ``first`` to ``last - 1`` behind those already there.

    ``starts`` and ``successors`` are filled in place; returns the bit position after the last list. A stream that is
    not what the format says raises ValueError.
    """
    reader = _BitReader(data, position, form.zeta)
    for node in range(first, last):
        begin = int(starts[node])
        degree = reader.read(form.out_degrees)
        _expect(degree <= form.arcs - begin, "there are more arcs than the properties say")
        found = sorted(_read_successors(reader, form, node, degree, starts, successors)) if degree else []
        _expect(not found or (found[0] >= 0 and found[-1] < form.nodes), NOT_A_NODE)
        _expect(len(set(found)) == len(found), "a successor is listed twice")
        successors[begin : begin + degree] = found
        starts[node + 1] = begin + degree
    return reader.position


def _read_successors(
    reader: _BitReader,
    form: WebGraphFormat,
    node: int,
    degree: int,
    starts: Integers,
    successors: NDArray[np.int32],
) -> list[int]:
    back = reader.read(form.references) if form.window > 0 else 0
    _expect(back <= min(form.window, node), "a reference points before the window")
    found: list[int] = []
    if back > 0:
        reference = successors[int(starts[node - back]) : int(starts[node - back + 1])].tolist()
        found = _read_copied(reader, form, reference)
        _expect(len(found) <= degree, "a list is longer than its out-degree")
    if len(found) < degree and form.shortest_interval > 0:
        found += _read_intervals(reader, form, node, degree - len(found))
    if len(found) < degree:
        successor = node + _decode_signed(reader.read(form.residuals))
        _expect(0 <= successor < form.nodes, NOT_A_NODE)
        found.append(successor)
        while len(found) < degree:
            successor += reader.read(form.residuals) + 1
            _expect(successor < form.nodes, NOT_A_NODE)
            found.append(successor)
    return found


def _read_copied(reader: _BitReader, form: WebGraphFormat, reference: list[int]) -> list[int]:
    """The parts of the reference list that are copied: blocks taken and left out in turn."""
    n_blocks = reader.read(form.block_counts)
    found: list[int] = []
    at = 0
    for block in range(n_blocks):
        length = reader.read(form.blocks) + (block > 0)
        _expect(length <= len(reference) - at, "a copied block is longer than its reference list")
        if block % 2 == 0:
            found += reference[at : at + length]
        at += length
    return found + reference[at:] if n_blocks % 2 == 0 else found


def _read_intervals(reader: _BitReader, form: WebGraphFormat, node: int, room: int) -> list[int]:
    """Runs of consecutive successors."""
    found: list[int] = []
    following = 0
    for interval in range(reader.read(GAMMA)):
        gap = reader.read(GAMMA)
        left = node + _decode_signed(gap) if interval == 0 else following + 1 + gap
        length = reader.read(GAMMA) + form.shortest_interval
        _expect(len(found) + length <= room, "a list is longer than its out-degree")
        _expect(0 <= left <= form.nodes - length, NOT_A_NODE)
        found += range(left, left + length)
        following = left + length
    return found


class _BitReader:
    """Reads numbers in instantaneous codes, most significant bit first."""

    def __init__(self, data: Flags, position: int, zeta: int) -> None:
        self.data, self.position, self.zeta = data, position, zeta
        self.n_bits = 8 * len(data)
        self._codes = (self._read_unary, self._read_gamma, self._read_delta, self._read_zeta)

    def read(self, code: int) -> int:
        return self._codes[code]()

    def _read_bits(self, count: int) -> int:
        _expect(self.position + count <= self.n_bits, "the bit stream ends early")
        begin, end = self.position >> 3, (self.position + count + 7) >> 3
        window = int.from_bytes(self.data[begin:end].tobytes(), "big")
        value = window >> (8 * end - self.position - count)
        self.position += count
        return value & ((1 << count) - 1)

    def _read_unary(self) -> int:
        zeros = 0
        while self._read_bits(1) == 0:
            zeros += 1
        return zeros

    def _read_prefixed(self, length: int) -> int:
        _expect(length < 62, "a number in the bit stream is too long")
        return ((1 << length) | self._read_bits(length)) - 1

    def _read_gamma(self) -> int:
        return self._read_prefixed(self._read_unary())

    def _read_delta(self) -> int:
        return self._read_prefixed(self._read_gamma())

    def _read_zeta(self) -> int:
        steps = self._read_unary()
        _expect(steps * self.zeta + self.zeta < 62, "a number in the bit stream is too long")
        left = 1 << (steps * self.zeta)
        first = self._read_bits(steps * self.zeta + self.zeta - 1)
        return first + left - 1 if first < left else (first << 1) + self._read_bits(1) - 1


def _decode_signed(natural: int) -> int:
    return -((natural + 1) >> 1) if natural & 1 else natural >> 1


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def decode_compiled(
    data: Flags,
    position: int,
    form: WebGraphFormat,
    first: int,
    last: int,
    starts: Integers,
    successors: NDArray[np.int32],
) -> int:
    """The same, compiled."""
    from sparseigen.kernels import _compiled

    numbers = np.array(form, dtype=np.int64)
    return int(_compiled.decode_webgraph(data, position, numbers, first, last, starts, successors))


def decode_webgraph(*arguments: Any) -> int:
    """Decode as `decode_in_python` does, compiled where the extension was built."""
    return (decode_in_python if kernels.active.NAME == "numpy" else decode_compiled)(*arguments)


CODES = {"UNARY": UNARY, "GAMMA": GAMMA, "DELTA": DELTA, "ZETA": ZETA}
DEFAULTS = {"OUTDEGREES": GAMMA, "REFERENCES": UNARY, "BLOCK_COUNT": GAMMA, "BLOCKS": GAMMA, "RESIDUALS": ZETA}
"""What is coded how unless ``compressionflags`` says otherwise, in the order of WebGraphFormat."""

MOST_NODES = 2**31 - 1
PARAMETERS = {"windowsize": (7, 0, MOST_NODES), "minintervallength": (4, 0, MOST_NODES), "zetak": (3, 1, 30)}
"""What the stream is coded with -> usual, least and largest value, in the order of WebGraphFormat."""
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
            f"(a bit per node at least, at most {MOST_NODES} nodes). Download both files again."
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
        numbers += [_read_parameter(found, key) for key in PARAMETERS]
    except (KeyError, ValueError) as error:
        message = f"{path}: {error} is missing or not a number in range; nodes and arcs are needed."
        raise GraphFileError(message) from error
    if found.get("version", "0") != "0":
        message = f"{path}: version={found['version']} is not supported. Allowed: '0'."
        raise GraphFileError(message)
    return WebGraphFormat._make([*numbers, *_read_codes(found.get("compressionflags", ""), path).values()])


def _read_parameter(found: dict[str, str], name: str) -> int:
    usual, least, most = PARAMETERS[name]
    value = int(found.get(name, usual))
    if not least <= value <= most:
        message = f"{name}={value}"
        raise ValueError(message)
    return value


def _read_codes(flags: str, path: Path) -> dict[str, int]:
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
