"""Which columns of a file are variables, row names, labels or text, and what is done about gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sparseigen.errors import DtypeError, OptionError
from sparseigen.io.tables import read_table


def read(tmp_path: Path, text: str, **options: object):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return read_table(path, **options)  # type: ignore[arg-type]


def test_header_and_row_names(tmp_path: Path) -> None:
    table = read(tmp_path, "id,age,height\nann,31,1.7\nben,44,1.8\n")
    assert table.names == ("age", "height")
    assert table.row_labels == ("ann", "ben")
    assert table.values.tolist() == [[31.0, 1.7], [44.0, 1.8]]
    assert read(tmp_path, "1,2\n3,4\n").names is None
    assert read(tmp_path, "x;y\n1;2\n3;4\n").names == ("x", "y")


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("sample,a\n1,5\n2,6\n", ("a",), ("1", "2")),
        (",a\n0,5\n1,6\n", ("a",), ("0", "1")),
        ("sample,a\n7,5\n2,6\n", ("sample", "a"), None),  # a number that does not count the rows is a variable
        ("time,a\n1,5\n2,6\n", ("time", "a"), None),  # nothing says that this is not a measurement
        ("a b\n".replace(" ", ",") + "r1,1,2\nr2,3,5\n", ("a", "b"), ("r1", "r2")),  # R's header is one cell short
        ("a,,c\n1,2,3\n4,5,7\n", ("a", "column 2", "c"), None),
    ],
)
def test_index_columns(tmp_path: Path, text: str, names: tuple[str, ...], rows: tuple[str, ...] | None) -> None:
    table = read(tmp_path, text)
    assert table.names == names
    assert table.row_labels == rows


def test_index_and_label_by_name(tmp_path: Path) -> None:
    text = "a,who,group\n1,ann,x\n2,ann,y\n"
    table = read(tmp_path, text, index="who", label="group")
    assert (table.names, table.row_labels, table.labels) == (("a",), ("ann", "ann"), ("x", "y"))
    assert read(tmp_path, "id,a\n1,5\n2,6\n", index="none").names == ("id", "a")
    with pytest.raises(OptionError, match="'colour' is not a column"):
        read(tmp_path, text, label="colour")


def test_repeated_text_in_front_is_a_column_of_text(tmp_path: Path) -> None:
    text = "species,a\ncat,1\ncat,2\ndog,4\n"
    with pytest.raises(DtypeError, match="column 'species': 'cat' is not a number; 1 of 2 columns holds text"):
        read(tmp_path, text)
    table = read(tmp_path, text, drop_text=True)
    assert table.names == ("a",)
    assert table.notes == ("left out as text: column 'species'",)


def test_all_columns_of_text_are_named(tmp_path: Path) -> None:
    text = "a," + ",".join(f"t{i}" for i in range(7)) + "\n" + "\n".join(f"{i}" + ",x" * 7 for i in range(3))
    with pytest.raises(DtypeError, match=r"7 of 8 columns hold text \(column 't0', .* and 2 more\)"):
        read(tmp_path, text)


def test_header_can_be_said(tmp_path: Path) -> None:
    text = "2001,2002\n1,2\n3,5\n"
    assert read(tmp_path, text).values.shape == (3, 2)
    table = read(tmp_path, text, header=True)
    assert table.names == ("2001", "2002")
    assert table.values.shape == (2, 2)


def test_gaps(tmp_path: Path) -> None:
    text = "a,b\n1,2\nNA,4\n3,\n5,9\n"
    assert np.isnan(read(tmp_path, text).values).sum() == 2
    filled = read(tmp_path, text, missing="mean")
    assert filled.values.tolist() == [[1, 2], [3, 4], [3, 5], [5, 9]]
    assert filled.notes == ("2 gaps filled with the column's mean",)
    dropped = read(tmp_path, "id," + text.replace("\n", "\nx,", 4), missing="drop", index="id")
    assert dropped.values.tolist() == [[1, 2], [5, 9]]
    assert dropped.row_labels == ("x", "x")
    with pytest.raises(ValueError, match="column 'b' has no value at all"):
        read(tmp_path, "a,b\n1,\n2,\n", missing="mean")
