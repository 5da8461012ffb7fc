"""Rows of every kind of file give the answer of data in memory; bad files are refused by name."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.operators.pass_data import ChunkedData
from sparseigen.rows.files import as_row_source, check_checkpoint, open_rows
from tests.unit.rows.sources import NAMED, NAMES, SOURCES, VALUES, N, Trap, rows_of, write_h5ad


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("memory_limit", [None, "60kB"])
def test_answer_is_that_of_data_in_memory(kind, dtype, memory_limit, data, tmp_path):
    table = data.astype(dtype)
    source, options = SOURCES[kind](tmp_path, table)
    seen = []
    operator = se.covariance(
        source, scale=True, memory_limit=memory_limit, on_block=lambda *facts: seen.append(facts), **options
    )
    assert isinstance(operator, ChunkedData)
    assert operator.dtype == dtype
    assert operator.names == (tuple(NAMES) if kind in NAMED else None)
    assert seen[-1] == (operator.passes_made, N, N)
    in_memory = se.covariance(sp.csr_array(table) if operator.sparse_blocks else table, scale=True)
    np.testing.assert_allclose(operator.to_dense(), in_memory.to_dense(), rtol=0, atol=1e-13)
    found, right = se.sparse_eigenvector(operator, 4), se.sparse_eigenvector(in_memory, 4)
    np.testing.assert_array_equal(found.support, right.support)
    assert found.value == pytest.approx(right.value, rel=1e-10)


def test_integers_and_half_precision_are_converted(tmp_path, data):
    for dtype, expected in ((np.int16, np.float64), (np.float16, np.float32), (np.int64, np.float64)):
        table = np.round(data * 3).astype(dtype)
        np.save(tmp_path / "x.npy", table)
        operator = se.covariance(tmp_path / "x.npy")
        assert operator.dtype == expected
        np.testing.assert_allclose(operator.means, table.astype(float).mean(axis=0))


def _bad_cases(folder, data):
    write_h5ad(folder / "csc.h5ad", data, kind="csc_matrix")
    np.save(folder / "one.npy", data[:1])
    np.save(folder / "flat.npy", data[0])
    np.save(folder / "text.npy", data.astype(str))
    np.save(folder / "big.npy", np.full((3, 2), 2**60))
    np.save(folder / "short.npy", data)
    with (folder / "short.npy").open("r+b") as file:
        file.truncate(400)
    (folder / "junk.h5").write_bytes(b"junk")
    (folder / "junk.arrow").write_bytes(b"junk")
    (folder / "x.csv").write_text("1,2\n")
    (folder / "x.el").write_text("1 2\n")
    with pytest.importorskip("h5py").File(folder / "two.h5", "w") as file:
        file["a"], file["b"] = data, data
    return {
        "missing.npy": (errors.MissingDataError, "does not exist"),
        "x.csv": (errors.TooFewSamplesError, "has 1 sample"),
        "x.el": (errors.InputError, r"ending '.el'.*sparseigen convert"),
        "csc.h5ad": (errors.InputError, r"stored by columns.*sparseigen convert"),
        "one.npy": (errors.TooFewSamplesError, "has 1 sample"),
        "flat.npy": (errors.ShapeError, "has 1 dimensions"),
        "text.npy": (errors.DtypeError, "must hold real numbers"),
        "big.npy": (errors.IntegerOverflowError, str(2**60)),
        "short.npy": (errors.InputError, "cannot be read as a NumPy array|truncated"),
        "junk.h5": (errors.InputError, "cannot be read as HDF5"),
        "junk.arrow": (errors.InputError, "cannot be read as Arrow IPC"),
        "two.h5": (errors.OptionError, "it has: 'a', 'b'. Choose one with dataset="),
    }


def test_bad_files_are_refused_by_name(tmp_path, data):
    for name, (error, match) in _bad_cases(tmp_path, data).items():
        with pytest.raises(error, match=match):
            se.covariance(tmp_path / name)
    with pytest.raises(errors.OptionError, match="has no dataset 'c'; it has: 'a', 'b'"):
        se.covariance(tmp_path / "two.h5", dataset="c")


def test_a_slow_layout_is_said(tmp_path):
    wide = np.zeros((10, 300))
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table({str(i): wide[:, i] + np.arange(10.0) for i in range(300)}), tmp_path / "x.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        operator = se.covariance(tmp_path / "x.parquet")  # small: said in the description only
    assert "sparseigen convert" in operator.describe()["advice"]


def test_repeated_names_in_a_file_are_refused(tmp_path):
    """Loadings by name would lose a variable."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = [pa.array([1.0, 2.0, 3.0]), pa.array([1.0, 2.0, 9.0])]
    parquet.write_table(pa.Table.from_arrays(columns, names=["a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(errors.DuplicateNamesError, match="'a'"):
        se.covariance(tmp_path / "x.parquet")


@pytest.mark.parametrize("dtype", ["<f8", "|O"])
def test_a_zarr_store_whose_chunks_are_pickles(dtype: str, tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    sprung = tmp_path / "sprung"
    store = tmp_path / "x.zarr"
    store.mkdir()
    (store / ".zarray").write_text(
        '{"zarr_format": 2, "shape": [4, 2], "chunks": [4, 2], "compressor": null, "fill_value": 0, "order": "C", '
        f'"dtype": "{dtype}", "filters": [{{"id": "pickle", "protocol": 5}}]}}'
    )
    (store / "0.0").write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(errors.InputError, match=r"x\.zarr"):
        rows_of(store)
    assert not sprung.exists()


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
        ("deeper", errors.InputError, "x.zarr:deeper is a group that gives no blocks of rows"),
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


def test_shapes_checkpoints_and_sources(tmp_path, rng: np.random.Generator) -> None:
    data = rng.standard_normal((6, 3))
    np.save(tmp_path / "x.npy", data)
    with pytest.raises(errors.OptionError, match=r"shape=\(6, 4\) does not fit x.npy, which has shape \(6, 3\)"):
        as_row_source(tmp_path / "x.npy", dataset=None, shape=(6, 4))
    source = as_row_source(tmp_path / "x.npy", dataset=None, shape=(6, 3))
    assert as_row_source(source, dataset=None, shape=None) is source
    assert as_row_source(data, dataset=None, shape=None) is None
    with pytest.raises(errors.OptionError, match="checkpoint=7 must be a path"):
        check_checkpoint(7)
    for place in (tmp_path, tmp_path / "none" / "x"):
        with pytest.raises(errors.InputError, match="must name a file in a folder that exists"):
            check_checkpoint(place)
    assert check_checkpoint(str(tmp_path / "x")) == tmp_path / "x"


def test_memory_maps_of_every_mode(tmp_path, rng: np.random.Generator) -> None:
    """What the caller wrote into a private map is seen, and stays."""
    data = rng.standard_normal((8, 3))
    np.save(tmp_path / "x.npy", data)
    expected = se.covariance(data).to_dense()
    for mode in ("r", "r+", "c"):
        mapped = np.load(tmp_path / "x.npy", mmap_mode=mode)
        np.testing.assert_allclose(se.covariance(mapped).to_dense(), expected)
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[0] = 100.0
    changed = se.covariance(np.array(private)).to_dense()
    np.testing.assert_allclose(se.covariance(private).to_dense(), changed)
    assert (private[0] == 100.0).all()
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), data)
