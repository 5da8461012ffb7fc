"""What is interrupted: ``python -m fuzzing.signal_work NAME TIMES`` prepares, says "ready", works until Ctrl-C comes.

Kernels are called directly with inputs that keep one call busy for seconds where that is possible. Large inputs are
zeros that nobody has written to: they are read like any others, and take no memory.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from sparseigen import kernels

Work = Callable[[], Any]


def _zeros(rows: int, width: int) -> Any:
    return np.zeros((rows, width))


def dense_rows() -> Work:
    matrix, rows = np.ones((500, 8000)), np.tile(np.arange(500), 4000)
    weights = np.ones(len(rows))
    return lambda: kernels.combine_rows(matrix, rows, weights)


def wide_dense_rows() -> Work:
    matrix, rows = np.ones((100, 60_000)), np.tile(np.arange(100), 4000)
    weights = np.ones(len(rows))
    return lambda: kernels.combine_rows(matrix, rows, weights)


def dense_products() -> Work:
    matrix, vector = _zeros(1_000_000, 1000), np.ones(1000)
    return lambda: kernels.row_dots(matrix, vector)


def dense_step() -> Work:
    matrix, support = _zeros(1_000_000, 1000), np.arange(1000, dtype=np.int64)
    weights = np.ones(1000)
    return lambda: kernels.power_step(matrix, support, weights, 1.0, 50)


def sparse_rows() -> Work:
    data = sp.random(2000, 100_000, 0.01, format="csr", random_state=np.random.default_rng(0))
    rows = np.tile(np.arange(2000), 1000)
    starts, columns, weights = data.indptr, data.indices, np.ones(len(rows))
    return lambda: kernels.sparse_combine_rows(starts, columns, data.data, rows, weights, data.shape[1])


def sparse_products() -> Work:
    entries, rows = 300_000_000, 3000
    starts = np.linspace(0, entries, rows + 1).astype(np.int64)
    columns, values, vector = np.zeros(entries, dtype=np.int64), np.zeros(entries), np.ones(1000)
    return lambda: kernels.sparse_row_dots(starts, columns, values, vector)


def sparse_layout() -> Work:
    data = sp.random(20_000, 200_000, 0.005, format="csr", random_state=np.random.default_rng(0))
    return lambda: kernels.sparse_transpose(data.indptr, data.indices, data.data, data.shape[1])


def screening_codes() -> Work:
    rows = _zeros(300_000, 1000)
    return lambda: kernels.shadow_codes(rows)


def screening_step() -> Work:
    rows, vector = _zeros(1_000_000, 1000), np.ones(1000)
    return lambda: kernels.fused_step(rows, vector, 1.0, 50)


def row_bounds() -> Work:
    block = np.random.default_rng(0).random((4000, 20_000))
    own, weights = np.arange(4000, dtype=np.int64), np.ones(20_000)
    return lambda: kernels.top_row_sums(block, own, weights, 1000)


def symmetric_survey() -> Work:
    matrix = _zeros(30_000, 30_000)
    return lambda: kernels.survey_symmetric(matrix)


def block_search() -> Work:
    matrix = np.cov(np.random.default_rng(0).standard_normal((200, 100)), rowvar=False)
    return lambda: kernels.search_blocks(2.6 * np.eye(100) - matrix, 20, 1e12, np.ones(100))


def _arcs() -> Any:
    """About five million arcs between two hundred thousand vertices, some of them in a dense core."""
    rng = np.random.default_rng(0)
    ends = (rng.random((2, 2_600_000)) ** 3 * 200_000).astype(np.int64)
    matrix = sp.coo_array((np.ones(ends.shape[1], dtype=np.int8), ends), shape=(200_000, 200_000)).tocsr()
    matrix.data[:] = 1
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    return sp.csr_array(matrix.maximum(matrix.T))


def _rows() -> Any:
    from sparseigen.kernels.graph import Rows

    matrix = _arcs()
    return Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), np.zeros(0, dtype=np.int32))


def peeling() -> Work:
    from sparseigen.kernels import graph

    rows = _rows()
    loops, fixed = np.zeros(rows.size, dtype=np.int64), np.zeros(rows.size, dtype=np.uint8)
    return lambda: graph.peel(rows, loops, fixed)


def fair_loads() -> Work:
    from sparseigen.kernels import graph

    rows = _rows()
    loops = np.zeros(rows.size, dtype=np.int64)
    return lambda: graph.fair_loads(rows, loops, 1000, 20)


def greedy_growth() -> Work:
    from sparseigen.kernels import graph

    rows = _rows()
    loops, seeds = np.zeros(rows.size, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return lambda: graph.grow(rows, loops, loops, seeds, rows.size)


def exchanges() -> Work:
    from sparseigen.kernels import graph

    rows = _rows()
    loops, fixed = np.zeros(rows.size, dtype=np.int64), np.zeros(rows.size, dtype=np.uint8)

    def work() -> None:
        members, product = fixed.copy(), loops.copy()
        chosen = np.arange(100_000, 102_000, dtype=np.int64)
        members[chosen] = 1
        graph.add_rows(rows, chosen, 1, product)
        graph.exchange(rows, loops, fixed, members, product, patience=400, max_steps=20_000, width=32, seed=1)

    return work


def webgraph_decoding() -> Work:
    """Lists of 1023 successors, each one after the last: one bit per arc."""
    from sparseigen.io.webgraph import WebGraphFormat, decode_webgraph

    listed, degree = 40_000, 1023
    one = np.concatenate([np.zeros(10), [1], np.zeros(10), np.ones(degree)]).astype(np.uint8)
    stream = np.packbits(np.tile(one, listed))
    nodes, arcs = listed + degree + 1, listed * degree
    form = WebGraphFormat._make([nodes, arcs, 0, 0, 3, 1, 1, 1, 1, 1])
    starts, successors = np.zeros(nodes + 1, dtype=np.int64), np.empty(arcs, dtype=np.int32)
    return lambda: decode_webgraph(stream, 0, form, 0, listed, starts, successors)


def _data(samples: int, variables: int, kind: type = np.float64) -> Any:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((samples, variables), dtype=kind)
    data[:, : variables // 100] += 0.5 * rng.standard_normal((samples, 1), dtype=kind)
    return data


def solve_dense() -> Work:
    data = _data(2000, 4000)
    matrix = np.cov(data.T)
    return lambda: se.sparse_eigenvector(matrix, 400)


def solve_data() -> Work:
    data = _data(500, 50_000)
    return lambda: se.sparse_eigenvector(se.covariance(data), 100)


def solve_tall_data() -> Work:
    data = _data(50_000, 2000, np.float32)
    return lambda: se.sparse_eigenvector(se.covariance(data), 50)


def solve_sparse_data() -> Work:
    data = sp.random(20_000, 100_000, 0.005, format="csr", random_state=np.random.default_rng(0))
    return lambda: se.sparse_eigenvector(se.covariance(data), 100)


def solve_correlation() -> Work:
    data = _data(5000, 4000, np.float32)
    return lambda: se.sparse_eigenvector(se.covariance(data, scale=True), 300)


def tight_bound() -> Work:
    matrix = np.cov(_data(700, 600).T)
    return lambda: se.upper_bound(matrix, 60, effort="tight")


def path() -> Work:
    data = _data(400, 8000)
    return lambda: se.cardinality_path(se.covariance(data), range(10, 400, 10))


def exact() -> Work:
    matrix = np.cov(_data(150, 300).T)
    return lambda: se.solve_exact(matrix, 15, time_limit=600.0)


def chunked() -> Work:
    folder = tempfile.mkdtemp(prefix="signals-")
    np.save(Path(folder) / "x.npy", _data(20_000, 3000, np.float32))
    return lambda: se.sparse_eigenvector(se.covariance(Path(folder) / "x.npy", memory_limit="100MB"), 50)


def curve() -> Work:
    graph = _arcs()
    return lambda: se.density_curve(graph, range(20, 2000, 100))


def components() -> Work:
    data = _data(500, 20_000)
    return lambda: se.SparsePCA(n_components=6, cardinality=50).fit(data)


KERNELS: dict[str, Callable[[], Work]] = {
    "combining rows": dense_rows,
    "combining long rows": wide_dense_rows,
    "dense products": dense_products,
    "whole dense step": dense_step,
    "combining sparse rows": sparse_rows,
    "sparse products": sparse_products,
    "sparse change of layout": sparse_layout,
    "screening codes": screening_codes,
    "screening step": screening_step,
    "row bounds": row_bounds,
    "survey of a matrix": symmetric_survey,
    "search over blocks": block_search,
    "graph peeling": peeling,
    "fair loads": fair_loads,
    "greedy growth": greedy_growth,
    "exchanges": exchanges,
    "WebGraph decoding": webgraph_decoding,
}
SOLVES: dict[str, Callable[[], Work]] = {
    "dense matrix, p = 4000": solve_dense,
    "data, 500 x 50,000": solve_data,
    "data, 50,000 x 2000 float32": solve_tall_data,
    "sparse data, 10 million entries": solve_sparse_data,
    "correlation, 5000 x 4000 float32": solve_correlation,
    "tight bound, p = 600": tight_bound,
    "path of 39 cardinalities": path,
    "exact search, p = 300": exact,
    "file in passes, 240 MB": chunked,
    "graph curve, 5 million arcs": curve,
    "six components, 500 x 20,000": components,
}
WORK = KERNELS | SOLVES


def _place(error: BaseException) -> str:
    """The innermost line of the package that was running."""
    first = error
    while first.__context__ is not None:
        first = first.__context__
    ours = [frame for frame in traceback.extract_tb(first.__traceback__) if "sparseigen" in frame.filename]
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno} {ours[-1].name}" if ours else "outside the package"


def main(name: str, times: int) -> int:
    import faulthandler
    import signal

    faulthandler.register(signal.SIGUSR1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background work with Ctrl-C ignored
    matrix = np.random.default_rng(0).standard_normal((3000, 200))
    expected = kernels.row_dots(matrix, matrix[0])
    work = WORK[name]()
    for _ in range(times):
        try:
            print("ready", flush=True)
            while True:
                work()
        except KeyboardInterrupt as error:
            caught, place = time.monotonic(), _place(error)
            kept = type(getattr(error, "result", None)).__name__
        same = bool(np.array_equal(kernels.row_dots(matrix, matrix[0]), expected))
        print(json.dumps({"caught": caught, "place": place, "kept": kept, "same": same}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
