"""Every file format gives back the graph that was written."""

from __future__ import annotations

import gzip
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.errors import GraphFileError


def test_a_graph_that_names_a_file_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "x.graphml").write_text(
        f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
        '<graphml><graph edgedefault="directed"><node id="&x;"/><node id="b"/></graph></graphml>'
    )
    try:
        labels = list(se.read_graph(tmp_path / "x.graphml").labels)
    except errors.SparseigenError as error:
        labels = [str(error)]
    assert not any("secret" in str(label).replace(str(tmp_path), "") for label in labels)


BAD_ARCHIVES = {
    "other arrays": ({"x": np.ones(3)}, r"holds \['x'\]; needed: src and dst, or a matrix saved by scipy"),
    "floats": ({"src": np.ones(2), "dst": np.ones(2)}, "src, dst and num_nodes must be whole numbers"),
    "two sizes": (
        {"src": np.array([0]), "dst": np.array([1]), "num_nodes": np.array([2, 3])},
        "num_nodes a single one",
    ),
    "lengths": ({"src": np.array([0, 1]), "dst": np.array([1])}, r"have the shapes \(2,\), \(1,\), \(2,\). They must"),
    "nothing": ({"src": np.zeros(0, int), "dst": np.zeros(0, int)}, "equally long and not empty"),
    "negative": ({"src": np.array([-1]), "dst": np.array([1])}, r"must lie in 0\.\.num_nodes-1"),
    "outside": (
        {"src": np.array([0]), "dst": np.array([5]), "num_nodes": np.array(5)},
        r"must lie in 0\.\.num_nodes-1 \(num_nodes=5",
    ),
}


@pytest.mark.parametrize("case", BAD_ARCHIVES)
def test_bad_archives(case: str, tmp_path: Path) -> None:
    arrays, message = BAD_ARCHIVES[case]
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(GraphFileError, match=f"g.npz.*{message}"):
        se.read_graph(tmp_path / "g.npz")


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
