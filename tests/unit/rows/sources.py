"""The same table written in every format that is read in blocks of rows, and ways to read it back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen.rows.files import open_rows

N, P = 90, 12


NAMES = [f"gene{i}" for i in range(P)]


def write_h5ad(path, table, *, kind="csr_matrix", names=NAMES):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.attrs["encoding-type"] = "anndata"
        if kind == "dense":
            file.create_dataset("X", data=table, chunks=(7, table.shape[1]))
        else:
            rows = sp.csr_matrix(table) if kind == "csr_matrix" else sp.csc_matrix(table)
            group = file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = kind, np.array(table.shape)
            for part in ("data", "indices", "indptr"):
                group.create_dataset(part, data=getattr(rows, part))
        variables = file.create_group("var")
        variables.attrs["_index"] = "_index"
        variables.create_dataset("_index", data=np.array(names, dtype="S"))


def _npy(folder, table):
    np.save(folder / "x.npy", table)
    return folder / "x.npy", {}


def _npy_fortran(folder, table):
    np.save(folder / "x.npy", np.asfortranarray(table))
    return str(folder / "x.npy"), {}


def _h5(folder, table):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("deep/table", data=table, compression="gzip", chunks=(10, P))
    return folder / "x.h5", {}


def _h5_named(folder, table):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.hdf5", "w") as file:
        file["a"], file["b"] = table, table[:3]
    return folder / "x.hdf5", {"dataset": "a"}


def _h5ad(folder, table):
    write_h5ad(folder / "x.h5ad", table)
    return folder / "x.h5ad", {}


def _h5ad_dense(folder, table):
    write_h5ad(folder / "x.h5ad", table, kind="dense")
    return folder / "x.h5ad", {}


def _zarr(folder, table):
    zarr = pytest.importorskip("zarr")
    array = zarr.open(str(folder / "x.zarr"), mode="w", shape=table.shape, chunks=(16, P), dtype=table.dtype)
    array[:] = table
    return folder / "x.zarr", {}


def _zarr_array(folder, table):
    zarr = pytest.importorskip("zarr")
    path, _ = _zarr(folder, table)
    return zarr.open(str(path), mode="r"), {}


def _arrow_table(table, wide):
    pa = pytest.importorskip("pyarrow")
    if wide:
        return pa.table({name: table[:, i] for i, name in enumerate(NAMES)})
    flat = pa.array(table.ravel())
    return pa.table({"x": pa.FixedSizeListArray.from_arrays(flat, P)})


def _arrow(wide):
    def write(folder, table):
        import pyarrow as pa

        made = _arrow_table(table, wide)
        with pa.OSFile(str(folder / "x.arrow"), "wb") as file, pa.ipc.new_file(file, made.schema) as writer:
            writer.write_table(made, max_chunksize=13)
        return folder / "x.arrow", {}

    return write


def _parquet(wide):
    def write(folder, table):
        import pyarrow.parquet as parquet

        parquet.write_table(_arrow_table(table, wide), folder / "x.parquet", row_group_size=20)
        return folder / "x.parquet", {}

    return write


def _blocks(table):
    return [table[:1], table[1:40], table[40:]]


SOURCES = {
    "npy": _npy,
    "npy by columns": _npy_fortran,
    "hdf5": _h5,
    "hdf5 named": _h5_named,
    "h5ad csr": _h5ad,
    "h5ad dense": _h5ad_dense,
    "zarr": _zarr,
    "zarr array": _zarr_array,
    "arrow lists": _arrow(False),
    "arrow columns": _arrow(True),
    "parquet lists": _parquet(False),
    "parquet columns": _parquet(True),
    "function": lambda folder, table: (lambda: iter(_blocks(table)), {"shape": (N, P)}),
    "list": lambda folder, table: (_blocks(table), {"shape": (N, P)}),
    "sparse blocks": lambda folder, table: (lambda: map(sp.csr_array, _blocks(table)), {"shape": (N, P)}),
}


NAMED = {"h5ad csr", "h5ad dense", "arrow columns", "parquet columns"}


class Trap:
    """Unpickling this would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


VALUES = np.arange(12.0).reshape(4, 3) ** 2


def rows_of(path: Path, dataset: str | None = None, rows: int = 3) -> np.ndarray:
    source = open_rows(path, dataset)
    blocks = source.blocks(rows, 0, lambda count: np.empty((count, source.shape[1]), dtype=source.dtype))
    return np.vstack([block.toarray() if source.sparse else block.copy() for block in blocks])
