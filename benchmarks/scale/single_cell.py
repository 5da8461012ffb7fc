"""A sparse single-cell-like matrix in an AnnData file: six standardised components, memory against the matrix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.scale.chunked import _peak, run_base

CELLS, GENES, DENSITY = 50_000, 20_000, 0.05
COMPONENTS, CARDINALITY = 6, 30
GB = 1e9


def show_single_cell() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("SPARSEIGEN_SCRATCH")) as folder:
        path = Path(folder) / "cells.h5ad"
        matrix_bytes = write_cells(path, CELLS, GENES)
        print(f"{CELLS} x {GENES}, {DENSITY:.0%}: sparse matrix {matrix_bytes / GB:.3f} GB in memory")
        command = [sys.executable, "-m", "benchmarks.scale.single_cell", "run", str(path)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{COMPONENTS} components of {CARDINALITY} genes, scale=True: {found['seconds']:.0f} s, "
            f"{found['passes']} passes, peak {found['peak'] / GB:.3f} GB: {found['peak'] / matrix_bytes:.2f} x the "
            f"matrix (interpreter alone {found['base'] / GB:.3f} GB)"
        )
        for one in found["components"]:
            print("  ", one)


def write_cells(path: Path, cells: int, genes: int, *, seed: int = 0) -> int:
    """CSR as AnnData writes it: gene expression levels of many sizes, and programmes of genes that vary together."""
    import h5py

    rng = np.random.default_rng(seed)
    level = rng.lognormal(0.0, 1.0, genes)
    probability = np.minimum(0.9, level / level.mean() * DENSITY)
    probability *= DENSITY / probability.mean()
    programmes = [rng.choice(genes, 60, replace=False) for _ in range(COMPONENTS)]
    stored = 0
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", np.array([cells, genes])
        options = {"maxshape": (None,), "chunks": (1 << 18,)}
        values = group.create_dataset("data", (0,), dtype=np.float32, **options)
        indices = group.create_dataset("indices", (0,), dtype=np.int32, **options)
        pointers = np.zeros(cells + 1, dtype=np.int64)
        for begin in range(0, cells, 500):
            count = min(500, cells - begin)
            chance = np.tile(probability, (count, 1))
            for number, programme in enumerate(programmes):
                active = rng.random(count) < 0.2
                chance[np.ix_(active, programme)] = np.minimum(
                    0.9, chance[np.ix_(active, programme)] + 0.5 - 0.05 * number
                )
            row, column = np.nonzero(rng.random((count, genes)) < chance)
            values.resize(stored + len(row), axis=0)
            indices.resize(stored + len(row), axis=0)
            values[stored:] = rng.gamma(2.0, 0.5, len(row)).astype(np.float32)
            indices[stored:] = column.astype(np.int32)
            pointers[begin + 1 : begin + count + 1] = stored + np.cumsum(np.bincount(row, minlength=count))
            stored += len(row)
        group.create_dataset("indptr", data=pointers)
        variables = file.create_group("var")
        variables.attrs["_index"] = "_index"
        variables.create_dataset("_index", data=np.array([f"gene{i}" for i in range(genes)], dtype="S"))
    return stored * 8 + (cells + 1) * 8


def run(path: Path, memory_limit: str = "300MB") -> dict[str, object]:
    import sparseigen as se

    base = run_base(path)["peak"]
    began = time.perf_counter()
    operator = se.covariance(path, scale=True, memory_limit=memory_limit)
    results = se.sparse_components(operator, [CARDINALITY] * COMPONENTS)
    return {
        "seconds": time.perf_counter() - began,
        "passes": operator.passes_made,
        "peak": _peak(),
        "base": base,
        "components": [f"{r!r} {r.certificate.method}" for r in results],
    }


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[2]))))
