"""What is attacked: every reader of the package with its whole files, its ways of damage, and what a right read is."""

from __future__ import annotations

import contextlib
import gzip
import importlib.metadata
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fuzzing import reader_mutations as damage
from fuzzing import reader_seeds as seeds
from fuzzing.reader_seeds import Files
from sparseigen.errors import SparseigenError


@dataclass(frozen=True)
class Target:
    """One reader and one format."""

    whole: Callable[[], Files]
    read: Callable[[Path], Any]
    ways: tuple[Callable[[bytes, Any], bytes], ...]
    """Ways to damage a file of this format, one chosen for each case."""
    right: Callable[[Path, Any], bool] | None = None
    """Whether what was read is what another reader finds in the file."""
    hostile: Callable[[], dict[str, Files]] = dict
    """Files made by hand: name -> files."""
    every: int = 1
    """Of so many rounds this reader takes part in one: HDF5 files are looked over by another process first."""


def _table(path: Path) -> Any:
    from sparseigen.io.tables import read_table

    table = read_table(path)
    values = table.values
    assert len(values.shape) in (0, 1, 2, 3)
    if sp.issparse(values):
        type(values)((values.data, values.indices, values.indptr), shape=values.shape).check_format(full_check=True)
    assert table.names is None or len(table.names) == values.shape[1]
    _used_as_data(table)
    return table


def _used_as_data(table: Any) -> None:
    """What was read goes through the kernels: an index that was not checked would show there."""
    import sparseigen as se

    if len(table.values.shape) == 2 and table.values.shape[1] > 5000:
        return
    try:
        operator = se.covariance(table)
        se.sparse_eigenvector(operator, 1, certify=False, polish=None, start="max-variance", max_iterations=3)
    except SparseigenError:
        pass


def _rows(path: Path) -> Any:
    from sparseigen.rows.files import open_rows

    source = open_rows(path, None)
    total = 0
    for block in source.blocks(5, 0, lambda count: np.empty((count, source.shape[1]), dtype=source.dtype)):
        assert block.shape[1] == source.shape[1]
        total += block.shape[0]
        if total > 10_000:
            break
    return source


def _graph(path: Path) -> Any:
    import sparseigen as se

    graph = se.read_graph(path)
    matrix = graph.matrix
    sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape).check_format(full_check=True)
    if graph.n_vertices <= 100_000:
        with contextlib.suppress(SparseigenError):
            se.densest_k_subgraph(graph, min(3, graph.n_vertices), certify=False, polish=None, start="degree")
    return graph


def _convert(path: Path) -> Any:
    from sparseigen.rows.convert import convert

    target = path.with_name("converted.npy")
    try:
        shape = convert(path, target, overwrite=True)
        assert np.load(target, mmap_mode="r").shape == shape
    finally:
        left = [entry.name for entry in path.parent.iterdir() if entry.name.endswith(".partial")]
        assert not left, left
    return shape


def _places(path: Path) -> Any:
    from sparseigen.cli.loading import read_places

    return read_places(path)


def _cells(path: Path) -> Any:
    from sparseigen.io.text import read_cells

    _header, rows = read_cells(path)
    assert len({len(row) for row in rows}) == 1
    return rows


def _checkpoint(path: Path) -> Any:
    from sparseigen.operators.checkpoint import PassLog

    log = PassLog(path, seeds.IDENTITY)
    return [log.find_or_compute(f"key{i}", lambda *_: [np.zeros(1)]) for i in range(3)]


def _partition(path: Path) -> Any:
    from sparseigen.rows.partitions import Partition, load_partition

    return load_partition(0, Partition(path.name, path=str(path)), None)


# ---- what another reader finds ----


def _same(found: Any, expected: Any) -> bool:
    found = np.asarray(found.toarray() if sp.issparse(found) else found)
    return (
        found.shape == expected.shape and found.tobytes() == np.ascontiguousarray(expected, dtype=found.dtype).tobytes()
    )


def _as_npy(path: Path, table: Any) -> bool:
    return _same(table.values, np.load(path, allow_pickle=False))


def _as_npz(path: Path, table: Any) -> bool:
    with np.load(path, allow_pickle=False) as arrays:
        found = [arrays[name] for name in arrays.files if arrays[name].ndim == 2]
    return any(_same(table.values, array) for array in found)


def _as_sparse(path: Path, table: Any) -> bool:
    matrix = sp.load_npz(path)
    if max(matrix.shape) > 10_000:
        return table.values.shape == matrix.shape
    expected = matrix.toarray()
    return table.values.shape == expected.shape and np.allclose(table.values.toarray(), expected, equal_nan=True)


def _as_hdf5(path: Path, table: Any) -> bool:
    import h5py

    with h5py.File(path, "r") as file:
        return _same(table.values, file["X"][()])


def _as_text(path: Path, table: Any) -> bool:
    """Python's own csv reader and float(), cell by cell; only for tables that no option was needed for."""
    import csv

    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode("utf-8-sig")
    mark = "\t" if ".tsv" in path.name else max((",", "\t", ";"), key=text.splitlines(keepends=True)[0].count)
    rows = [
        row
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        if row and (len(row) > 1 or row[0].strip())
    ]
    rows = rows[-table.values.shape[0] :]
    cells = [row[-table.values.shape[1] :] for row in rows] if table.row_labels is not None else rows
    found = np.array([[_number(cell) for cell in row] for row in cells])
    return np.array_equal(found, table.values, equal_nan=True)


def _number(cell: str) -> float:
    return float("nan") if cell.strip().lower() in ("", "na", "n/a", "nan", "null", "none", ".") else float(cell)


# ---- files made by hand ----


def _sparse_lies() -> dict[str, Files]:
    good = {"data": np.ones(4), "indices": np.array([0, 1, 2, 0]), "indptr": np.array([0, 2, 3, 4]),
            "shape": np.array([3, 3]), "format": np.array(b"csr")}  # fmt: skip
    changes: dict[str, dict[str, Any]] = {
        "decreasing": {"indptr": np.array([0, 3, 2, 4])},
        "negative": {"indices": np.array([0, -1, 2, 0])},
        "outside": {"indices": np.array([0, 1, 10**9, 0])},
        "far": {"indices": np.array([0, 1, 2**40, 0])},
        "unsigned": {"indices": np.array([0, 1, 2**63 + 5, 0], dtype=np.uint64)},
        "long": {"indptr": np.array([0, 2, 3, 4000])},
        "short": {"indptr": np.array([0, 2])},
        "begins late": {"indptr": np.array([2, 2, 3, 4])},
        "negative start": {"indptr": np.array([-5, 2, 3, 4])},
        "many columns": {"shape": np.array([3, 2 * 10**12])},
        "many rows": {"shape": np.array([10**12, 3])},
        "no rows": {"shape": np.array([0, 3]), "indptr": np.array([0])},
        "float indices": {"indices": np.array([0.0, 1.0, 2.0, 0.0])},
        "two-dimensional": {"data": np.ones((2, 2))},
        "csc": {"format": np.array(b"csc"), "indices": np.array([0, 1, 200, 0])},
        "coo": {"format": np.array(b"coo"), "row": np.array([0, 1, 2, 99]), "col": np.array([0, 1, 2, -1])},
        "dia": {"format": np.array(b"dia"), "offsets": np.array([2**40]), "data": np.ones((1, 3))},
        "bsr": {"format": np.array(b"bsr"), "data": np.ones((4, 1, 1)), "indices": np.array([0, 1, 70000, 0])},
        "unknown": {"format": np.array(b"abc")},
        "long format": {"format": np.array([b"csr", b"csr"])},
        "three sides": {"shape": np.array([3, 3, 3])},
    }
    return {name: {"x.npz": seeds.npz(**(good | change))} for name, change in changes.items()}


def _archives() -> dict[str, Files]:
    header = damage.zipped({"X.npy": seeds.npy(np.zeros((2, 2)))})
    bomb = io.BytesIO()
    with (
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as file,
    ):
        file.write(seeds.npy(np.zeros((1, 2)))[:-16].replace(b"(1, 2)", b"(400000, 100)"[:6].ljust(6)))
        for _ in range(320):
            file.write(b"\x00" * (1 << 20))
    many = {f"a{i}.npy": seeds.npy(np.zeros((2, 2))) for i in range(300)}
    return {
        "bomb": {"x.npz": bomb.getvalue()},
        "many tables": {"x.npz": damage.zipped(many)},
        "no npy": {"x.npz": damage.zipped({"x.txt": b"hello"})},
        "empty archive": {"x.npz": damage.zipped({})},
        "outside names": {"x.npz": damage.zipped({"../../x.npy": seeds.npy(np.ones((2, 2)))})},
        "pickle": {"x.npz": damage.zipped({"X.npy": pickle.dumps(print)})},
        "encrypted": {"x.npz": header.replace(b"PK\x01\x02\x14\x00\x14\x00\x00", b"PK\x01\x02\x14\x00\x14\x00\x01")},
    }


def _markets() -> dict[str, Files]:
    kind = "%%MatrixMarket matrix {} {} {}\n"
    cases = {
        "rows": kind.format("coordinate", "real", "general") + "1000000000000 3 1\n1 1 1.0\n",
        "columns": kind.format("coordinate", "real", "general") + "3 1000000000000 1\n1 1 1.0\n",
        "negative": kind.format("coordinate", "real", "general") + "-3 3 1\n1 1 1.0\n",
        "negative entries": kind.format("coordinate", "real", "general") + "3 3 -1\n1 1 1.0\n",
        "outside": kind.format("coordinate", "real", "general") + "3 3 1\n4 1 1.0\n",
        "zero": kind.format("coordinate", "real", "general") + "3 3 1\n0 1 1.0\n",
        "array": kind.format("array", "real", "general") + "1000000 1000000\n1.0\n",
        "overflow": kind.format("array", "real", "general") + "4294967296 4294967296\n1.0\n",
        "complex": kind.format("coordinate", "complex", "general") + "3 3 1\n1 1 1.0 2.0\n",
        "skew": kind.format("coordinate", "real", "skew-symmetric") + "3 3 1\n2 1 1.0\n",
        "pattern": kind.format("coordinate", "pattern", "symmetric") + "3 3 2\n2 1\n3 3\n",
        "hermitian": kind.format("coordinate", "complex", "hermitian") + "3 3 1\n2 1 1.0 1.0\n",
        "integer": kind.format("coordinate", "integer", "general") + "3 3 1\n1 1 99999999999999999999999\n",
        "beyond exact": kind.format("coordinate", "integer", "general") + "3 3 1\n1 1 9007199254740993\n",
        "vector": "%%MatrixMarket vector coordinate real general\n3 1\n1 1.0\n",
    }
    return {name: {"x.mtx": text.encode()} for name, text in cases.items()}


def _texts() -> dict[str, Files]:
    cases = {
        "columns": b",".join([b"1"] * 100_000) + b"\n" + b",".join([b"2"] * 100_000) + b"\n",
        "one line": b"1" * (2 << 20),
        "one long cell": b'a,b\n1,"' + b"x" * (2 << 20) + b'"\n',
        "deep quotes": b'"' * 100_001,
        "formulas": b"=1+1,+x,-y,@z\n1,2,3,4\n2,3,4,6\n",
        "nul": b"a,b\n1,2\x00\n\x003,4\n",
        "gaps": b"a,b\nnan,inf\n-inf,1e999\n",
        "bidi": "a\u202eb,c\u2066d\n1,2\n3,5\n".encode(),
        "lone surrogate": b"a,\xed\xa0\x80\n1,2\n3,4\n",
        "underscores": b"a,b\n1_0,2\n3,4\n",
        "mixed ends": b"a,b\r\n1,2\r3,4\n5,6\r\n",
        "utf-16": "a,b\n1,2\n3,4\n".encode("utf-16"),
    }
    return {name: {"x.csv": content} for name, content in cases.items()}


def _packed_texts() -> dict[str, Files]:
    line = gzip.compress(b"1" * (64 << 20), 1, mtime=0)
    commas = gzip.compress(b"," * (64 << 20), 1, mtime=0)
    return {
        "long line": {"x.csv.gz": line},
        "many cells": {"x.csv.gz": commas},
        "twice": {"x.csv.gz": seeds.packed(line)},
    }


def _edge_archives() -> dict[str, Files]:
    good = {"src": np.array([0, 1, 2]), "dst": np.array([1, 2, 0])}
    changes: dict[str, dict[str, Any]] = {
        "wraps": {"src": np.array([0, 1, 2**32 + 1])},
        "negative": {"src": np.array([0, -1, 2])},
        "floats": {"dst": np.array([0.5, 1.0, np.nan])},
        "unequal": {"dst": np.array([0, 1])},
        "few nodes": {"num_nodes": np.array(2)},
        "negative nodes": {"num_nodes": np.array(-2)},
        "many nodes": {"num_nodes": np.array(10**12)},
        "node list": {"num_nodes": np.array([3, 3])},
        "empty": {"src": np.zeros(0, dtype=int), "dst": np.zeros(0, dtype=int)},
        "matrix": {"src": np.zeros((2, 2), dtype=int), "dst": np.zeros((2, 2), dtype=int)},
        "weights": {"weight": np.array([1.0, -1.0, np.nan])},
        "text weights": {"weight": np.array(["a", "b", "c"])},
        "large weights": {
            "weight": np.array([2**62, 2**62, 2**62]),
            "src": np.array([0, 0, 0]),
            "dst": np.array([1, 1, 1]),
        },
    }
    return {name: {"x.npz": seeds.npz(**(good | change))} for name, change in changes.items()}


def _webgraphs() -> dict[str, Files]:
    good = seeds.webgraph()
    cases: dict[str, Files] = {}
    for key in ("nodes", "arcs", "windowsize", "minintervallength", "zetak", "version"):
        for value in (-1, 0, 1, 10**9, 2**31, 2**63, 10**30, "x", ""):
            lines = [line for line in good["g.properties"].decode().splitlines() if not line.startswith(key)]
            text = "\n".join([*lines, f"{key}={value}"])
            cases[f"{key}={value}"] = {"g.graph": good["g.graph"], "g.properties": text.encode()}
    for flags in ("RESIDUALS_GAMMA", "OUTDEGREES_DELTA|REFERENCES_GAMMA", "BLOCKS_UNARY | BLOCK_COUNT_ZETA", "X_Y"):
        cases[flags] = good | {"g.properties": good["g.properties"] + f"compressionflags={flags}\n".encode()}
    cases["ones"] = good | {"g.graph": b"\xff" * 50}
    cases["zeros"] = good | {"g.graph": b"\x00" * 50}
    cases["alone"] = {"g.graph": good["g.graph"]}
    return cases


def _graph_markup() -> dict[str, Files]:
    laughs = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(12))
    head = (
        '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY l0 "ha">{}]><graphml><graph edgedefault="directed"><node id="{}"/>'
    )
    end = "</graph></graphml>"
    cases = {
        "laughs": head.format(laughs, "&l12;") + end,
        "outside": head.format('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;") + end,
        "deep": "<graphml>" + "<graph>" * 20_000,
        "no graph": "<graphml></graphml>",
        "hyperedge": '<graphml><graph edgedefault="directed"><hyperedge/></graph></graphml>',
        "weights": '<graphml><key id="w" for="edge" attr.name="weight" attr.type="double"/>'
        '<graph edgedefault="directed"><edge source="a" target="b"><data key="w">x</data></edge></graph></graphml>',
    }
    return {name: {"x.graphml": text.encode()} for name, text in cases.items()}


def _zarr_pickles() -> dict[str, Files]:
    import numcodecs  # noqa: F401 - what would unpickle

    facts = {"zarr_format": 2, "shape": [4, 2], "chunks": [4, 2], "dtype": "<f8", "compressor": None,
             "fill_value": 0.0, "order": "C", "filters": [{"id": "pickle", "protocol": 5}]}  # fmt: skip
    trap = pickle.dumps(np.ones((4, 2)))
    return {
        "filter": {"x.zarr/.zarray": json.dumps(facts).encode(), "x.zarr/0.0": trap},
        "objects": {"x.zarr/.zarray": json.dumps(facts | {"dtype": "|O"}).encode(), "x.zarr/0.0": trap},
    }


def _resigned(data: bytes, rng: Any) -> bytes:
    """A checkpoint's index damaged, and its checksum made good."""
    if rng.random() < 0.3 or data[64:66] != b"\n{":
        return damage.damaged_bytes(data, rng)
    text = data.partition(b"\n")[2].rstrip(b"\n")
    return damage.with_digest(damage.damaged_json(text, rng) if rng.random() < 0.7 else damage.damaged_text(text, rng))


def _json_or_bytes(data: bytes, rng: Any) -> bytes:
    return (
        damage.damaged_json(data, rng) if data[:1] == b"{" and rng.random() < 0.7 else damage.damaged_bytes(data, rng)
    )


def _one(name: str, content: Callable[[], bytes]) -> Callable[[], Files]:
    return lambda: {name: content()}


TEXT, RAW = (damage.damaged_text,), (damage.damaged_bytes,)
NPY = (damage.damaged_bytes, damage.damaged_npy, damage.damaged_npy)
ZIP, GZIP = (damage.damaged_zip,), (damage.damaged_gzip,)

TARGETS: dict[str, Target] = {
    "table csv": Target(_one("x.csv", seeds.table_text), _table, TEXT, _as_text, _texts),
    "table csv without names": Target(
        _one("x.csv", lambda: seeds.table_text(";", labelled=False)), _table, TEXT, _as_text
    ),
    "table tsv": Target(_one("x.tsv", lambda: seeds.table_text("\t")), _table, TEXT, _as_text),
    "table csv.gz": Target(
        _one("x.csv.gz", lambda: seeds.packed(seeds.table_text())), _table, GZIP, None, _packed_texts
    ),
    "table npy": Target(_one("x.npy", lambda: seeds.npy(seeds.numbers())), _table, NPY, _as_npy),
    "table npz": Target(
        _one("x.npz", lambda: seeds.npz(X=seeds.numbers(), names=list("abcde"))), _table, ZIP, None, _archives
    ),
    "table one npz": Target(_one("x.npz", lambda: seeds.npz(X=seeds.numbers())), _table, ZIP, _as_npz),
    "table sparse npz": Target(_one("x.npz", lambda: seeds.sparse_npz("csr")), _table, ZIP, _as_sparse, _sparse_lies),
    "table csc npz": Target(_one("x.npz", lambda: seeds.sparse_npz("csc")), _table, ZIP, _as_sparse),
    "table coo npz": Target(_one("x.npz", lambda: seeds.sparse_npz("coo")), _table, ZIP, _as_sparse),
    "table dia npz": Target(_one("x.npz", lambda: seeds.sparse_npz("dia")), _table, ZIP, _as_sparse),
    "table mtx": Target(
        _one("x.mtx", lambda: seeds.matrix_market(sp.coo_array(seeds.numbers()))), _table, TEXT, None, _markets
    ),
    "table dense mtx": Target(_one("x.mtx", lambda: seeds.matrix_market(seeds.numbers())), _table, TEXT),
    "table parquet": Target(_one("x.parquet", lambda: seeds.parquet(seeds.arrow_table())), _table, RAW),
    "table h5ad dense": Target(_one("x.h5ad", lambda: seeds.hdf5("dense")), _table, RAW, _as_hdf5, every=5),
    "table h5ad csr": Target(_one("x.h5ad", lambda: seeds.hdf5("csr")), _table, RAW, every=5),
    "table h5ad csc": Target(_one("x.h5ad", lambda: seeds.hdf5("csc")), _table, RAW, every=5),
    "rows npy": Target(_one("x.npy", lambda: seeds.npy(seeds.numbers())), _rows, NPY),
    "rows h5": Target(_one("x.h5", lambda: seeds.hdf5("dense")), _rows, RAW, every=5),
    "rows h5ad csr": Target(_one("x.h5ad", lambda: seeds.hdf5("csr")), _rows, RAW, every=5),
    "rows zarr 2": Target(lambda: seeds.zarr_store(2), _rows, (_json_or_bytes,), None, _zarr_pickles),
    "rows zarr 3": Target(lambda: seeds.zarr_store(3), _rows, (_json_or_bytes,)),
    "rows int8 zarr": Target(seeds.variant_store, _rows, (_json_or_bytes,)),
    "rows vcf zarr": Target(seeds.call_store, _rows, (_json_or_bytes,)),
    "rows bed": Target(seeds.plink, _rows, (damage.damaged_bytes, damage.damaged_text)),
    "rows words": Target(seeds.words, _rows, TEXT),
    "table words": Target(seeds.words, _table, TEXT),
    "rows arrow": Target(
        _one("x.arrow", lambda: seeds.feather(seeds.arrow_table().drop(["name"]), "uncompressed")), _rows, RAW
    ),
    "rows feather": Target(
        _one("x.feather", lambda: seeds.feather(seeds.arrow_table().drop(["name"]), "lz4")), _rows, RAW
    ),
    "rows parquet": Target(_one("x.parquet", lambda: seeds.parquet(seeds.arrow_table().drop(["name"]))), _rows, RAW),
    "convert csv": Target(_one("x.csv", seeds.table_text), _convert, TEXT, None, _texts),
    "convert h5ad csc": Target(_one("x.h5ad", lambda: seeds.hdf5("csc")), _convert, RAW, every=5),
    "convert h5ad csr": Target(_one("x.h5ad", lambda: seeds.hdf5("csr")), _convert, RAW, every=5),
    "convert npy": Target(_one("x.npy", lambda: seeds.npy(seeds.numbers())), _convert, NPY),
    "graph txt": Target(_one("g.txt", seeds.edge_text), _graph, TEXT),
    "graph names": Target(_one("g.csv", lambda: seeds.edge_text(",", True, "from,to,weight\n")), _graph, TEXT),
    "graph txt.gz": Target(_one("g.txt.gz", lambda: seeds.packed(seeds.edge_text())), _graph, GZIP),
    "graph mtx": Target(
        _one("x.mtx", lambda: seeds.matrix_market(seeds.edges().tocoo())), _graph, TEXT, None, _markets
    ),
    "graph npz": Target(_one("x.npz", lambda: _saved(seeds.edges())), _graph, ZIP, None, _sparse_lies),
    "graph edges npz": Target(_one("x.npz", lambda: _edges_npz(seeds.edges())), _graph, ZIP, None, _edge_archives),
    "graph parquet": Target(_one("g.parquet", lambda: seeds.parquet(seeds.edge_table())), _graph, RAW),
    "graph feather": Target(_one("g.feather", lambda: seeds.feather(seeds.edge_table(), "lz4")), _graph, RAW),
    "graph names arrow": Target(_one("g.arrow", lambda: seeds.feather(_named_edges(), "uncompressed")), _graph, RAW),
    "graph graphml": Target(_one("g.graphml", seeds.graphml), _graph, TEXT, None, _graph_markup),
    "graph webgraph": Target(seeds.webgraph, _graph, (damage.damaged_bytes, damage.damaged_text), None, _webgraphs),
    "graph partition": Target(_one("p.parquet", lambda: seeds.parquet(seeds.edge_table())), _partition, RAW),
    "vertices csv": Target(_one("v.csv", lambda: _vertex_text()), _places, TEXT),
    "names csv": Target(_one("n.csv", lambda: _vertex_text()), _cells, TEXT, None, _texts),
    "checkpoint": Target(seeds.checkpoint, _checkpoint, (_resigned,)),
}
"""Name -> reader and format."""
if importlib.metadata.version("zarr").startswith("2."):  # that one neither writes nor reads the other format
    del TARGETS["rows zarr 3"]


def _saved(matrix: Any) -> bytes:
    stream = io.BytesIO()
    sp.save_npz(stream, matrix, compressed=False)
    return stream.getvalue()


def _edges_npz(matrix: Any) -> bytes:
    entries = matrix.tocoo()
    return seeds.npz(src=entries.coords[0], dst=entries.coords[1], weight=entries.data, num_nodes=20)


def _named_edges() -> Any:
    import pyarrow as pa

    return pa.table({"source": ["a", "b", "c"] * 5, "target": ["b", "c", "\u00e4"] * 5, "weight": [1.0, 2.0, 0.5] * 5})


def _vertex_text() -> bytes:
    return b"vertex,name,latitude,longitude\n" + b"".join(b"%d,city %d,%d.5,%d\n" % (i, i, i, -i) for i in range(9))


def target_of(name: str) -> Target:
    """A reader of the table, or one that is broken on purpose."""
    if name in TARGETS:
        return TARGETS[name]
    from fuzzing.reader_plants import PLANTS

    return Target(lambda: {"x.csv": b"a,b\n1,2\n"}, PLANTS[name], TEXT, lambda path, found: found != 7)


@cache
def whole(name: str) -> tuple[tuple[str, bytes], ...]:
    return tuple(target_of(name).whole().items())


@cache
def hostile(name: str) -> tuple[tuple[str, tuple[tuple[str, bytes], ...]], ...]:
    return tuple((what, tuple(files.items())) for what, files in target_of(name).hostile().items())
