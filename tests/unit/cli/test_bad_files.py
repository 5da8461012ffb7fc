"""Malformed files of every format: exit code 3 and one sentence, never a crash, never a pickled object."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from tests.unit.cli.running import check_refused, run

VALUES = np.random.default_rng(0).standard_normal((30, 6))


def write_parquet(path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(VALUES, columns=list("abcdef")).to_parquet(path)


def write_h5ad(path: Path, *, sparse: bool = False) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        if sparse:
            matrix = sp.csr_array(VALUES)
            group = file.create_group("X")
            group.attrs["shape"] = matrix.shape
            group.attrs["encoding-type"] = "csr_matrix"
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(matrix, part)
        else:
            file["X"] = VALUES
        for axis, count in (("obs", 30), ("var", 6)):
            group = file.create_group(axis)
            group.attrs["_index"] = "_index"
            group["_index"] = np.array([f"{axis}{i}" for i in range(count)], dtype="S")


WRITERS: dict[str, Callable[[Path], None]] = {
    "npy": lambda path: np.save(path, VALUES),
    "npz": lambda path: np.savez_compressed(path, X=VALUES),
    "mtx": lambda path: scipy.io.mmwrite(path, sp.coo_array(VALUES)),
    "parquet": write_parquet,
    "h5ad": write_h5ad,
    "csv.gz": lambda path: path.write_bytes(gzip.compress("\n".join(map(str, VALUES[:, 0])).encode())),
}


@pytest.mark.parametrize("ending", sorted(WRITERS))
def test_whole_files_are_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"whole.{ending}"
    WRITERS[ending](path)
    assert run("pca", path, "-k", "1").exit_code == 0


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("ending", sorted(WRITERS))
def test_truncated_files(ending: str, share: float, tmp_path: Path) -> None:
    path = tmp_path / f"cut.{ending}"
    WRITERS[ending](path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    check_refused(run("pca", path, "-k", "1"), 3, path.name)


@pytest.mark.parametrize("ending", sorted(WRITERS))
@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 200, b"\xff\xfe\x00\x01" * 50], ids=range(4))
def test_other_bytes(ending: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"other.{ending}"
    path.write_bytes(content)
    check_refused(run("pca", path, "-k", "1"), 3, path.name)


class Trap:
    """Unpickling this would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (self.path,)  # type: ignore[return-value]


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    trap = np.array([[Trap(sprung)]], dtype=object)
    np.save(tmp_path / "trap.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "trap.npz", X=trap)
    with zipfile.ZipFile(tmp_path / "raw.npz", "w") as archive:
        archive.writestr("X.npy", pickle.dumps(Trap(sprung)))
    (tmp_path / "raw.npy").write_bytes(pickle.dumps(Trap(sprung)))
    for name in ("trap.npy", "trap.npz", "raw.npz", "raw.npy"):
        check_refused(run("pca", tmp_path / name, "-k", "1"), 3)
        if name.endswith(".npz"):
            check_refused(run("dks", tmp_path / name, "-k", "1"), 3)
    assert not sprung.exists()


def npy_header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n"


DECLARED: dict[str, Callable[[Path], None]] = {
    "columns.npy": lambda path: path.write_bytes(npy_header((2, 10**9)) + b"\x00" * 64),
    "absurd.npy": lambda path: path.write_bytes(npy_header((10**12, 10**9)) + b"\x00" * 64),
    "negative.npy": lambda path: path.write_bytes(npy_header((-2, 3)) + b"\x00" * 64),
    "columns.npz": lambda path: sp.save_npz(path, sp.csr_array((2, 2 * 10**9))),
    "columns.mtx": lambda path: path.write_text(
        "%%MatrixMarket matrix coordinate real general\n2 2000000000 1\n1 1 1.0\n"
    ),
    "dense.mtx": lambda path: path.write_text("%%MatrixMarket matrix array real general\n90000000 90000\n1.0\n"),
    "entries.mtx": lambda path: path.write_text(
        "%%MatrixMarket matrix coordinate real general\n3 3 1000000000000\n1 1 1.0\n"
    ),
}


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_declared_sizes_are_not_believed(name: str, tmp_path: Path) -> None:
    DECLARED[name](tmp_path / name)
    check_refused(run("pca", tmp_path / name, "-k", "1"), 3)


def test_declared_size_inside_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("X.npy", npy_header((2, 10**8)) + b"\x00" * 64)
    for command in ("pca", "dks"):
        check_refused(run(command, tmp_path / "bomb.npz", "-k", "1"), 3, "truncated")


def test_h5ad_declares_more_than_fits(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "big.h5ad", "w") as file:
        file.create_dataset("X", shape=(10**7, 10**6), dtype="f8", chunks=(10, 1000))
    check_refused(run("pca", tmp_path / "big.h5ad", "-k", "1"), 3, "of memory")


def test_webgraph_declares_more_than_fits(tmp_path: Path) -> None:
    (tmp_path / "g.graph").write_bytes(b"\x00")
    for nodes, arcs in ((10**13, 5), (5, 10**13), (-1, 5), (5, -1)):
        (tmp_path / "g.properties").write_text(f"nodes={nodes}\narcs={arcs}\n")
        check_refused(run("dks", tmp_path / "g.graph", "-k", "1"), 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n", "holds a header and no rows"),
        (b"\n\n\n", "is empty"),
        (b"a,b\n1,2\n3\n", "line 3: 1 cells where the first line has 2"),
        (b"a,b,c\n1,2\n", "line 2: 2 cells where the first line has 3"),
        (b"a,b\n\xff\xfe,1\n", "is not readable text"),
        (b'a,b\n"1,2\n3,4\n', "is not readable text"),
        (b"a,b\n1,x\n2,3\n4,y\n", "line 2, column 'b': 'x' is not a number"),
        (b"a,b\n1,2\n2,x\n4,5\n", "line 3, column 'b': 'x' is not a number"),
        (b"a,a\n1,2\n2,3\n", "1 repeated column names, the first is 'a'"),
        (b"a,b\n1,9007199254740993\n2,3\n", "beyond 2**53"),
        (b"n,b\nx,y\nz,w\n", "is not a number"),
        (b"a,b\n1,\n2,3\n", "1 NaN or infinite value, the first at row 0, column 1 ('b')"),
        (b"a,b\n1,inf\n2,3\n", "infinite"),
    ],
)
def test_text(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes(content)
    check_refused(run("pca", tmp_path / "bad.csv", "-k", "1"), 3, message)


def test_names_of_a_file_cannot_steer_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("a,\x1b[2Jb\n1,x\n2,y\n")
    result = run("pca", tmp_path / "bad.csv", "-k", "1")
    check_refused(result, 3)
    (tmp_path / "good.csv").write_text("\x1b]0;pwned\x07a,b\n1,2\n2,5\n")
    for part in (result.stderr, run("pca", tmp_path / "good.csv", "-k", "1").stdout):
        assert "\x1b" not in part
        assert "\x07" not in part


def test_missing_and_unreadable(tmp_path: Path) -> None:
    check_refused(run("pca", tmp_path / "none.csv", "-k", "1"), 3, "does not exist")
    check_refused(run("pca", tmp_path, "-k", "1"), 3, "not a file")
    check_refused(run("dks", tmp_path / "none.csv", "-k", "1"), 3, "does not exist")


def test_empty_standard_input() -> None:
    check_refused(run("pca", "-", "-k", "1", input=b""), 3, "is empty")


def test_memory_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.checks import memory
    from sparseigen.io import text as text_tables

    np.savez(tmp_path / "x.npz", X=VALUES)
    np.savetxt(tmp_path / "x.csv", VALUES, delimiter=",")
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    monkeypatch.setattr(text_tables, "available_bytes", lambda: 1000)
    check_refused(run("pca", tmp_path / "x.npz", "-k", "1"), 3, "of memory, and 1 kB are available")
    check_refused(run("pca", tmp_path / "x.csv", "-k", "1"), 3, "of memory, and 1 kB are available")


def test_large_arrays_stay_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.io import tables as binary_tables
    from sparseigen.io.tables import read_table

    np.save(tmp_path / "x.npy", VALUES)
    whole = run("pca", tmp_path / "x.npy", "-k", "2").stdout
    monkeypatch.setattr(binary_tables, "available_bytes", lambda: VALUES.nbytes)
    assert isinstance(read_table(tmp_path / "x.npy").values, np.memmap)
    assert run("pca", tmp_path / "x.npy", "-k", "2").stdout == whole


def test_archive_with_a_directory_traversal_is_only_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, VALUES)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("../../escaped.npy", buffer.getvalue())
    result = run("pca", tmp_path / "x.npz", "-k", "1")
    assert result.exit_code == 0
    assert not (tmp_path.parent.parent / "escaped.npy").exists()
