"""The WebGraph (BV) bit stream, decoded in plain Python: the truth the compiled decoder is tested against.

P. Boldi and S. Vigna, "The WebGraph framework I: compression techniques", WWW 2004.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparseigen.kernels.graph_rows import Flags, Integers

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


def decode_webgraph(
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
        found = sorted(_successors(reader, form, node, degree, starts, successors)) if degree else []
        _expect(not found or (found[0] >= 0 and found[-1] < form.nodes), NOT_A_NODE)
        _expect(len(set(found)) == len(found), "a successor is listed twice")
        successors[begin : begin + degree] = found
        starts[node + 1] = begin + degree
    return reader.position


def _successors(
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
        found = _copied(reader, form, reference)
        _expect(len(found) <= degree, "a list is longer than its out-degree")
    if len(found) < degree and form.shortest_interval > 0:
        found += _intervals(reader, form, node, degree - len(found))
    if len(found) < degree:
        successor = node + _signed(reader.read(form.residuals))
        _expect(0 <= successor < form.nodes, NOT_A_NODE)
        found.append(successor)
        while len(found) < degree:
            successor += reader.read(form.residuals) + 1
            _expect(successor < form.nodes, NOT_A_NODE)
            found.append(successor)
    return found


def _copied(reader: _BitReader, form: WebGraphFormat, reference: list[int]) -> list[int]:
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


def _intervals(reader: _BitReader, form: WebGraphFormat, node: int, room: int) -> list[int]:
    """Runs of consecutive successors."""
    found: list[int] = []
    following = 0
    for interval in range(reader.read(GAMMA)):
        gap = reader.read(GAMMA)
        left = node + _signed(gap) if interval == 0 else following + 1 + gap
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
        self._codes = (self._unary, self._gamma, self._delta, self._zeta)

    def read(self, code: int) -> int:
        return self._codes[code]()

    def _bits(self, count: int) -> int:
        _expect(self.position + count <= self.n_bits, "the bit stream ends early")
        begin, end = self.position >> 3, (self.position + count + 7) >> 3
        window = int.from_bytes(self.data[begin:end].tobytes(), "big")
        value = window >> (8 * end - self.position - count)
        self.position += count
        return value & ((1 << count) - 1)

    def _unary(self) -> int:
        zeros = 0
        while self._bits(1) == 0:
            zeros += 1
        return zeros

    def _prefixed(self, length: int) -> int:
        _expect(length < 62, "a number in the bit stream is too long")
        return ((1 << length) | self._bits(length)) - 1

    def _gamma(self) -> int:
        return self._prefixed(self._unary())

    def _delta(self) -> int:
        return self._prefixed(self._gamma())

    def _zeta(self) -> int:
        steps = self._unary()
        _expect(steps * self.zeta + self.zeta < 62, "a number in the bit stream is too long")
        left = 1 << (steps * self.zeta)
        first = self._bits(steps * self.zeta + self.zeta - 1)
        return first + left - 1 if first < left else (first << 1) + self._bits(1) - 1


def _signed(natural: int) -> int:
    return -((natural + 1) >> 1) if natural & 1 else natural >> 1


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
