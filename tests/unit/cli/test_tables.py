"""What a file's columns are taken for: variables, row names, labels, text, gaps."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen.errors import DtypeError, OptionError
from sparseigen.io.tables import read_table
from tests.unit.cli.running import check_refused, run
from tests.unit.cli.test_bad_files import VALUES, write_h5ad


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
        run("pca", tmp_path / "two.npz", "-k", "1"), 2, "2 tables ('X', 'Y'); name one of its arrays (--array"
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
