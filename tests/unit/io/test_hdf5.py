"""AnnData files: names, labels and layers; links out of a file are not followed."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen import errors
from sparseigen.io.hdf5 import read_label, read_names
from sparseigen.io.tables import read_table
from tests.unit.rows.sources import VALUES, rows_of


def test_hdf5_files_that_point_at_others(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["X"] = np.eye(4)
    (tmp_path / "secret.bin").write_bytes(np.eye(4).tobytes())
    with h5py.File(tmp_path / "link.h5ad", "w") as file:
        file["X"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "X")
    with h5py.File(tmp_path / "soft.h5ad", "w") as file:
        file["far"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "X")
        file["X"] = h5py.SoftLink("/far")
    with h5py.File(tmp_path / "raw.h5ad", "w") as file:
        file.create_dataset("X", (4, 4), "f8", external=[(str(tmp_path / "secret.bin"), 0, h5py.h5f.UNLIMITED)])
    with h5py.File(tmp_path / "virtual.h5ad", "w") as file:
        layout = h5py.VirtualLayout((4, 4), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "X", (4, 4))
        file.create_virtual_dataset("X", layout)
    for name in ("link", "soft", "raw", "virtual"):
        with pytest.raises(errors.InputError, match=f"{name}.h5ad.*(another file|other files)"):
            read_table(tmp_path / f"{name}.h5ad")
        with pytest.raises(errors.InputError, match=f"{name}.h5ad.*(another file|other files)"):
            rows_of(tmp_path / f"{name}.h5ad")
    with h5py.File(tmp_path / "own.h5ad", "w") as file:
        file["numbers"] = np.arange(12.0).reshape(4, 3)
        file["X"] = h5py.SoftLink("/numbers")
    np.testing.assert_array_equal(read_table(tmp_path / "own.h5ad").values, np.arange(12.0).reshape(4, 3))
    with h5py.File(tmp_path / "ring.h5ad", "w") as file:
        file["X"], file["Y"] = h5py.SoftLink("/Y"), h5py.SoftLink("/X")
    with pytest.raises(errors.InputError, match=r"ring\.h5ad"):
        read_table(tmp_path / "ring.h5ad")


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
    with pytest.raises(errors.OptionError, match=r"label='age' is not a column of obs in x.h5ad; it has 'b"):
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


@pytest.mark.parametrize("layout", ["compound", "references", "nullable"])
def test_labels_of_old_and_new_layouts(layout: str, tmp_path: Path) -> None:
    """Before anndata 0.7 a table of records, then categories beside the columns."""
    path = tmp_path / "old.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = np.arange(8.0).reshape(4, 2)
        codes, words = np.array([0, 1, 1, -1], dtype=np.int8), np.array(["u", "v"], dtype="S")
        if layout == "compound":
            records = np.array(
                [(b"c0", 0), (b"c1", 1), (b"c2", 1), (b"c3", -1)], dtype=[("index", "S8"), ("kind", "i1")]
            )
            file["obs"], file["uns/kind_categories"] = records, words
        elif layout == "references":
            file["obs/kind"], file["obs/__categories/kind"] = codes, words
        else:
            file["obs/kind/values"], file["obs/kind/mask"] = codes, codes < 0
        wanted = ("0", "1", "1", "-1") if layout == "nullable" else ("u", "v", "v", "")
        assert read_label(file, "kind", 4, "old.h5ad") == wanted
        if layout == "compound":
            assert read_names(file, "obs", "old.h5ad") == ("c0", "c1", "c2", "c3")
        with pytest.raises(errors.OptionError, match=r"label='sex' is not a column of obs in old.h5ad; it has 'kind'"):
            read_label(file, "sex", 4, "old.h5ad")
    assert read_table(path, label="kind").labels == wanted


def test_compressed_rows_of_the_oldest_layout(tmp_path: Path) -> None:
    matrix = sp.random_array((6, 4), density=0.5, format="csr", rng=np.random.default_rng(0))
    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = b"csr", (6, 4)
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(matrix, part)
    np.testing.assert_array_equal(read_table(tmp_path / "old.h5ad").values.toarray(), matrix.toarray())
