"""Peak memory of one kind of input: ``python -m tests.unit.peak_work KIND``, in a process of its own.

Prints, for both precisions, with and without certificate, the bytes of the input and what a solve took beyond it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

import sparseigen as se

Solve = Callable[[Any, bool], Any]


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def _numbers(rows: int, columns: int, kind: type) -> Any:
    """Filled row by row, so that nothing of the input's own size is left behind by making it."""
    rng = np.random.default_rng(0)
    data = np.empty((rows, columns), kind)
    for row in data:
        row[:] = rng.standard_normal(columns, dtype=kind)
    data[:, :20] += 2 * data[:, :1]
    return data


def _wider(kind: type) -> int:
    return 2 if kind is np.float32 else 1


def matrix(kind: type) -> tuple[Any, Solve]:
    data = _numbers(3500, 3500, kind)
    for i in range(len(data)):
        data[i, :i] = data[:i, i]
    data[np.diag_indices(len(data))] += 180.0
    return data, lambda given, certify: se.sparse_eigenvector(given, 20, certify=certify)


def wide_data(kind: type) -> tuple[Any, Solve]:
    data = _numbers(150, 30_000 * _wider(kind), kind)
    return data, lambda given, certify: se.sparse_eigenvector(se.covariance(given), 20, certify=certify)


def tall_data(kind: type) -> tuple[Any, Solve]:
    data = _numbers(40_000 * _wider(kind), 250, kind)
    return data, lambda given, certify: se.sparse_eigenvector(se.covariance(given), 20, certify=certify)


def correlation(kind: type) -> tuple[Any, Solve]:
    data = _numbers(40_000 * _wider(kind), 250, kind)
    return data, lambda given, certify: se.sparse_eigenvector(se.covariance(given, scale=True), 20, certify=certify)


def _compressed(rows: int, columns: int, a_row: int, kind: type) -> Any:
    rng = np.random.default_rng(0)
    indices = np.empty(rows * a_row, np.int32)
    for i in range(rows):
        indices[i * a_row : (i + 1) * a_row] = np.arange(a_row) * (columns // a_row) + rng.integers(columns // a_row)
    starts = np.arange(0, rows * a_row + 1, a_row, dtype=np.int32)
    return sp.csr_array((np.ones(rows * a_row, kind), indices, starts), shape=(rows, columns))


def sparse_data(kind: type) -> tuple[Any, Solve]:
    data = _compressed(30_000, 2000, 200, kind)
    data.data[:] = np.random.default_rng(1).random(data.nnz, dtype=kind)
    return data, lambda given, certify: se.sparse_eigenvector(se.covariance(given), 20, certify=certify)


def sparse_matrix(kind: type) -> tuple[Any, Solve]:
    """A band of 201 numbers around the diagonal, symmetric by itself, filled row by row like the others."""
    size, reach = 20_000, 100
    reached = np.clip(np.arange(size + 1), 0, reach)
    lengths = 1 + reached[:size] + reached[:size][::-1]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values, columns = np.empty(starts[-1], kind), np.empty(starts[-1], np.int32)
    for i in range(size):
        row = slice(starts[i], starts[i + 1])
        columns[row] = np.arange(max(0, i - reach), min(size, i + reach + 1))
        away = np.abs(columns[row] - i)
        values[row] = np.cos(columns[row] + i) / (1 + away) + 9 * (away == 0)
    given = sp.csr_array((values, columns, starts), shape=(size, size))
    return given, lambda matrix, certify: se.sparse_eigenvector(matrix, 20, certify=certify)


def graph(kind: type) -> tuple[Any, Solve]:
    return _compressed(60_000, 60_000, 50, kind), lambda given, certify: se.densest_k_subgraph(
        given, 50, certify=certify
    )


def file_in_passes(kind: type) -> tuple[Any, Solve]:
    folder = tempfile.mkdtemp(prefix="peak-")
    np.save(Path(folder) / "x.npy", _numbers(40_000 * _wider(kind), 250, kind))

    def solve(given: Any, certify: bool) -> None:
        se.sparse_eigenvector(se.covariance(given, memory_limit="30MB"), 20, certify=certify)

    return Path(folder) / "x.npy", solve


KINDS: dict[str, Callable[[type], tuple[Any, Solve]]] = {
    "matrix": matrix,
    "wide data": wide_data,
    "tall data": tall_data,
    "correlation": correlation,
    "sparse data": sparse_data,
    "sparse matrix": sparse_matrix,
    "graph": graph,
    "file in passes": file_in_passes,
}


def _bytes(given: Any) -> int:
    if sp.issparse(given):
        return int(given.data.nbytes + given.indices.nbytes + given.indptr.nbytes)
    return int(given.stat().st_size) if isinstance(given, Path) else int(given.nbytes)


def main(name: str) -> None:
    small = np.random.default_rng(0).standard_normal((40, 12))
    for given in (np.cov(small.T), se.covariance(small), se.covariance(sp.csr_array(small))):
        se.sparse_eigenvector(given, 3)
    se.densest_k_subgraph(sp.csr_array(np.ones((6, 6))), 3)
    assert scipy.linalg.norm(small) > 0.0
    for kind in (np.float32, np.float64):
        np.ones((800, 800), kind) @ np.ones((800, 800), kind)  # BLAS keeps its own work space
    found = []
    for kind in (np.float64, np.float32):
        given, solve = KINDS[name](kind)
        for certify in (False, True):
            with contextlib.suppress(AttributeError):  # what was freed before must not be handed out again uncounted
                ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on
            before = _status("VmRSS")
            solve(given, certify)
            found.append([np.dtype(kind).name, certify, _bytes(given), _status("VmHWM") - before])
        if isinstance(given, Path):
            given.unlink()
            given.parent.rmdir()
        del given, solve
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
