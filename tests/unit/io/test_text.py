"""Text tables: cells, names and lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sparseigen import errors
from sparseigen.io.tables import read_table
from sparseigen.io.text import read_cells


def test_a_small_file_with_a_line_that_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparseigen.io import text as text_tables

    monkeypatch.setattr(text_tables, "available_bytes", lambda: 64 << 20)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"1" * (8 << 20)))
    assert (tmp_path / "x.csv.gz").stat().st_size < 20_000
    with pytest.raises(errors.InputError, match=r"x\.csv\.gz has a line of more than 1048576 characters"):
        read_table(tmp_path / "x.csv.gz")


def test_python_notation_is_no_number(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n2,1_000\n3,4\n")
    with pytest.raises(errors.DtypeError, match="'1_000' is not a number"):
        read_table(tmp_path / "x.csv")


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


@pytest.mark.parametrize(
    "text",
    ["a;b\n1,5;2\n-0,25;1,234\n", "1,5;2\n-0,25;1,234\n", "a\tb\n1,5\t2\n-0,25\t1,2340\n", "a;b\n1;2\n1,5;3e1\n"],
    ids=["header", "no header", "tabs", "whole numbers first"],
)
def test_decimal_commas(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    values = read_table(tmp_path / "t.csv").values.tolist()
    assert values == ([[1.0, 2.0], [1.5, 30.0]] if "3e1" in text else [[1.5, 2.0], [-0.25, 1.234]])


def test_commas_that_may_be_something_else(tmp_path: Path) -> None:
    """Two marks in one file, and what may be thousands beside tabs: refused rather than guessed."""
    (tmp_path / "t.csv").write_text("a;b\n1,5;2\n1.5;3\n")
    with pytest.raises(
        errors.InputError, match=r"t.csv, line 3: '1.5', where numbers before have another decimal mark"
    ):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.tsv").write_text("a\tb\n2\t1,234\n1\t3\n")
    with pytest.raises(errors.DtypeError, match="'1,234' is not a number"):
        read_table(tmp_path / "t.tsv")
    (tmp_path / "plain.csv").write_text("a,b\n1,5\n2,7\n")
    assert read_table(tmp_path / "plain.csv").values.shape == (2, 2)
