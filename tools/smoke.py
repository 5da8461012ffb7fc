"""What an installed sparseigen must do with nothing but NumPy and SciPy. ``make wheel-test`` runs it.

``python smoke.py`` prints one line a check and exits 1 at the first that fails. The last line is a fingerprint of
what the compiled kernels compute: the same bits on every processor, whichever version of a loop the loader picks.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparseigen
from sparseigen import kernels

EXTRAS = ("sklearn", "networkx", "pandas", "polars", "pyarrow", "dask", "torch", "plotly", "jinja2", "pooch", "click")


def check(what: str, holds: bool, found: object) -> None:
    """Print the check; stop where it fails."""
    print(f"{'ok  ' if holds else 'FAIL'} {what}: {found}")
    if not holds:
        sys.exit(1)


def installed() -> None:
    """The package is the installed one, with its compiled kernels."""
    folder = Path(sparseigen.__file__).parent
    check("imported from the environment", Path(sys.prefix) in folder.parents, folder.parent.name)
    check("kernels", kernels.active.NAME == "compiled", kernels.active.NAME)
    check("py.typed", (folder / "py.typed").is_file(), "there")
    public = [name for name in sparseigen.__all__ if name not in ("SparsePCA", "CardinalitySearchCV", "report")]
    check("public names load without extras", all(getattr(sparseigen, name) for name in public), len(public))


def answers() -> None:
    """Known answers, with their proofs."""
    pitprops = sparseigen.datasets.load_pitprops()
    best = sparseigen.solve_exact(pitprops.matrix, cardinality=5)
    check("PitProps, 5 variables, exact", abs(best.value - 3.406155) < 1e-6, f"{best.value:.6f}")
    fast = sparseigen.sparse_eigenvector(pitprops.matrix, cardinality=5)
    certificate = fast.certificate
    covered = certificate is not None and fast.value <= best.value + 1e-12 <= certificate.upper_bound + 2e-12
    check("PitProps, its bound covers the optimum", covered, certificate)
    rng = np.random.default_rng(0)
    data = rng.standard_normal((60, 30)) @ np.diag(np.linspace(3, 1, 30))
    for name, matrix in (("dense", data), ("float32", data.astype(np.float32)), ("sparse", sp.csr_array(data))):
        result = sparseigen.sparse_eigenvector(sparseigen.covariance(matrix), cardinality=4)
        check(f"{name} data", len(result.support) == 4, result)
    clique = np.zeros((12, 12))
    clique[3:8, 3:8] = 1 - np.eye(5)
    clique[np.arange(11), np.arange(1, 12)] = clique[np.arange(1, 12), np.arange(11)] = 1
    densest = sparseigen.densest_k_subgraph(sp.csr_array(clique), 5)
    check("densest 5 vertices", sorted(densest.nodes) == [3, 4, 5, 6, 7], densest)


def without_extras() -> None:
    """What needs an extra says which."""
    if any(importlib.util.find_spec(name) for name in EXTRAS):
        print("ok   extras are installed: their messages were checked without them")
        return
    command = subprocess.run([sys.executable, "-m", "sparseigen", "demo"], capture_output=True, text=True, check=False)
    clear = command.returncode == 2 and "pip install 'sparseigen[cli]'" in command.stderr
    check("the command line without its extra", clear, command.stderr.strip())
    try:
        _ = sparseigen.SparsePCA
    except ImportError as error:
        check("SparsePCA without its extra", "sparseigen[sklearn]" in str(error), error)
    else:
        check("SparsePCA without its extra", False, "no error")


def kernel_answers() -> Iterator[Any]:
    """Every dense, sparse and screening kernel, on integers scaled so that the inputs are the same bits anywhere."""
    rng = np.random.default_rng(1)
    for dtype in (np.float64, np.float32):
        for height, width in ((5, 3), (301, 45), (400, 1003)):
            rows = (rng.integers(-4000, 4000, (height, width)) / 4096).astype(dtype)
            vector = (rng.integers(-4000, 4000, width) / 4096).astype(dtype)
            few = np.arange(0, height, 3, dtype=np.int64)
            weights = (rng.integers(-4000, 4000, len(few)) / 4096).astype(dtype)
            yield kernels.combine_rows(rows, few, weights)
            yield kernels.row_dots(rows, vector)
            yield kernels.power_step(rows, few, weights, 7.0, 3)
            yield kernels.fused_step(rows, vector, 0.0, 3)
            shadow = kernels.shadow_codes(rows)
            yield shadow
            lower, upper = kernels.shadow_bounds(*shadow, vector.astype(np.float64), 1e-9)
            yield lower, upper, kernels.bounded_step(rows, lower, upper, vector, 0.0, 3)
            yield kernels.running_bounds(lower, upper, 1.0, 2.0, 0.5, 0.8, 1e-9)
            sparse = sp.csr_array(np.where(np.abs(rows) > 0.7, rows, 0))
            parts = sparse.indptr, sparse.indices, sparse.data
            yield kernels.sparse_transpose(*parts, width)
            yield kernels.sparse_row_dots(*parts, vector), kernels.sparse_combine_rows(*parts, few, weights, width)
    block = rng.integers(-4000, 4000, (90, 300)) / 4096
    own = rng.permutation(300)[:90].astype(np.int64)
    yield kernels.top_row_sums(block, own, np.abs(block[0]) + 1, 7), kernels.stream_sum(block)


def digest(answer: Any, into: Any) -> None:
    """Add the bytes of an answer, however it is nested."""
    if isinstance(answer, tuple):
        for part in answer:
            digest(part, into)
    else:
        into.update(np.asarray(answer).tobytes())


def main() -> None:
    """All checks, then the fingerprint."""
    fingerprint = hashlib.sha256()
    for answer in kernel_answers():
        digest(answer, fingerprint)
    if "--kernels" not in sys.argv:
        installed()
        answers()
        without_extras()
    print(f"fingerprint {fingerprint.hexdigest()[:32]}")


if __name__ == "__main__":
    main()
