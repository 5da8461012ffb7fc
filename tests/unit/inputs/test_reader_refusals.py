"""What the readers say of files that are laid out wrongly: one sentence each, with what was found."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen import errors
from sparseigen.io import hdf5_probe
from sparseigen.io.matrix_market import read_matrix
from sparseigen.io.npy import map_array, read_archive, read_file_header
from sparseigen.io.tables import read_table
from sparseigen.io.text import read_cells
from sparseigen.rows.files import open_rows

VALUES = np.arange(12.0).reshape(4, 3) ** 2


def rows_of(path: Path, dataset: str | None = None, rows: int = 3) -> np.ndarray:
    source = open_rows(path, dataset)
    blocks = source.blocks(rows, 0, lambda count: np.empty((count, source.shape[1]), dtype=source.dtype))
    return np.vstack([block.toarray() if source.sparse else block.copy() for block in blocks])


# ---- AnnData ----


def write_obs(file: h5py.File, **columns: object) -> None:
    group = file.create_group("obs")
    group["_index"] = np.array([b"s1", b"s2", b"s3", b"s4"])
    for name, cells in columns.items():
        group[name] = cells


def test_labels_of_an_h5ad_file(tmp_path: Path) -> None:
    path = tmp_path / "x.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = VALUES
        write_obs(file, batch=np.array([b"a", b"b", b"a", b"b"]), short=np.array([1, 2]))
        kind = file["obs"].create_group("kind")
        kind["codes"], kind["categories"] = np.array([1, -1, 0, 1]), np.array([b"T", b"B"])
    assert read_table(path, label="batch").labels == ("a", "b", "a", "b")
    assert read_table(path, label="kind").labels == ("B", "", "T", "B")  # -1: not known
    with pytest.raises(errors.OptionError, match=r"label='age' is not a column of obs in x.h5ad; it has '_index', 'b"):
        read_table(path, label="age")
    with pytest.raises(errors.ShapeError, match=r"x.h5ad: label has \(2,\) entries, X has 4 rows"):
        read_table(path, label="short")


def test_names_of_an_old_h5ad_file_and_of_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "x.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = VALUES
        file["var"] = np.array([(b"g1", 1), (b"g2", 2), (b"g3", 3)], dtype=[("index", "S4"), ("n", int)])
        file["obs"] = np.array([(1,), (2,), (3,), (4,)], dtype=[("n", int)])
    table = read_table(path)
    assert (table.names, table.row_labels) == (("g1", "g2", "g3"), None)
    for names, error, message in (
        (np.array([[b"a", b"b", b"c"]]), errors.InputError, "x.h5ad: the names in 'var' are not a list"),
        (np.array([b"a", b"b"]), errors.ShapeError, r"x.h5ad: var has 2 names, X has the shape \(4, 3\)"),
        (np.array([b"a", b"b", b"a"]), errors.DuplicateNamesError, "1 repeated column names, the first is 'a'"),
    ):
        with h5py.File(path, "w") as file:
            file["X"] = VALUES
            file["var/_index"] = names
        with pytest.raises(error, match=message):
            read_table(path)
    with h5py.File(path, "w") as file:
        file["X"] = VALUES
        file.create_group("var").attrs["_index"] = "gone"
    assert read_table(path).names is None


def test_layers_of_an_h5ad_file(tmp_path: Path) -> None:
    path = tmp_path / "x.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = VALUES
        file["layers/counts"] = 2 * VALUES
        file["layers/flat"] = np.ones(4)
        file["layers/words"] = np.array([[b"a", b"b"]])
        file["layers/nothing"] = h5py.Empty("f8")
        group = file.create_group("layers/diagonals")
        group.attrs["shape"], group.attrs["encoding-type"] = (4, 3), "dia_matrix"
        group = file.create_group("layers/sides")
        group.attrs["shape"] = (4, 3, 2)
    np.testing.assert_array_equal(read_table(path, array="counts").values, 2 * VALUES)
    for layer, error, message in (
        ("none", errors.InputError, "x.h5ad has no 'layers/none'; it is damaged, or not laid out as its ending says"),
        ("flat", errors.ShapeError, r"X has the shape \(4,\) and dtype float64; it must be a table of numbers"),
        ("words", errors.ShapeError, r"X has the shape \(1, 2\) and dtype \|S1; it must be a table of numbers"),
        ("nothing", errors.InputError, "'layers/nothing' is empty; it must hold numbers or names"),
        ("diagonals", errors.ShapeError, r"X is a 'dia' matrix of shape \(4, 3\); it must be dense, csr or csc"),
        ("sides", errors.ShapeError, r"X has the shape \[4 3 2\]; it must be two numbers >= 0"),
    ):
        with pytest.raises(error, match=message):
            read_table(path, array=layer)


# ---- the other process that looks at HDF5 files first ----


def test_what_the_other_process_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays in full, the index of chunks, every attribute; nothing that lies in other files."""
    path = tmp_path / "x.h5"
    (tmp_path / "outside.bin").write_bytes(b"\0" * 64)
    with h5py.File(path, "w") as file:
        file.attrs["says"] = "something"
        file["group/small"] = np.arange(5)
        file["group/small"].attrs["unit"] = "m"
        file["empty"] = h5py.Empty("f8")
        file.create_dataset("chunked", data=np.arange(8), chunks=(2,))
        file.create_dataset("large", (hdf5_probe.SMALL, 2), "f8", chunks=(1024, 2))
        file.create_dataset("far", (8,), "f8", external=[(str(tmp_path / "outside.bin"), 0, 64)])
    read, limits = [], []
    whole = h5py.Dataset.__getitem__
    monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda self, key: (read.append(self.name), whole(self, key))[1])
    attribute = h5py.AttributeManager.__getitem__
    seen = []
    monkeypatch.setattr(
        h5py.AttributeManager, "__getitem__", lambda self, name: (seen.append(name), attribute(self, name))[1]
    )
    import resource

    monkeypatch.setattr(resource, "setrlimit", lambda what, limit: limits.append((what, limit)))
    hdf5_probe._go_through(str(path), 7)
    assert sorted(read) == ["/chunked", "/group/small"]
    assert sorted(seen) == ["says", "unit"]
    assert limits == [(resource.RLIMIT_CPU, (7, 7)), (resource.RLIMIT_CORE, (0, 0))]


def test_a_system_without_limits_and_arrays_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    def refuse(*given: object) -> None:
        raise OSError("not here")

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"], file["b"] = np.ones(3), np.ones(3)
    tried = []

    def broken(self: h5py.Dataset, key: object) -> None:
        tried.append(self.name)
        raise OSError("damaged")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr(h5py.Dataset, "__getitem__", broken)
    hdf5_probe._go_through(str(tmp_path / "x.h5"), 7)  # what the library reports is for the reader to explain
    assert tried == ["/a", "/b"]


def test_another_process_that_hangs_or_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file["X"] = VALUES

    def hangs(command: object, **given: object) -> None:
        raise subprocess.TimeoutExpired("python", 1)

    def refused(command: object, **given: object) -> None:
        raise OSError("no more processes")

    hdf5_probe._try_elsewhere.cache_clear()
    monkeypatch.setattr(subprocess, "run", hangs)
    np.testing.assert_array_equal(read_table(tmp_path / "x.h5ad").values, VALUES)  # nobody asked for it
    monkeypatch.setenv(hdf5_probe.SWITCH, "1")
    with pytest.raises(errors.InputError, match=r"x\.h5ad cannot be read as HDF5: the HDF5 library did not come back"):
        read_table(tmp_path / "x.h5ad")
    hdf5_probe._try_elsewhere.cache_clear()
    monkeypatch.setattr(subprocess, "run", refused)
    np.testing.assert_array_equal(read_table(tmp_path / "x.h5ad").values, VALUES)
    hdf5_probe._try_elsewhere.cache_clear()


# ---- NumPy's files ----


def npy(text: str, version: int = 1, *, length: int | None = None) -> bytes:
    count = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", count) + text.encode()


DESCRIBED = "{'descr': %s, 'fortran_order': False, 'shape': %s, }"

BAD_HEADERS = {
    "long": (npy("{}", 2, length=10**6), errors.InputError, "the header is longer than 10000 bytes"),
    "begins otherwise": (b"hello, world", errors.InputError, "the magic string is not correct"),
    "cut": (npy("{'descr'", length=60), errors.InputError, "EOF: reading array header, expected 60 bytes got 8"),
    "no length": (b"\x93NUMPY\x02\x00\x01", errors.InputError, "EOF: reading array header length"),
    "version": (npy("{}", 9), errors.InputError, "its version is 9, not 1, 2 or 3"),
    "no shape": (
        npy("{'descr': '<f8', 'fortran_order': False}"),
        errors.InputError,
        r"correct keys: \['descr', 'fortran_order'\]",
    ),
    "no order": (npy("{'descr': '<f8', 'shape': (1, 2)}"), errors.InputError, r"correct keys: \['descr', 'shape'\]"),
    "no type": (
        npy("{'fortran_order': False, 'shape': (1, 2)}"),
        errors.InputError,
        r"correct keys: \['fortran_order', 'shape'\]",
    ),
    "sides": (
        npy(DESCRIBED % ("'<f8'", "(2, x)")),
        errors.InputError,
        "cannot be read as a NumPy array: malformed node",
    ),
    "huge": (npy(DESCRIBED % ("'<f8'", f"({2**63}, 1)")), errors.ShapeError, "nor beyond 2\\^62"),
    "records": (npy(DESCRIBED % ("[('a', '<f8')]", "(2,)")), errors.DtypeError, "holds records"),
    "dates": (npy(DESCRIBED % ("'<M8'", "(2, 2)")), errors.DtypeError, "has dtype '<M8'; it must hold real numbers"),
    "unknown": (npy(DESCRIBED % ("'<f5'", "(2, 2)")), errors.InputError, "not a valid dtype descriptor: '<f5'"),
    "no bytes": (npy(DESCRIBED % ("'<U0'", "(2, 2)")), errors.DtypeError, "declares 4 entries of no bytes"),
}


@pytest.mark.parametrize("case", BAD_HEADERS)
def test_headers_of_numpy_files(case: str, tmp_path: Path) -> None:
    content, error, message = BAD_HEADERS[case]
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(error, match=f"x.npy.*{message}"):
        read_table(tmp_path / "x.npy")


def test_an_array_of_no_entries_is_not_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((0, 3), dtype=np.float32))
    found = map_array(tmp_path / "x.npy", read_file_header(tmp_path / "x.npy"))
    assert (found.shape, found.dtype) == ((0, 3), np.dtype(np.float32))


def test_arrays_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, X=VALUES, other=VALUES, groups=np.array(list("abab")), names=np.array(list("uvw")), flat=np.ones(7))
    assert set(read_archive(path, ("X", "groups"))) == {"X", "groups"}
    table = read_table(path, array="X", label="groups")
    assert (table.names, table.labels) == (("u", "v", "w"), ("a", "b", "a", "b"))
    assert read_table(path, array="flat").values.shape == (7,)
    for options, message in (
        ({}, r"x.npz holds 2 tables \('X', 'other'\); name one of its arrays"),
        ({"array": "Y"}, "array='Y' is not in x.npz; it has 'X', 'flat'"),
        ({"array": "X", "label": "names"}, "label='names' is not an array of 4 entries in x.npz; it has: 'groups'"),
    ):
        with pytest.raises(errors.OptionError, match=message):
            read_table(path, **options)
    np.savez(path, flat=np.ones(7))
    with pytest.raises(errors.OptionError, match=r"x.npz holds no table, only 'flat'"):
        read_table(path)


# ---- sparse matrices in archives ----


@pytest.mark.parametrize("form", ["bsr", "dia", "coo", "csc", "csr"])
def test_saved_sparse_matrices(form: str, tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "x.npz", sp.coo_array(VALUES).asformat(form))
    np.testing.assert_array_equal(read_table(tmp_path / "x.npz").values.toarray(), VALUES)


BAD_PARTS = {
    "form": ({"format": b"lil", "data": VALUES}, "sparse matrix of format 'lil' with .*; it must be bsr"),
    "part": ({"format": b"csr", "data": np.ones(1)}, "format 'csr' with .*; it must be bsr"),
    "whole": (
        {"format": b"coo", "data": np.ones(1), "row": np.ones(1), "col": np.ones(1, int)},
        "the numbers of rows, columns or diagonals must be whole",
    ),
    "flat": (
        {"format": b"csr", "data": np.ones((1, 1)), "indices": np.zeros(1, int), "indptr": np.array([0, 1, 1, 1, 1])},
        "data, indices and indptr must each have one dimension",
    ),
    "index": ({"format": b"coo", "data": np.ones(1), "row": np.array([9]), "col": np.zeros(1, int)}, "x.npz.*9"),
}


@pytest.mark.parametrize("case", BAD_PARTS)
def test_bad_parts_of_saved_matrices(case: str, tmp_path: Path) -> None:
    arrays, message = BAD_PARTS[case]
    np.savez(tmp_path / "x.npz", shape=np.array([4, 3]), **arrays)
    with pytest.raises(errors.InputError, match=message):
        read_table(tmp_path / "x.npz")


def test_complex_and_misshapen_saved_matrices(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "x.npz", sp.coo_array(VALUES * 1j))
    with pytest.raises(errors.DtypeError, match="values of dtype complex128; they must be real numbers"):
        read_table(tmp_path / "x.npz")
    for shape in ([4, -3], [4, 3, 2], [4.0, 3.0]):
        np.savez(tmp_path / "x.npz", format=b"csr", shape=np.array(shape))
        with pytest.raises(errors.ShapeError, match=r"x.npz has the shape .*; it must be two numbers >= 0"):
            read_table(tmp_path / "x.npz")


# ---- Matrix Market ----

BAD_MATRICES = {
    "general\n": (errors.InputError, "it must begin with '%%MatrixMarket matrix'"),
    "%%MatrixMarket matrix array complex general\n1 1\n1 0\n": (errors.DtypeError, "holds complex numbers"),
    "%%MatrixMarket matrix list real general\n1 1\n1\n": (errors.InputError, "declares 'list'.* 'array', 'coordinate'"),
    "%%MatrixMarket matrix array half general\n1 1\n1\n": (errors.InputError, "declares 'half', which is not known"),
    "%%MatrixMarket matrix array pattern general\n1 1\n1\n": (errors.ShapeError, "general array of patterns .*no such"),
    "%%MatrixMarket matrix array real symmetric\n2 3\n1\n": (errors.ShapeError, "2 rows and 3 columns: no such matrix"),
    "%%MatrixMarket matrix array integer general\n1 2\n1\n1.5\n": (errors.InputError, "hold integers; it holds 1.5"),
    "%%MatrixMarket matrix array integer general\n1 2\n1\ninf\n": (errors.InputError, "it holds (inf|infinity)"),
    "%%MatrixMarket matrix array integer general\n1 2\n1\n9007199254740992\n": (
        errors.IntegerOverflowError,
        "beyond 2\\*\\*53: it has no exact float64 value. Divide by a common factor",
    ),
    "%%MatrixMarket matrix array real general\n900 900\n1\n": (errors.InputError, "declares 810000 entries.*truncated"),
    "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n": (errors.InputError, "is a line of 2"),
}


@pytest.mark.parametrize("number", range(len(BAD_MATRICES)))
def test_bad_matrix_market_files(number: int, tmp_path: Path) -> None:
    text, (error, message) = list(BAD_MATRICES.items())[number]
    (tmp_path / "x.mtx").write_text(text)
    with pytest.raises(error, match=f"x.mtx.*{message}"):
        read_matrix(tmp_path / "x.mtx")


def test_a_matrix_market_file_with_a_line_without_end(tmp_path: Path) -> None:
    (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix array real general\n1 1\n" + "1" * 70_000)
    with pytest.raises(errors.InputError, match="a line of more than 65536 characters; a row, an edge or an entry"):
        read_matrix(tmp_path / "x.mtx")


def test_progress_and_patterns_of_matrix_market_files(tmp_path: Path) -> None:
    text = "%%MatrixMarket matrix coordinate pattern symmetric\n% two edges\n\n3 3 2\n2 1\n3 3\n"
    (tmp_path / "x.mtx").write_text(text)
    seen = []
    found = read_matrix(tmp_path / "x.mtx", on_progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(found.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert seen
    assert all(done <= total == len(text) for done, total in seen)


# ---- text ----


def test_text_tables_of_names(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    with pytest.raises(errors.MissingDataError, match=r"x.csv does not exist or is not a file"):
        read_cells(path)
    for text in ("", "a,b\n1\n"):
        path.write_text(text)
        with pytest.raises(errors.ShapeError, match=r"x.csv is empty or its lines have different numbers of cells"):
            read_cells(path)
    path.write_text("a,b\nc,d\n")
    assert read_cells(path) == (None, [["a", "b"], ["c", "d"]])  # nothing says that the first line is a header
    path.write_text("a,b\n1,d\n")
    assert read_cells(path) == (["a", "b"], [["1", "d"]])


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(errors.OptionError, match=r"'c' is not a column of x.csv; it has 'a', 'b'"):
        read_table(path, label="c")
    path.write_text("1,2,7\n3,4,8\n")
    assert read_table(path, label="2").labels == ("2", "4")
    assert read_table(path, index="3").row_labels == ("7", "8")
    with pytest.raises(errors.OptionError, match=r"'4' is not a column of x.csv"):
        read_table(path, index="4")
    path.write_text("a,b\nu,1\nv,2\n")
    with pytest.raises(errors.DtypeError, match="no column of numbers is left"):
        read_table(path, index="a", label="b")


def test_gaps(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,\n,2\n")
    with pytest.raises(errors.OptionError, match=r"missing='guess' is not known. Allowed: 'drop', 'error', 'mean'"):
        read_table(path, missing="guess")
    with pytest.raises(errors.NonFiniteError, match="every row has a gap"):
        read_table(path, missing="drop")
    np.testing.assert_array_equal(read_table(path, missing="mean").values, [[1.0, 2.0], [1.0, 2.0]])
    path.write_text("a,b\n1,\n2,\n")
    with pytest.raises(errors.NonFiniteError, match="column 'b' has no value at all, so there is no mean to fill in"):
        read_table(path, missing="mean")
    path.write_text("a,b\n1,5\n2,6\n")
    assert read_table(path, missing="mean").notes == ()
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(VALUES))
    with pytest.raises(errors.OptionError, match="is for dense tables; a sparse file has no gaps but its own NaN"):
        read_table(tmp_path / "x.npz", missing="drop")


def test_failures_of_the_system_while_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.io import text as text_tables

    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    for failure, message in (
        (PermissionError("no"), "x.csv may not be read: permission denied"),
        (MemoryError(), "x.csv does not fit into memory"),
        (RuntimeError(), "x.csv cannot be read as .csv: RuntimeError. It is damaged"),
    ):

        def fails(path: Path, failure: Exception = failure) -> None:
            raise failure

        monkeypatch.setattr(text_tables, "text_rows", fails)
        with pytest.raises(errors.InputError, match=message):
            read_table(tmp_path / "x.csv")


# ---- blocks of rows ----


def test_cells_that_arrow_files_leave_empty(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    path = tmp_path / "x.arrow"
    cases = (
        (pa.table({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0]}), errors.ShapeError, "column 'a', has 1 empty cells"),
        (pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}), errors.DtypeError, "column 'b', holds string; it must hold"),
        (
            pa.table({"v": pa.array([[1.0, 2.0], None], type=pa.list_(pa.float64(), 2))}),
            errors.ShapeError,
            "column 'v', has 1 empty cells in one batch; fill or drop them first",
        ),
        (
            pa.table({"v": pa.array([["a", "b"], ["c", "d"]], type=pa.list_(pa.string(), 2))}),
            errors.DtypeError,
            "column 'v', holds string; it must hold real numbers. Drop it",
        ),
    )
    for table, error, message in cases:
        feather.write_feather(table, path, compression="uncompressed")
        with pytest.raises(error, match=f"x.arrow.*{message}"):
            rows_of(path)


def test_groups_of_hdf5_and_zarr_files(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_group("X").attrs["encoding-type"] = "dataframe"
        file["whole"] = np.array([[2**60, 1], [2, 3]])
        file["small"] = np.array([[1, 2], [3, 4]], dtype=np.int64)
    with pytest.raises(errors.InputError, match=r"x.h5:X is a group that holds no matrix \(dataframe\)"):
        open_rows(tmp_path / "x.h5", None)
    with pytest.raises(errors.IntegerOverflowError, match=str(2**60)):
        rows_of(tmp_path / "x.h5", "whole")
    np.testing.assert_array_equal(rows_of(tmp_path / "x.h5", "small"), [[1, 2], [3, 4]])
    np.save(tmp_path / "x.npy", VALUES)
    with pytest.raises(errors.OptionError, match=r"dataset='X' names a part of a .* file; x\.npy has none"):
        open_rows(tmp_path / "x.npy", "X")
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "x.zarr"), mode="w")
    for name in ("a", "b"):
        array = group.zeros(name=name, shape=VALUES.shape, dtype="f8", chunks=(2, 3))
        array[:] = VALUES
    group.create_group("deeper")
    np.testing.assert_array_equal(rows_of(tmp_path / "x.zarr", "b"), VALUES)
    for dataset, error, message in (
        (None, errors.OptionError, "is a group; choose one of its arrays with dataset='...': 'a', 'b', 'deeper'"),
        ("c", errors.OptionError, "is a group; choose one of its arrays"),
        ("deeper", errors.InputError, "x.zarr:deeper is a group, not an array"),
    ):
        with pytest.raises(error, match=message):
            open_rows(tmp_path / "x.zarr", dataset)
    (tmp_path / "not.zarr").mkdir()
    with pytest.raises(errors.InputError, match=r"not.zarr cannot be read as a zarr store"):
        open_rows(tmp_path / "not.zarr", None)


def test_a_zarr_store_newer_than_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarr = pytest.importorskip("zarr")
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "zarr.json").write_text("not JSON")
    monkeypatch.setattr(zarr, "__version__", "2.18.0")
    with pytest.raises(errors.InputError, match=r"x\.zarr is in zarr's format 3.* pip install 'zarr>=3'"):
        open_rows(tmp_path / "x.zarr", None)


def damaged_csr(path: Path, **parts: np.ndarray) -> None:
    matrix = sp.csr_array(VALUES)
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["shape"], group.attrs["encoding-type"] = matrix.shape, "csr_matrix"
        for name in ("data", "indices", "indptr"):
            group[name] = parts.get(name, getattr(matrix, name))


def test_compressed_rows_that_do_not_fit_together(tmp_path: Path) -> None:
    path = tmp_path / "x.h5ad"
    whole = sp.csr_array(VALUES)
    damaged_csr(path)
    np.testing.assert_array_equal(rows_of(path), VALUES)
    for parts, message in (
        ({"indptr": whole.indptr[:-1]}, r"\(4,\) row pointers do not fit 4 rows"),
        ({"indptr": whole.indptr.astype(float)}, r"\(5,\) row pointers do not fit 4 rows"),
        ({"indptr": whole.indptr + 1}, "its row pointers do not fit 4 rows"),
        ({"data": whole.data[:-1]}, "10 values, 11 indices, 11 expected"),
        ({"indices": whole.indices - 1}, r"column indices outside 0\.\.2"),
    ):
        damaged_csr(path, **parts)
        with pytest.raises(errors.InputError, match=f"x.h5ad:X is damaged: {message}"):
            rows_of(path)


def test_tall_chunks_are_advised_against(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", data=np.ones((40, 20)), chunks=(40, 2))
    assert "is stored in tall chunks (40, 2)" in str(open_rows(tmp_path / "x.h5", None).advice)
    zarr = pytest.importorskip("zarr")
    zarr.open(str(tmp_path / "x.zarr"), mode="w", shape=(40, 20), dtype="f8", chunks=(40, 2))
    assert "is stored in tall chunks (40, 2)" in str(open_rows(tmp_path / "x.zarr", None).advice)


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((60, 50)))
    source = open_rows(tmp_path / "x.npy", None)
    os.truncate(tmp_path / "x.npy", 10_000)
    blocks = source.blocks(10, 0, lambda count: np.empty((count, 50)))
    with pytest.raises(errors.InputError, match=r"x.npy ended \d+ bytes early while it was read; was it changed\?"):
        list(blocks)


def test_what_the_system_says_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc, the physical memory; where not even that is known, a limit that nothing reaches."""
    from sparseigen.checks import memory

    def missing(*given: object, **named: object) -> None:
        raise OSError("no such file")

    monkeypatch.setattr(memory, "open", missing, raising=False)
    monkeypatch.setattr(memory, "os", SimpleNamespace(sysconf={"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}.__getitem__))
    assert memory._free_in_system() == 40_960
    monkeypatch.setattr(memory, "os", SimpleNamespace(sysconf=missing))
    assert memory._free_in_system() == memory.UNLIMITED
    monkeypatch.setattr(Path, "read_text", missing)
    assert memory._left_in_control_groups() == memory.UNLIMITED
