"""Zarr stores as tables: plain arrays, and AnnData's layout with names and labels."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen.errors import InputError, OptionError
from sparseigen.io.tables import read_table
from sparseigen.io.zarr_stores import find_in_store, is_store, list_store, open_store

zarr = pytest.importorskip("zarr")
VALUES = np.round(np.random.default_rng(1).standard_normal((12, 5)), 2) * (np.arange(5) % 2 == 0)


def put(group: Any, name: str, values: np.ndarray) -> None:
    array = group.create_array(name, shape=values.shape, dtype=values.dtype) if hasattr(group, "create_array") else None
    if array is None:
        group.create_dataset(name, data=values)
    else:
        array[...] = values


def write_store(path: Path, form: str = "dense") -> Path:
    """What anndata writes, names in bytes of fixed length."""
    old = {"zarr_format" if zarr.__version__.startswith("3") else "zarr_version": 2}
    root = zarr.open_group(str(path), mode="w", **old)
    if form == "dense":
        put(root, "X", VALUES)
    else:
        matrix = sp.csr_matrix(VALUES).asformat(form)
        node = root.create_group("X")
        node.attrs.update({"encoding-type": f"{form}_matrix", "shape": list(VALUES.shape)})
        for part in ("data", "indices", "indptr"):
            put(node, part, getattr(matrix, part))
    for axis, count in (("var", 5), ("obs", 12)):
        node = root.create_group(axis)
        node.attrs["_index"] = "_index"
        put(node, "_index", np.array([f"{axis}{i}" for i in range(count)], dtype="S8"))
    kinds = root["obs"].create_group("kind")
    put(kinds, "categories", np.array(["u", "v"], dtype="S8"))
    put(kinds, "codes", np.array([0, 1, -1] * 4, dtype=np.int8))
    return path


@pytest.mark.parametrize("form", ["dense", "csr", "csc"])
def test_anndata_stores_come_with_names_and_labels(form: str, tmp_path: Path) -> None:
    table = read_table(write_store(tmp_path / "cells.zarr", form), label="kind")
    values = table.values.toarray() if sp.issparse(table.values) else table.values
    np.testing.assert_array_equal(values, VALUES)
    assert sp.issparse(table.values) is (form != "dense")
    assert table.names == tuple(f"var{i}" for i in range(5))
    assert table.row_labels[:2] == ("obs0", "obs1")
    assert table.labels[:3] == ("u", "v", "")


def test_plain_arrays_and_groups(tmp_path: Path) -> None:
    root = zarr.open_group(str(tmp_path / "x.zarr"), mode="w")
    put(root, "first", VALUES)
    np.testing.assert_array_equal(read_table(tmp_path / "x.zarr").values, VALUES)
    put(root, "second", VALUES)
    with pytest.raises(OptionError, match=r"x.zarr is a group; name one of its arrays \('array'\): 'first', 'second'"):
        read_table(tmp_path / "x.zarr")
    np.testing.assert_array_equal(read_table(tmp_path / "x.zarr", array="second").values, VALUES)
    alone = read_table(tmp_path / "x.zarr" / "first", kind="zarr")
    np.testing.assert_array_equal(alone.values, VALUES)


def test_what_is_not_in_a_store(tmp_path: Path) -> None:
    store = open_store(write_store(tmp_path / "cells.zarr"))
    assert is_store(store)
    assert not is_store({})
    with pytest.raises(InputError, match="cells has no 'layers/counts'"):
        find_in_store(store, "layers/counts", "cells")


def test_what_zarr_does_not_recognise_is_left_out_without_a_warning(tmp_path: Path) -> None:
    path = write_store(tmp_path / "cells.zarr")
    (path / "X" / ".zarray").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list_store(open_store(path)) == ["obs", "var"]
