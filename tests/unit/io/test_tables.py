"""Tables from archives, gaps, and failures while a file is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen import errors
from sparseigen.io.npy import read_archive
from sparseigen.io.tables import read_table
from tests.unit.rows.sources import VALUES


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


def test_excel_sheets(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    frame = pandas.DataFrame({"person": ["ann", "ben"], "age": [31, 44], "height": [1.7, 1.8]})
    with pandas.ExcelWriter(tmp_path / "people.xlsx") as book:
        frame.to_excel(book, sheet_name="first", index=False)
        frame.set_index("person").T.to_excel(book, sheet_name="turned")
    table = read_table(tmp_path / "people.xlsx")
    assert (table.names, table.row_labels) == (("age", "height"), ("ann", "ben"))
    assert table.values.tolist() == [[31.0, 1.7], [44.0, 1.8]]
    turned = read_table(tmp_path / "people.xlsx", array="turned")
    assert (turned.names, turned.row_labels) == (("ann", "ben"), ("age", "height"))


@pytest.mark.parametrize("labels", [["ann", "ann"], [7, 3]], ids=["text", "numbers"])
def test_the_index_of_a_frame_in_parquet_is_no_variable(labels: list[object], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    index = pandas.Index(labels, name="person")
    pandas.DataFrame({"age": [31, 44], "height": [1.7, 1.8]}, index=index).to_parquet(tmp_path / "people.parquet")
    table = read_table(tmp_path / "people.parquet")
    assert table.names == ("age", "height")
    assert table.row_labels == tuple(map(str, labels))
