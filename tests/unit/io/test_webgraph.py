"""WebGraph files: properties, flags, and a stream made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import GraphFileError
from sparseigen.io import webgraph

BAD_PROPERTIES = {
    "version": ("nodes=3\narcs=4\nversion=1\n", "version=1 is not supported. Allowed: '0'"),
    "zeta": ("nodes=3\narcs=4\nzetak=0\n", "zetak=0 is missing or not a number in range"),
    "window": ("nodes=3\narcs=4\nwindowsize=-1\n", "windowsize=-1 is missing or not a number in range"),
    "words": ("nodes=three\narcs=4\n", "is missing or not a number in range; nodes and arcs are needed"),
    "nothing": ("nodes=0\narcs=0\n", "the properties say 0 nodes and 0 arcs. Download the file again"),
    "too many": ("nodes=900\narcs=4\n", "say 900 nodes and 4 arcs, which 2 bytes cannot hold"),
    "too many arcs": ("nodes=3\narcs=10\n", "say 3 nodes and 10 arcs, which 2 bytes cannot hold"),
    "damage": ("nodes=9\narcs=9\n", "damaged between nodes 0 and 9: .*. Download the file again"),
}


@pytest.mark.parametrize("case", BAD_PROPERTIES)
def test_bad_properties_of_a_web_graph(case: str, tmp_path: Path) -> None:
    text, message = BAD_PROPERTIES[case]
    (tmp_path / "g.graph").write_bytes(b"\0\0")
    (tmp_path / "g.properties").write_text(text)
    with pytest.raises(GraphFileError, match=message):
        se.read_graph(tmp_path / "g.graph")


def test_flags_of_a_web_graph_that_do_not_matter(tmp_path: Path) -> None:
    """How offsets are coded is of no importance: they are in another file."""
    (tmp_path / "g.graph").write_bytes(b"\xe0")  # three nodes without successors
    (tmp_path / "g.properties").write_text("nodes=3\narcs=0\ncompressionflags=OFFSETS_DELTA | RESIDUALS_ZETA\n")
    seen: list[tuple[int, int]] = []
    graph = se.read_graph(tmp_path / "g.graph", on_progress=lambda done, total: seen.append((done, total)))
    assert (graph.n_vertices, graph.matrix.nnz, seen) == (3, 0, [(3, 3)])


def write_bits(bits):
    return np.packbits(np.array([int(bit) for bit in bits], dtype=np.uint8)).tobytes()


def gamma(number):
    text = bin(number + 1)[2:]
    return "0" * (len(text) - 1) + text


def test_hand_made_webgraph(tmp_path):
    # Node 0: successors 1, 2, by residuals (gamma): first 0 + 1, then a gap of 0. Node 1: copies node 0's list whole.
    stream = gamma(2) + "1" + gamma(0) + gamma(2) + gamma(0)
    stream += gamma(2) + "01" + gamma(0)
    stream += gamma(0)
    (tmp_path / "g.graph").write_bytes(write_bits(stream))
    properties = "nodes=3\narcs=4\nwindowsize=7\nminintervallength=4\ncompressionflags=RESIDUALS_GAMMA\n"
    (tmp_path / "g.properties").write_text(properties)
    graph = se.read_graph(tmp_path / "g.graph")
    assert graph.matrix.toarray().tolist() == [[0, 1, 1], [0, 1, 1], [0, 0, 0]]
    (tmp_path / "g.properties").write_text(properties.replace("arcs=4", "arcs=5"))
    with pytest.raises(GraphFileError, match="4 arcs were found"):
        se.read_graph(tmp_path / "g.graph")
    (tmp_path / "g.properties").write_text(properties.replace("GAMMA", "GOLOMB"))
    with pytest.raises(GraphFileError, match="GOLOMB"):
        se.read_graph(tmp_path / "g.graph")
    (tmp_path / "g.properties").write_text("arcs=4\n")
    with pytest.raises(GraphFileError, match="nodes"):
        se.read_graph(tmp_path / "g.graph")


def test_damaged_webgraph_is_refused_by_both():
    form = webgraph.WebGraphFormat(4, 6, 7, 4, 3, 1, 0, 1, 1, 3)
    for decode in (webgraph.decode_in_python, webgraph.decode_compiled):
        for data in (np.zeros(3, dtype=np.uint8), np.full(1, 0xFF, dtype=np.uint8), np.full(9, 0x2A, dtype=np.uint8)):
            starts, successors = np.zeros(5, dtype=np.int64), np.zeros(6, dtype=np.int32)
            if data[0] == 0xFF:  # eight nodes without successors: nothing wrong with the stream itself
                assert decode(data, 0, form, 0, 4, starts, successors) == 4
                continue
            with pytest.raises(ValueError, match=r"stream|arcs|reference|list|node"):
                decode(data, 0, form, 0, 4, starts, successors)
