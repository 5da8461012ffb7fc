"""Every file format gives back the graph that was written."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.errors import GraphFileError
from sparseigen.io import graph_files, text


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


# ---- edge lists ----


def arcs(path: Path, **options: object) -> dict[tuple[object, object], float]:
    graph = se.read_graph(path, **options)
    entries = graph.matrix.tocoo()
    labels = graph.labels or range(graph.n_vertices)
    ends = zip(*entries.coords, entries.data.tolist(), strict=True)
    return {(labels[i], labels[j]): float(weight) for i, j, weight in ends}


WEIGHTED = {(0, 1): 5.0, (1, 2): 6.0}


@pytest.mark.parametrize(
    "text",
    [
        "source,target,gate,weight\n0,1,Gate 4,5\n1,2,Gate 3,6\n",
        "source,target,a,weight,b\n0,1,,5,70\n1,2,3,6,70\n",
        'source,target,a,weight\n0,1,"x,y",5\n1,2,"7,8",6\n',
        "source\ttarget\tgate\tweight\n0\t1\tGate 4\t5\n1\t2\t\t6\n",
        "source;target;gate;weight\n0;1;#1;5\n1;2;Gate 3, 9;6\n",
        "weight,target,source\n5, 1, 0\n6, 2, 1\n",
        "# directed graph\nsource target weight\n0 1 5\n1 2 6\n",
    ],
    ids=["number in text", "empty cell", "quotes", "tabs", "semicolons", "order", "spaces"],
)
def test_weights_come_from_their_own_column(text: str, tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text(text)
    assert arcs(tmp_path / "g.csv") == WEIGHTED
    (tmp_path / "g.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert arcs(tmp_path / "g.csv.gz", weight="weight") == WEIGHTED


def test_the_weight_is_the_column_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("source,target,flights,seats\n0,1,5,100\n1,2,6,200\n")
    assert arcs(path, weight="flights") == WEIGHTED
    assert arcs(path, weight="seats") == {(0, 1): 100.0, (1, 2): 200.0}
    path.write_text("source,target,flights,seats\nOslo,Bergen,5,100\nBergen,Bodo,6,200\n")
    assert arcs(path, weight="flights") == {("Oslo", "Bergen"): 5.0, ("Bergen", "Bodo"): 6.0}


REFUSED = {
    "which weight": ("source,target,a,b\n0,1,2,3\n", {}, "'a', 'b': which of them is the weight"),
    "which weight, without names": ("x y 1 2\ny z 1 2\n", {}, "has 4 columns: which of them is the weight"),
    "no such weight": (
        "source,target,a\n0,1,2\n",
        {"weight": "b"},
        "weight='b' is not a column of .*g.csv; it has the",
    ),
    "no header": ("u,v,1\nv,w,2\n", {"weight": "b"}, "weight='b' is not a column of .*; it has no header"),
    "header of another length": ("source,target\n0,1,2\n", {}, "the header has 2 cells, the line after it 3"),
    "one column": ("a\nb\n", {}, "lines have 1 column; an edge list has 2"),
    "header only": ("source,target\n", {}, "the only line is 'source,target'; an edge list needs edges"),
    "short line": ("u,v,1\nv,w,2\nw\n", {}, "line 3: 1 cells where an edge has 3"),
    "short line of numbers": ("source,target,weight\n0,1,2\n1\n", {}, "g.csv"),
    "gap in a vertex": ("source,target,weight\n0,1,2\n,1,2\n", {}, "g.csv.*Vertices must be whole numbers"),
    "weight in words": ("u,v,1\nv,w,many\n", {}, "line 2: the weight 'many' is not a number"),
    "widths": ("0 1\n1 2 3\n", {}, "g.csv"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path) -> None:
    text, options, message = REFUSED[case]
    (tmp_path / "g.csv").write_text(text)
    with pytest.raises(GraphFileError, match=message):
        se.read_graph(tmp_path / "g.csv", **options)


def test_lines_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_files, "LONGEST_LINE", 50)
    monkeypatch.setattr(text, "BLOCK", 60)
    monkeypatch.setattr(graph_files, "LONGEST_NAMED", 50)
    (tmp_path / "g.txt").write_text("0 1\n" + "1" * 200)
    with pytest.raises(GraphFileError, match=r"g.txt has a line of more than 50 characters; a row, an edge or"):
        se.read_graph(tmp_path / "g.txt")
    (tmp_path / "g.txt").write_text("u v\nv w\n" + "x" * 200)
    with pytest.raises(GraphFileError, match=r"a line of more than 50 characters \(line 3\); a row, an edge"):
        se.read_graph(tmp_path / "g.txt")


def test_compressed_files_that_end_early(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = gzip.compress("".join(f"{a} {b}\n" for a, b in rng.integers(0, 10**6, (5000, 2))).encode())
    for kept in (40, len(whole) // 2, len(whole) - 6):
        (tmp_path / "g.txt.gz").write_bytes(whole[:kept])
        with pytest.raises(GraphFileError, match=r"g\.txt\.gz.*The file is damaged; download it again"):
            se.read_graph(tmp_path / "g.txt.gz")


def test_comments_between_names(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("% a graph of names\n\nu v\n# more\n\nv w\n")
    assert arcs(tmp_path / "g.txt") == {("u", "v"): 1.0, ("v", "w"): 1.0}


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


@pytest.mark.parametrize("labelled", [True, False])
def test_gml(labelled: bool, tmp_path: Path) -> None:
    nx.write_gml(nx.les_miserables_graph(), tmp_path / "mis.gml")
    if not labelled:
        lines = (tmp_path / "mis.gml").read_text().splitlines()
        (tmp_path / "mis.gml").write_text("\n".join(line for line in lines if "label" not in line) + "\n")
    graph = graph_files.read_file(tmp_path / "mis.gml")
    assert (graph.n_vertices, graph.matrix.nnz) == (77, 508)
    assert isinstance(graph.label(0), str if labelled else int)
    assert float(graph.matrix.max()) == 31.0
