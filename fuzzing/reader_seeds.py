"""Whole files of every format, made in code: what the mutations start from (name -> content, the first is opened)."""

from __future__ import annotations

import gzip
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

Files = dict[str, bytes]

ROWS, COLUMNS = 12, 5


def numbers() -> np.ndarray:
    values = np.random.default_rng(7).standard_normal((ROWS, COLUMNS))
    values[np.abs(values) < 0.4] = 0.0
    return values


def _written(name: str, write: Callable[[Path], Any]) -> Files:
    """Whatever a writer puts under a name, a folder included."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / name)
        found = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def table_text(separator: str = ",", *, labelled: bool = True) -> bytes:
    rows = [
        separator.join(([f"r{i}"] if labelled else []) + [repr(float(v)) for v in row])
        for i, row in enumerate(numbers())
    ]
    head = separator.join((["id"] if labelled else []) + ["age", "=sum", "height, m".replace(",", ""), "x", "y"])
    return "\n".join([head, *rows, ""]).encode()


def npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def sparse_npz(form: str) -> bytes:
    stream = io.BytesIO()
    sp.save_npz(stream, getattr(sp.csr_array(numbers()), f"to{form}")(), compressed=False)
    return stream.getvalue()


def matrix_market(matrix: Any) -> bytes:
    stream = io.BytesIO()
    scipy.io.mmwrite(stream, matrix)
    return stream.getvalue()


def arrow_table() -> Any:
    import pyarrow as pa

    values = numbers()
    return pa.table({"name": [f"r{i}" for i in range(ROWS)], **{f"v{j}": values[:, j] for j in range(COLUMNS)}})


def parquet(table: Any, **options: Any) -> bytes:
    import pyarrow.parquet

    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream, **options)
    return stream.getvalue()


def feather(table: Any, compression: str) -> bytes:
    import pyarrow.feather

    stream = io.BytesIO()
    pyarrow.feather.write_feather(table, stream, compression=compression)
    return stream.getvalue()


def hdf5(form: str) -> bytes:
    import h5py

    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        if form == "dense":
            file.create_dataset("X", data=numbers(), chunks=(4, COLUMNS), compression="gzip")
        else:
            matrix = (sp.csr_array if form == "csr" else sp.csc_array)(numbers())
            group = file.create_group("X")
            group.attrs["shape"] = matrix.shape
            group.attrs["encoding-type"] = f"{form}_matrix"
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(matrix, part)
        for axis, count in (("obs", ROWS), ("var", COLUMNS)):
            group = file.create_group(axis)
            group.attrs["_index"] = "_index"
            group["_index"] = np.array([f"{axis}{i}" for i in range(count)], dtype=object)
        file["obs"]["kind"] = np.array(["a", "b"] * (ROWS // 2), dtype="S")
    return stream.getvalue()


def zarr_store(version: int) -> Files:
    import zarr

    form = {} if zarr.__version__.startswith("2.") else {"zarr_format": version}

    def write(path: Path) -> None:
        array = zarr.open(str(path), mode="w", shape=(ROWS, COLUMNS), chunks=(5, COLUMNS), dtype="f8", **form)
        array[:] = numbers()

    return _written("x.zarr", write)


def variant_store() -> Files:
    """Small whole numbers in chunks of all samples, which are read by variables."""
    import zarr

    form = {} if zarr.__version__.startswith("2.") else {"zarr_format": 2}

    def write(path: Path) -> None:
        array = zarr.open(str(path), mode="w", shape=(ROWS, COLUMNS), chunks=(ROWS, 2), dtype="i1", **form)
        array[:] = np.random.default_rng(5).integers(0, 3, (ROWS, COLUMNS))

    return _written("x.zarr", write)


def call_store() -> Files:
    """VCF-Zarr: two alleles per call, one of them missing, and the names of the variants."""
    import zarr

    form = {} if zarr.__version__.startswith("2.") else {"zarr_format": 2}

    def write(path: Path) -> None:
        calls = np.random.default_rng(6).integers(0, 2, (COLUMNS, ROWS, 2)).astype(np.int8)
        calls[1, 2, 0] = -1
        group = zarr.open_group(str(path), mode="w", **form)
        names = np.array([b"rs%d" % i for i in range(COLUMNS)])
        for name, values in (("call_genotype", calls), ("variant_id", names)):
            facts = {"shape": values.shape, "chunks": (2, *values.shape[1:]), "dtype": values.dtype}
            zarr.open(str(path / name), mode="w", **facts, **form)[:] = values
        assert set(group.keys()) == {"call_genotype", "variant_id"}

    return _written("x.zarr", write)


def plink() -> Files:
    """Five samples of three variants, one call missing."""
    return {
        "x.bed": b"\x6c\x1b\x01" + bytes([0b11100010, 0b11, 0b00011011, 0b10, 0b11111010, 0b00]),
        "x.bim": b"".join(b"1 rs%d 0 %d A G\n" % (i, i + 1) for i in range(3)),
        "x.fam": b"".join(b"f s%d 0 0 0 -9\n" % i for i in range(5)),
    }


def words() -> Files:
    """Three documents of four words."""
    text = b"3\n4\n5\n1 1 2\n1 3 1\n2 2 7\n3 1 1\n3 4 3\n"
    return {"docword.x.txt": text, "vocab.x.txt": b"one\ntwo\nthree\nfour\n"}


def edges() -> sp.csr_array:
    generator = np.random.default_rng(3)
    matrix = (generator.random((20, 20)) < 0.3) * generator.integers(1, 9, (20, 20))
    matrix[19, 0] = matrix[0, 19] = 1
    return sp.csr_array(matrix)


def edge_text(separator: str = "\t", names: bool = False, header: str = "# a comment\n") -> bytes:
    entries = edges().tocoo()
    pairs = zip(*entries.coords, entries.data, strict=True)
    ends = [(f"n{i}", f"n{j}", w) if names else (i, j, w) for i, j, w in pairs]
    return (header + "".join(separator.join(map(str, edge)) + "\n" for edge in ends)).encode()


def edge_table() -> Any:
    import pyarrow as pa

    entries = edges().tocoo()
    return pa.table({"source": entries.coords[0], "target": entries.coords[1], "weight": entries.data})


def graphml() -> bytes:
    import networkx as nx

    stream = io.BytesIO()
    nx.write_graphml(nx.from_scipy_sparse_array(edges(), create_using=nx.DiGraph), stream)
    return stream.getvalue()


class Bits:
    """Numbers in the codes of a WebGraph stream."""

    def __init__(self) -> None:
        self.text = ""

    def unary(self, number: int) -> None:
        self.text += "0" * number + "1"

    def gamma(self, number: int) -> None:
        length = (number + 1).bit_length() - 1
        self.unary(length)
        self.text += format(number + 1, "b")[1:]

    def zeta3(self, number: int) -> None:
        steps = ((number + 1).bit_length() - 1) // 3
        self.unary(steps)
        left = 1 << 3 * steps
        if number + 1 < 2 * left:  # minimal binary code: the shorter words come first
            self.text += format(number + 1 - left, f"0{3 * steps + 2}b")
        else:
            self.text += format(number + 1, f"0{3 * steps + 3}b")

    def content(self) -> bytes:
        padded = self.text + "0" * (-len(self.text) % 8)
        return int(padded, 2).to_bytes(len(padded) // 8, "big")


def webgraph() -> Files:
    """A small graph with references, blocks, intervals and residuals."""
    lists = [
        [1, 2, 3, 4, 5, 9],
        [1, 2, 3, 4, 5, 9],
        [1, 2, 3, 4, 5],
        [0],
        [],
        [6, 7, 8, 9],
        [0, 3, 9],
        [],
        [2],
        [0, 1, 2, 3],
    ]
    bits = Bits()
    for node, successors in enumerate(lists):
        bits.gamma(len(successors))
        if not successors:
            continue
        if node == 1:  # all of the list before
            bits.unary(1)
            bits.gamma(0)
            continue
        if node == 2:  # the first five of the list before
            bits.unary(1)
            bits.gamma(1)
            bits.gamma(5)
            continue
        bits.unary(0)
        run = successors[:-1] if node == 0 else successors if len(successors) == 4 else []
        bits.gamma(int(bool(run)))
        if run:
            _signed(bits.gamma, run[0] - node)
            bits.gamma(len(run) - 4)
        rest = [s for s in successors if s not in run]
        for place, successor in enumerate(rest):
            if place == 0:
                _signed(bits.zeta3, successor - node)
            else:
                bits.zeta3(successor - rest[place - 1] - 1)
    properties = (
        f"nodes={len(lists)}\narcs={sum(map(len, lists))}\nwindowsize=7\nminintervallength=4\nzetak=3\nversion=0\n"
    )
    return {"g.graph": bits.content(), "g.properties": (properties + "compressionflags=\n").encode()}


def _signed(write: Callable[[int], None], number: int) -> None:
    write(2 * number if number >= 0 else -2 * number - 1)


IDENTITY = {"data": "x", "scale": False}


def checkpoint() -> Files:
    """Two passes as the package stores them."""
    from sparseigen.operators.checkpoint import PassLog
    from sparseigen.operators.passes import Moments

    counted = {"n_rows": 3, "bad": 0, "row": 0, "column": 0, "stored": 12}
    moments = Moments(**{name: counted.get(name, np.ones(4)) for name in Moments._fields})  # type: ignore[arg-type]

    def write(path: Path) -> None:
        log = PassLog(path, IDENTITY)
        log.find_or_compute("key0", lambda *_: [np.arange(6.0), np.eye(2)])
        log.find_or_compute("key1", lambda *_: moments)

    return _written("saved", write)


def packed(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)
