"""The compiled bindings refuse what would walk out of memory."""

from __future__ import annotations

import numpy as np
import pytest

from sparseigen import kernels


@pytest.mark.skipif(kernels.active.NAME == "numpy", reason="there is no extension")
def test_bindings_refuse_what_would_walk_out_of_memory() -> None:
    compiled = kernels._compiled
    starts, columns, values = np.array([0, 2, 1000]), np.array([0, 1]), np.ones(2)
    out, rows, weights = np.zeros(2), np.array([1]), np.ones(1)
    with pytest.raises(ValueError, match="row starts"):
        compiled.sparse_row_dots(starts, columns, values, np.ones(2), out)
    with pytest.raises(ValueError, match="row starts"):
        compiled.sparse_combine_rows(starts, columns, values, rows, weights, out)
    with pytest.raises(ValueError, match="lengths"):
        compiled.sparse_combine_rows(starts[:0], columns, values, rows, weights, out)
    halves = np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(2)
    with pytest.raises(ValueError, match="row starts"):
        compiled.sparse_transpose(starts, columns, values, *halves)
    with pytest.raises(ValueError, match="lengths"):
        compiled.sparse_transpose(np.array([0, 1, 1]), columns, values, *halves)
    for outside in (-1, 2, 10**9):
        with pytest.raises(ValueError, match="column index"):
            compiled.sparse_transpose(np.array([0, 1, 2]), np.array([0, outside]), values, *halves)
    with pytest.raises(ValueError, match="row index"):
        compiled.combine_rows(np.eye(2), np.array([5]), weights, out)
    for bad in ([0, 9, 2], [0, -5, 2], [1, 1, 2]):
        graph = (np.array(bad), np.array([0, 1], dtype=np.int32), np.zeros(0, dtype=np.int64))
        with pytest.raises(ValueError, match="row starts"):
            compiled.graph_add_rows(*graph, np.array([0, 1]), 1, np.zeros(2, dtype=np.int64))
        with pytest.raises(ValueError, match="row starts"):
            compiled.graph_is_symmetric(*graph)
    with pytest.raises(TypeError):
        compiled.row_dots(np.eye(2, dtype=object), np.ones(2), out)
    stream, format_ = np.zeros(4, dtype=np.uint8), np.array([4, 6, 7, 4, -3, 1, 0, 1, 1, 3])
    with pytest.raises(ValueError, match="out of range"):
        compiled.decode_webgraph(stream, 0, format_, 0, 4, np.zeros(5, dtype=np.int64), np.zeros(6, dtype=np.int32))
