"""Sparse h5ad matrices stored by columns: no blocks of rows can be read from them, but they can be turned once."""

from __future__ import annotations

from pathlib import Path

from sparseigen.inputs.optional import require
from sparseigen.inputs.row_source import CallerRows, RowSource


def by_columns_or_rows(path: Path, dataset: str | None) -> RowSource | None:
    """The rows of a matrix stored by columns, turned in memory; None for every other file."""
    if path.suffix.lower() not in (".h5ad", ".h5", ".hdf5"):
        return None
    h5py = require("h5py", purpose="reading HDF5 files")
    with h5py.File(path, "r") as file:
        node = file.get(dataset or "X")
        if node is None or node.attrs.get("encoding-type") != "csc_matrix":
            return None
        from scipy.sparse import csc_matrix

        shape = tuple(int(side) for side in node.attrs["shape"])
        matrix = csc_matrix((node["data"][:], node["indices"][:], node["indptr"][:]), shape).tocsr()
    step = max(1, (1 << 22) // shape[1])
    return CallerRows(lambda: (matrix[i : i + step] for i in range(0, shape[0], step)), shape)
