"""Equal answers on the device and on the CPU: every time is worth only what these say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sparseigen as se
from benchmarks.gpu import problems

Row = tuple[str, bool, str]


def equal_supports(name: str, data: Any, cardinalities: list[int], *, default: bool) -> Iterator[Row]:
    """Algorithm 1 (and the default solve) at each cardinality, in both precisions."""
    plain = {"start": "max-variance", "polish": None, "certify": False, "max_iterations": 3000}
    for dtype in (np.float64, np.float32):
        host, device = se.covariance(data.astype(dtype)), se.covariance(data.astype(dtype), device="cuda")
        modes = {"Algorithm 1": plain} | ({"default solve": {"certify": False}} if default else {})
        for mode, options in modes.items():
            same, worst, iterations = 0, 0.0, 0
            for k in cardinalities:
                ours = se.sparse_eigenvector(device, k, **options)
                reference = se.sparse_eigenvector(host, k, **options)
                same += np.array_equal(ours.support, reference.support)
                iterations += ours.n_iterations == reference.n_iterations
                worst = max(worst, abs(ours.value / reference.value - 1.0))
            detail = (
                f"{same} of {len(cardinalities)} supports equal, {iterations} iteration counts equal, largest relative "
                f"difference of values {worst:.1e}"
            )
            yield f"{name}, {np.dtype(dtype).name}, {mode}", same == len(cardinalities), detail


def equal_options(data: Any) -> Iterator[Row]:
    """Ties, nonnegative loadings, deflation and cupy input."""
    host, device = se.covariance(data), se.covariance(data, device="cuda")
    options = {"start": "max-variance", "polish": None, "certify": False}
    pair = [se.sparse_eigenvector(operator, 20, nonnegative=True, **options) for operator in (device, host)]
    yield "nonnegative", np.array_equal(pair[0].support, pair[1].support), f"value {pair[0].value:.6g}"
    pair = [se.sparse_eigenvector(operator.deflated(pair[1].vector), 20, **options) for operator in (device, host)]
    yield "after deflation", np.array_equal(pair[0].support, pair[1].support), f"value {pair[0].value:.6g}"
    tied = np.tile(data[:, :100], (1, 5))
    pair = [se.sparse_eigenvector(se.covariance(tied, **where), 13, **options) for where in ({"device": "cuda"}, {})]
    yield "ties go to the lowest index", np.array_equal(pair[0].support, pair[1].support), f"{pair[0].support}"
    try:
        import cupy
    except ImportError:
        yield "cupy through DLPack", True, "cupy is not installed here: not checked"
        return
    pair = [
        se.sparse_eigenvector(se.covariance(cupy.asarray(data)), 20, **options),
    ]
    reference = se.sparse_eigenvector(host, 20, **options)
    yield "cupy through DLPack", np.array_equal(pair[0].support, reference.support), f"cupy {cupy.__version__}"


def block_and_bound(data: Any, cardinalities: list[int]) -> Iterator[Row]:
    """The block path against single runs; the bound against a float64 one on the CPU and against the values."""
    for dtype in (np.float64, np.float32):
        operator = se.covariance(data.astype(dtype), device="cuda")
        runs = operator.truncated_power_block(cardinalities, rtol=1e-7, atol=0.0, max_iterations=3000) or []
        single = [
            se.sparse_eigenvector(operator, k, start="max-variance", polish=None, certify=False, max_iterations=3000)
            for k in cardinalities
        ]
        same = sum(np.array_equal(run.indices, one.support) for run, one in zip(runs, single, strict=True))
        worst = min(run.history[-1] / one.value - 1.0 for run, one in zip(runs, single, strict=True))
        name = np.dtype(dtype).name
        detail = f"{same} of {len(runs)} supports equal to single runs, smallest relative difference {worst:+.1e}"
        yield f"block path, {name}", worst > -1e-3, detail
        matrix = np.cov(data.T)
        for k, one in list(zip(cardinalities, single, strict=True))[:: max(1, len(single) // 4)]:
            product = np.abs(matrix @ one.vector)
            scaling = np.maximum(product, np.sort(product)[-k])
            bound, exact = operator.scaled_gershgorin(k, scaling, 4), reference_bound(matrix, k, scaling, 4)
            assert bound is not None
            # The solver's value is itself rounded to the data's precision.
            reached = one.value * (1.0 - 8.0 * np.finfo(name).eps)
            holds = bound >= exact * (1.0 - 1e-6) and bound >= reached and bound <= exact * 1.01
            detail = f"value {one.value:.6g}, bound {bound:.6g}, in float64 on the CPU {exact:.6g}"
            yield f"scaled Gershgorin, {name}, k = {k}", holds, detail


def reference_bound(matrix: Any, cardinality: int, scaling: Any, passes: int) -> float:
    """The bound written down plainly."""
    best, size = np.inf, len(matrix)
    for _ in range(passes):
        scaling = np.maximum(scaling / scaling.max(), 1e-7)
        weighted = np.abs(matrix) * scaling
        np.fill_diagonal(weighted, 0.0)
        sums = scaling * np.diag(matrix) + np.sort(weighted, axis=1)[:, size - cardinality + 1 :].sum(axis=1)
        best, scaling = min(best, float((sums / scaling).max())), sums
    return best


def all_checks(gene_folder: Path | None) -> Iterator[Row]:
    yield from equal_supports("toy model, p = 500, n = 50", problems.toy(1), [5, 10, 20, 40], default=True)
    spiked = problems.spiked(200, 4000, 2)
    yield from equal_supports("spiked, p = 4000, n = 200", spiked, [20, 40, 100, 200, 400], default=False)
    for name, data in (problems.genes(gene_folder) if gene_folder else {}).items():
        label = f"{name} genes, p = {data.shape[1]}, n = {data.shape[0]}"
        yield from equal_supports(label, data, [2, 5, 10, 20, 50, 100, 200, 500], default=False)
    yield from equal_options(problems.toy(3))
    yield from block_and_bound(problems.spiked(100, 1000, 4), [1, 2, 5, 10, 20, 35, 50, 75, 100, 200, 400, 1000])
