"""Sparse h5ad matrices stored by columns: no blocks of rows can be read from them, but they can be turned once."""

from __future__ import annotations

from pathlib import Path

from sparseigen.inputs.columns import damaged
from sparseigen.inputs.hdf5 import child, open_hdf5
from sparseigen.inputs.memory import check_columns_fit, check_fits
from sparseigen.inputs.row_source import CallerRows, RowSource, check_source_shape
from sparseigen.inputs.sparse_parts import compressed


def by_columns_or_rows(path: Path, dataset: str | None) -> RowSource | None:
    """The rows of a matrix stored by columns, turned in memory; None for every other file."""
    if path.suffix.lower() not in (".h5ad", ".h5", ".hdf5"):
        return None
    place = dataset or "X"
    with damaged(path.name, path.suffix.lower()), open_hdf5(path) as file:
        node = child(file, place, path.name) if place in file else None
        if node is None or node.attrs.get("encoding-type") != "csc_matrix":
            return None
        shape = check_source_shape(tuple(int(side) for side in node.attrs["shape"]), f"{path.name}:{place}")
        check_columns_fit(shape[1], path.name)
        parts = [child(node, part, path.name) for part in ("data", "indices", "indptr")]
        check_fits(32 * int(parts[0].size) + 8 * sum(shape), path.name)
        matrix = compressed("csc", (parts[0][:], parts[1][:], parts[2][:]), shape, f"{path.name}:{place}").tocsr()
    step = max(1, (1 << 22) // shape[1])
    return CallerRows(lambda: (matrix[i : i + step] for i in range(0, shape[0], step)), shape)
