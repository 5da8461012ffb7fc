"""What is read: files of every format, whole or malformed, columns, names, vertices, standard input."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from sparseigen.io.tables import read_table
from tests.unit.checks.test_arrays import BAD_DATA, BAD_MATRICES
from tests.unit.cli.running import check_refused, run, start_process
from tests.unit.rows import sources
from tests.unit.rows.sources import Trap

VALUES = np.random.default_rng(0).standard_normal((30, 6))


def write_parquet(path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(VALUES, columns=list("abcdef")).to_parquet(path)


def write_h5ad(path: Path, *, sparse: bool = False) -> None:
    h5py = pytest.importorskip("h5py")
    sources.write_h5ad(path, VALUES, kind="csr_matrix" if sparse else "dense", names=[f"var{i}" for i in range(6)])
    with h5py.File(path, "a") as file:
        group = file.create_group("obs")
        group.attrs["_index"] = "_index"
        group["_index"] = np.array([f"obs{i}" for i in range(30)], dtype="S")


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
    whole = run("pca", tmp_path / "x.npy", "-k", "2", "--csv").stdout
    monkeypatch.setattr(binary_tables, "available_bytes", lambda: VALUES.nbytes)
    assert isinstance(read_table(tmp_path / "x.npy").values, np.memmap)
    assert run("pca", tmp_path / "x.npy", "-k", "2", "--csv").stdout == whole


def test_archive_with_a_directory_traversal_is_only_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, VALUES)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("../../escaped.npy", buffer.getvalue())
    result = run("pca", tmp_path / "x.npz", "-k", "1")
    assert result.exit_code == 0
    assert not (tmp_path.parent.parent / "escaped.npy").exists()


NOT_FILES = {"a path", "a function"}
"""Rows of the table that have no file: a path is what the command line takes."""
OTHER_WORDS = {"text column": "column 'b': 'x' is not a number", "polars text": "column 'b': 'x' is not a number"}
"""Where the file shows more than the array did."""


def written(value: Any, folder: Path) -> Path:
    """The value in a file of the format that fits it."""
    if sp.issparse(value):
        sp.save_npz(folder / "bad.npz", value)
        return folder / "bad.npz"
    if hasattr(value, "write_parquet"):
        value.write_parquet(folder / "bad.parquet")
        return folder / "bad.parquet"
    if hasattr(value, "to_csv"):
        value.to_csv(folder / "bad.csv", index=False)
        return folder / "bad.csv"
    np.save(folder / "bad.npy", value, allow_pickle=True)
    return folder / "bad.npy"


MATRICES = [row for row in BAD_MATRICES if row[0] not in NOT_FILES]


@pytest.mark.parametrize(("what", "matrix", "error", "message"), MATRICES, ids=[row[0] for row in MATRICES])
def test_bad_matrix(what: str, matrix: Any, error: Any, message: str, tmp_path: Path) -> None:
    result = run("pca", written(matrix, tmp_path), "--covariance", "-k", "1")
    check_refused(result, 3, message)


TABLES = [row for row in BAD_DATA if set(row[2]) <= {"scale"}]  # ddof and center are not offered as options


@pytest.mark.parametrize(("what", "data", "options", "error", "message"), TABLES, ids=[row[0] for row in TABLES])
def test_bad_data(what: str, data: Any, options: dict[str, Any], error: Any, message: str, tmp_path: Path) -> None:
    flags = ["--scale"] if options.get("scale") else []
    result = run("pca", written(data, tmp_path), "-k", "1", *flags)
    check_refused(result, 3, OTHER_WORDS.get(what, message))


@pytest.mark.parametrize("command", ["path", "certify", "exact"])
def test_every_command_on_data_refuses_bad_data(command: str, tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", np.array([[1.0, np.nan], [2.0, 3.0], [1.0, 1.0]]))
    result = run(command, tmp_path / "bad.npy", "-k", "1")
    check_refused(result, 3, "1 NaN or infinite value, the first at row 0, column 1")


@pytest.mark.parametrize("command", ["dks", "curve"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1,-1\n1,2,1\n2,0,1\n", "weights must be >= 0"),
        ("0,1,nan\n1,2,1\n2,0,1\n", "must be finite"),
        ("0,1\n1,2\n", "k=3"),
        ("0\n1\n", "columns"),
        ("from,to\n", "the only line"),
        ("", "no columns"),
        ("from,to,a,b\n1,2,3,4\n", "which of them is the weight? Name it ('weight'). See --weight COLUMN."),
    ],
)
def test_bad_graphs(command: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(text)
    if "k=3" in message:
        check_refused(run(command, path, "-k", "4"), 2, "k=4 must be between 1 and the number of vertices (3)")
    else:
        check_refused(run(command, path, "-k", "2"), 3, message)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(("dks", "-", "-k", 2), "1 2 -3\n"), (("dks", "-", "-k", 2), "x\n"), (("pca", "-", "-k", 1), "a,b\n1,x\n")],
)
def test_errors_about_standard_input_do_not_name_the_temporary_file(arguments, text):
    before = Path.cwd()
    result = run(*arguments, input=text)
    check_refused(result, 3, "standard input")
    assert "stdin." not in result.stderr
    assert "tmp" not in result.stderr
    assert Path.cwd() == before  # the copy is read from inside its folder


def test_compressed_text_and_standard_input(tmp_path: Path) -> None:
    text = "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in VALUES[:, :3].tolist())
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "t.tsv").write_text(text.replace(",", "\t"))
    np.save(tmp_path / "t.npy", VALUES[:, :3])
    wanted = json.loads(run("pca", tmp_path / "t.csv", "-k", "2", "--json").stdout)[0]["loadings"]
    for name in ("t.csv.gz", "t.tsv", "t.npy"):
        assert json.loads(run("pca", tmp_path / name, "-k", "2", "--json").stdout)[0]["loadings"] == wanted
    for name in ("t.csv", "t.csv.gz", "t.tsv", "t.npy"):
        piped = run("pca", "-", "-k", "2", "--json", input=(tmp_path / name).read_bytes())
        assert json.loads(piped.stdout)[0]["loadings"] == wanted


def test_archives(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=VALUES, genes=np.array(list("abcdef")), kind=np.array(["u", "v"] * 15))
    table = read_table(tmp_path / "x.npz", label="kind")
    assert table.names == tuple("abcdef")
    assert table.labels == ("u", "v") * 15
    np.savez(tmp_path / "two.npz", X=VALUES, Y=VALUES[:5])
    check_refused(
        run("pca", tmp_path / "two.npz", "-k", "1"),
        2,
        "2 tables ('X', 'Y'); name one of its arrays ('array'). See --array NAME.",
    )
    assert run("pca", tmp_path / "two.npz", "-k", "1", "--array", "Y").exit_code == 0


def test_parquet(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(VALUES, columns=list("abcdef")).assign(kind=["u", "v"] * 15)
    frame.to_parquet(tmp_path / "t.parquet")
    check_refused(run("pca", tmp_path / "t.parquet", "-k", "1"), 3, "column 'kind': 'u' is not a number")
    table = read_table(tmp_path / "t.parquet", label="kind")
    assert table.names == tuple("abcdef")
    assert table.labels[:2] == ("u", "v")
    np.testing.assert_array_equal(table.values, VALUES)
    frame["a"] = 2**60
    frame.to_parquet(tmp_path / "t.parquet")
    check_refused(run("pca", tmp_path / "t.parquet", "-k", "1", "--drop-text"), 3, "beyond 2**53")


@pytest.mark.parametrize("sparse", [False, True])
def test_h5ad(tmp_path: Path, sparse: bool) -> None:
    write_h5ad(tmp_path / "cells.h5ad", sparse=sparse)
    table = read_table(tmp_path / "cells.h5ad")
    assert table.names == tuple(f"var{i}" for i in range(6))
    assert table.row_labels[:2] == ("obs0", "obs1")
    values = table.values.toarray() if sp.issparse(table.values) else table.values
    np.testing.assert_array_equal(values, VALUES)
    assert sp.issparse(table.values) is sparse


def test_h5ad_categories_layers_and_faults(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    write_h5ad(path)
    with h5py.File(path, "a") as file:
        file["layers/log"] = 2.0 * VALUES
        file["obs/kind/categories"] = np.array(["u", "v"], dtype="S")
        file["obs/kind/codes"] = np.array([0, 1, -1] * 10)
    table = read_table(path, label="kind", array="log")
    assert table.labels[:3] == ("u", "v", "")
    assert table.values[0, 0] == 2.0 * VALUES[0, 0]
    check_refused(run("pca", path, "-k", "1", "--label", "colour"), 2, "label='colour' is not a column of obs")
    with h5py.File(path, "a") as file:
        del file["var/_index"]
        file["var/_index"] = np.array(["a"], dtype="S")
    check_refused(run("pca", path, "-k", "1"), 3, "var has 1 names, X has the shape (30, 6)")


def test_transpose_and_names(tmp_path: Path) -> None:
    path = tmp_path / "genes.csv"
    rows = [f"g{i}," + ",".join(map(repr, row)) for i, row in enumerate(VALUES.tolist())]
    path.write_text("gene,s1,s2,s3,s4,s5,s6\n" + "\n".join(rows) + "\n")
    answer = json.loads(run("pca", path, "--transpose", "-k", "2", "--json").stdout)[0]
    assert answer["n_features"] == 30
    assert all(name.startswith("g") for name in answer["names"])
    np.save(tmp_path / "x.npy", VALUES)
    (tmp_path / "names.csv").write_text("column,term\n" + "".join(f"{i},word{i}\n" for i in range(6)))
    for names in ("names.csv", "names.csv:term"):
        answer = json.loads(run("pca", tmp_path / "x.npy", "--names", tmp_path / names, "-k", "1", "--json").stdout)
        assert answer[0]["names"][0].startswith("word")
    check_refused(run("pca", tmp_path / "x.npy", "--names", tmp_path / "names.csv:word", "-k", "1"), 2, "'word' is not")
    (tmp_path / "names.csv").write_text("a\nb\n")
    check_refused(run("pca", tmp_path / "x.npy", "--names", tmp_path / "names.csv", "-k", "1"), 3, "names for 6")


def test_a_matrix_given_as_data_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(",a,b\na,2,1\nb,1,3\n")
    assert (
        "rows and columns have the same names: a --covariance matrix?"
        in run("pca", tmp_path / "m.csv", "-k", "1").stdout
    )
    assert "same names" not in run("pca", tmp_path / "m.csv", "-k", "1", "--covariance").stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,x\n2,3\n", "line 2, column 'b': 'x' is not a number"),
        ("a,b\n1,2\n3\n", "line 3: 1 cells where the first line has 2"),
        ("", "is empty"),
        ("a,b\n1,2\n", "X has 1 sample"),
        ("a,b\n1,nan\n2,3\n", "1 NaN or infinite value, the first at row 0, column 1"),
        ("a,b\n1,5\n1,5\n", "all columns are constant"),
    ],
)
def test_bad_files_are_one_sentence_and_code_3(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    answer = start_process("pca", str(path), "-k", "1")
    assert answer.returncode == 3
    assert message in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert "Traceback" not in answer.stderr


def test_other_bad_files(tmp_path: Path) -> None:
    (tmp_path / "x.xls").write_text("")
    (tmp_path / "x.npy").write_bytes(b"not an array")
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    assert "does not exist" in start_process("pca", str(tmp_path / "none.csv"), "-k", "1").stderr
    assert (
        "'.xls', which is not known. Allowed: '.bed', '.csv', '.h5ad', '.mtx', '.npy', '.npz', '.parquet', '.tsv'"
        in start_process("pca", str(tmp_path / "x.xls"), "-k", "1").stderr
    )
    for name in ("x.npy", "x.csv"):
        answer = start_process("pca", str(tmp_path / name), "-k", "1")
        assert answer.returncode == 3
        assert "Traceback" not in answer.stderr
    assert start_process("exact", str(tmp_path / "x.npy")).returncode == 2  # -k is missing


def test_a_terminal_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.cli import loading

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(loading, "sys", type("sys", (), {"stdin": Terminal()}))
    check_refused(run("pca", "-", "-k", "1"), 2, "'-' reads standard input, which is a terminal")


def test_names_from_a_file(table: Path, tmp_path: Path) -> None:
    listed = tmp_path / "names.csv"
    listed.write_text("n,short,long\n1,u,uu\n2,v,vv\n3,w,ww\n4,x,xx\n")
    found = run("pca", table, "-k", "4", "--no-certify", "--names", f"{listed}:long", "--csv")
    assert sorted(line.split(",")[0] for line in found.stdout.splitlines()[1:]) == ["uu", "vv", "ww", "xx"]
    check_refused(run("pca", table, "-k", "1", "--names", f"{listed}:none"), 2, "'none' is not a column of")
    check_refused(run("pca", table, "-k", "1", "--names", listed), 2, "has 2 columns of text; say which")
    listed.write_text("u\nv\n")
    check_refused(run("pca", table, "-k", "1", "--names", listed), 3, "has 2 names for 4 variables")


def test_vertex_tables(numbered_graph: Path, tmp_path: Path) -> None:
    places = tmp_path / "places.csv"
    for text, code, message in (
        ("1,a\n2,b\n", 3, "places.csv needs a header line and at least two columns"),
        ("vertex,name\n0,a\n", 3, "vertex 1 is not in the vertex table (6 of 7 are not)"),
        ("vertex,name,lat,lon\n0,a,1,400\n", 3, "places.csv: '400' is not a latitude or longitude in degrees"),
        ("vertex,name,lat,lon\n0,a,north,4\n", 3, "'north' is not a latitude or longitude"),
    ):
        places.write_text(text)
        check_refused(run("dks", numbered_graph, "-k", "3", "--vertices", places), code, message)
    places.write_text("vertex,called\n" + "".join(f"{i},city {'abcdefg'[i]}\n" for i in range(7)))
    found = run("dks", numbered_graph, "-k", "5", "--vertices", places, "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["nodes"] == [0, 1, 2, 3, 4]
    assert "city c" in run("dks", numbered_graph, "-k", "5", "--vertices", places).stdout


TABLE = "größe,b\u202ex,c\n1,2,3\n4,5,7\n2,1,9\n8,8,1\n"


def test_a_line_break_in_a_file_name_makes_no_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "data\nk = 1, optimal.csv"
    try:
        path.write_text(TABLE, encoding="utf-8")
    except OSError:
        pytest.skip("this file system has no such names")
    assert run("pca", path, "-k", 2, "-q").stdout.startswith("data k = 1, optimal.csv: 4 samples")


@pytest.mark.parametrize("kind", ["zzz", "../../x", "csv/x", ""])
def test_formats_of_graphs_are_known_ones(kind: str) -> None:
    check_refused(run("dks", "-", "-k", 2, "--format", kind, input="1,2\n2,3\n"), 2, "is not known. Allowed")


def test_an_edge_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text("source,target,weight\na,b,1\n,c,2\n")
    check_refused(run("dks", path, "-k", 2), 3, "line 3: an end of the edge is empty")


def test_constant_columns_are_left_out_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,flat\n1,2,5\n3,1,5\n2,5,5\n4,4,5\n")
    told = run("pca", tmp_path / "t.csv", "-k", "1", "--scale")
    assert told.exit_code == 0
    assert "1 of 3 column is constant and left out, as there is no scale: column 2 ('flat')" in told.stdout


def test_a_zarr_folder(tmp_path: Path) -> None:
    from tests.unit.io.test_zarr_stores import write_store

    path = write_store(tmp_path / "cells.zarr", "csr")
    done = run("pca", path, "-k", "2", "--label", "kind", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "out" / "scores.csv").read_text().splitlines()[1].startswith("obs0,u,")
