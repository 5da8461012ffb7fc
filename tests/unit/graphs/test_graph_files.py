"""Every file format gives back the graph that was written."""

from __future__ import annotations

import gzip
import tracemalloc

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import GraphFileError


@pytest.fixture
def matrix(rng):
    values = (rng.random((30, 30)) < 0.2) * rng.integers(1, 9, (30, 30))
    values[29, 0] = values[0, 29] = 1  # the largest number occurs and some pair goes both ways
    np.fill_diagonal(values, 0)
    return sp.csr_array(values)


def write_text(path, matrix, comment="# Directed graph: a test\n# FromNodeId\tToNodeId\n", opener=open):
    coo = matrix.tocoo()
    with opener(path, "wt") as file:
        file.write(comment)
        file.writelines(f"{i}\t{j}\t{w}\n" for i, j, w in zip(*coo.coords, coo.data, strict=True))


def frame(matrix):
    pandas = pytest.importorskip("pandas")
    coo = matrix.tocoo()
    return pandas.DataFrame({"source": coo.coords[0], "target": coo.coords[1], "weight": coo.data})


WRITERS = {
    "g.txt": write_text,
    "g.txt.gz": lambda path, matrix: write_text(path, matrix, opener=gzip.open),
    "g.csv": lambda path, matrix: path.write_text(
        "\n".join(f"{i},{j},{w}" for i, j, w in zip(*matrix.tocoo().coords, matrix.data, strict=True))
    ),
    "g.mtx": lambda path, matrix: scipy.io.mmwrite(path, matrix.tocoo()),
    "g.npz": lambda path, matrix: sp.save_npz(path, matrix),
    "edges.npz": lambda path, matrix: np.savez(
        path, src=matrix.tocoo().coords[0], dst=matrix.tocoo().coords[1], weight=matrix.data, num_nodes=30
    ),
    "g.parquet": lambda path, matrix: frame(matrix).to_parquet(path),
    "g.feather": lambda path, matrix: frame(matrix).to_feather(path),
    "g.graphml": lambda path, matrix: nx.write_graphml(
        nx.from_scipy_sparse_array(matrix, create_using=nx.DiGraph), path
    ),
}


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_round_trip(name, matrix, tmp_path):
    WRITERS[name](tmp_path / name, matrix)
    graph = se.read_graph(tmp_path / name)
    order = np.argsort([int(label) for label in (graph.labels or range(30))])
    assert np.array_equal(graph.matrix.toarray()[np.ix_(order, order)], matrix.toarray())
    wanted = se.densest_k_subgraph(matrix, 6)
    found = se.densest_k_subgraph(str(tmp_path / name), 6)
    assert found.density == wanted.density


def test_snap_comments_say_the_direction(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("# Undirected graph: x\n0 1\n1 0\n1 2\n")
    assert se.read_graph(path).directed is False
    assert se.densest_k_subgraph(path, 3).weight == 4.0
    path.write_text("# Directed graph: x\n0 1\n1 2\n")
    assert se.read_graph(path).directed is True
    assert se.densest_k_subgraph(path, 3).weight == 2.0


def test_progress_is_reported_and_memory_is_bounded(tmp_path, monkeypatch, rng):
    from sparseigen.io import text

    monkeypatch.setattr(text, "BLOCK", 1 << 18)
    path = tmp_path / "big.txt"
    edges = rng.integers(0, 20_000, (200_000, 2))
    np.savetxt(path, edges, fmt="%d")
    seen = []
    tracemalloc.start()
    graph = se.read_graph(path, on_progress=lambda done, total: seen.append((done, total)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(seen) > 3
    assert seen[-1][0] == seen[-1][1] == path.stat().st_size
    csr = graph.matrix.nnz * 12 + graph.n_vertices * 4  # int32 columns, float64 weights
    assert peak < 2 * csr + (4 << 20), f"{peak} bytes for a matrix of {csr}"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.doc", "", "format '.doc' is not known"),
        ("g.txt", "a b\n", "the only line is 'a b'"),
        ("g.txt", "1 2\na b\n", "whole numbers"),
        ("g.txt", "1 2 3 4\n", "columns"),
        ("g.txt", "# nothing\n", "no columns"),
        ("g.txt", "1.5 2\n", "not a vertex number"),
        ("g.mtx", "hello\n", "Matrix Market"),
        ("g.graph", "", "properties"),
        ("g.txt.gz", "not compressed", "damaged"),
    ],
)
def test_wrong_files_are_refused(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(GraphFileError, match=message):
        se.read_graph(tmp_path / name)


def test_missing_file_and_no_path(tmp_path):
    with pytest.raises(GraphFileError, match="does not exist"):
        se.read_graph(tmp_path / "none.txt")
    with pytest.raises(GraphFileError, match="must be a path"):
        se.read_graph(5)


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
