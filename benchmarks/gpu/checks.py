"""Equal answers on the device and on the CPU: every time is worth only what these say."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sparseigen as se
from benchmarks.gpu import problems
from benchmarks.gpu.timings import runs_together
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.scaled_rows import improve_weights, scaled_row_values
from sparseigen.components.automatic import find_components
from sparseigen.kernels import torch_kernels

Row = tuple[str, bool, str]

GARBAGE_RUNS = 20


def equal_supports(name: str, data: Any, cardinalities: list[int]) -> Iterator[Row]:
    """Algorithm 1 and the default solve at each cardinality, in both precisions.

    The reference is the CPU in float64. For float32 data it stops where their stop rule does: at changes of four
    roundings of float32, whatever rtol asks for.
    """
    plain = {"start": "max-variance", "polish": None, "certify": False, "max_iterations": 3000}
    modes: dict[str, dict[str, Any]] = {"Algorithm 1": plain, "default solve": {"certify": False}}
    host = se.covariance(data)
    wanted = {"Algorithm 1": cardinalities, "default solve": cardinalities[:: 1 if len(cardinalities) < 6 else 2]}
    for dtype in (np.float64, np.float32):
        device = se.covariance(data.astype(dtype), device="cuda")
        floor = {"rtol": 4.0 * float(np.finfo(np.float32).eps)} if dtype == np.float32 else {}
        for mode, options in modes.items():
            same, worst, iterations = 0, 0.0, 0
            for k in wanted[mode]:
                ours = se.sparse_eigenvector(device, k, **options)
                reference = se.sparse_eigenvector(host, k, **options, **floor)
                same += np.array_equal(ours.support, reference.support)
                iterations += ours.n_iterations == reference.n_iterations
                worst = max(worst, abs(ours.value / reference.value - 1.0))
            detail = (
                f"{same} of {len(wanted[mode])} supports equal, {iterations} iteration counts equal, largest relative "
                f"difference of values {worst:.1e}"
            )
            yield f"{name}, {np.dtype(dtype).name}, {mode}", same == len(wanted[mode]), detail


def equal_paths(name: str, data: Any) -> Iterator[Row]:
    """`cardinality_path` with certificates: supports as on the CPU, or better ones; bounds above both values."""
    ks = np.unique(np.geomspace(2, data.shape[1] // 10, 24).astype(int)).tolist()
    reference = se.cardinality_path(se.covariance(data), ks, certify=False)
    for dtype in (np.float64, np.float32):
        path = se.cardinality_path(se.covariance(data.astype(dtype), device="cuda"), ks)
        pairs = list(zip(path.results, reference.results, strict=True))
        same = sum(np.array_equal(ours.support, theirs.support) for ours, theirs in pairs)
        behind = min(ours.value / theirs.value - 1.0 for ours, theirs in pairs)
        ahead = max(ours.value / theirs.value - 1.0 for ours, theirs in pairs)
        proven = all(ours.certificate.upper_bound >= theirs.value * (1.0 - 1e-6) for ours, theirs in pairs)
        detail = f"{same} of {len(ks)} supports equal, values {behind:+.1e} to {ahead:+.1e} of the CPU's"
        yield f"{name}, {np.dtype(dtype).name}, path with certificates", behind > -1e-6 and proven, detail


def kernels() -> Iterator[Row]:
    """Every Triton kernel, compiled, against its torch twin on the same tensors."""
    import torch

    for dtype, tolerance in ((torch.float32, 2e-4), (torch.float64, 1e-11)):
        generator = torch.Generator(device="cuda").manual_seed(1)
        matrix = torch.randn(5000, 260, generator=generator, device="cuda", dtype=dtype)
        vector, out = matrix[7].clone(), matrix.new_empty(5000)
        torch_kernels.RowProduct(matrix)(vector, out)
        worst = float((out - torch_kernels.row_dots(matrix.double(), vector.double())).abs().max())
        yield f"kernel row_dots, {dtype}", worst < tolerance, f"largest difference {worst:.1e}"
        yield combination_kernel(matrix, tolerance)
        yield selection_kernel(matrix)


def combination_kernel(matrix: Any, tolerance: float) -> Row:
    import torch

    combine = torch_kernels.RowCombination(matrix, 259, extra=True)
    indices, weights, taken = torch.arange(0, 5000, 3, device="cuda").int(), matrix[:, 0].clone(), matrix[0].clone()
    one = {"dtype": torch.float64, "device": "cuda"}
    scores, norms = matrix.new_zeros(260), torch.full((2,), 2.0, **one)
    values, norm = torch.zeros(combine.n_values, **one), torch.zeros(1, **one)
    combine.subtract(taken)
    combine(indices, weights, torch.tensor([1000], device="cuda").int(), norms, scores, values, norm)
    total = torch_kernels.combine_rows(matrix.double(), indices[:1000].long(), weights[:1000].double())
    total = (total - taken.double()) / 2.0
    worst = float((scores - total / 259).abs().max())
    apart = abs(float(values.sum()) * 259 / float(total @ total) - 1.0)
    holds = worst < tolerance and apart < tolerance and float(norm) == 4.0
    return f"kernels combine_rows and finish_scores, {matrix.dtype}", holds, f"differences {worst:.1e}, {apart:.1e}"


def selection_kernel(matrix: Any) -> Row:
    import torch

    values = (matrix.T[:16] * 4.0).round().contiguous()  # many ties
    wanted = torch.arange(1, 5000, 330, device="cuda").int()
    values = values[: len(wanted)]
    select = torch_kernels.Selection(values, len(wanted), 5000)
    expected = values * torch_kernels.kept_mask(values, wanted.long(), 5000)
    kept = torch.empty_like(values)
    norms = torch.zeros(len(wanted), select.n_blocks, dtype=torch.float64, device="cuda")
    select.mask(values, wanted, kept, norms)
    sums, _ = select.top_sums(values.abs(), wanted)
    exact = [float(torch_kernels.top_sums(values.abs()[row : row + 1], int(k))[0]) for row, k in enumerate(wanted)]
    holds = torch.equal(kept, expected) and np.allclose(sums.cpu().numpy(), exact, rtol=1e-12)
    return f"kernels of the selection, {values.dtype}", bool(holds), f"{len(wanted)} rows of 5000 with ties"


def equal_components(name: str, data: Any) -> Iterator[Row]:
    """Three components by projection deflation on the device."""
    options = {"deflation": "projection"}
    reference = se.sparse_components(se.covariance(data), [20, 20, 20], certify=False, **options)
    for dtype in (np.float64, np.float32):
        found = se.sparse_components(se.covariance(data.astype(dtype), device="cuda"), [20, 20, 20], **options)
        same = sum(np.array_equal(a.support, b.support) for a, b in zip(found, reference, strict=True))
        worst = max(abs(a.value / b.value - 1.0) for a, b in zip(found, reference, strict=True))
        detail = f"{same} of 3 supports equal, values within {worst:.1e}"
        yield f"{name}, {np.dtype(dtype).name}, components by deflation", same == 3, detail


def equal_choice(scale: bool) -> Iterator[Row]:
    """How many components there are and which variables take part, found on the device and on the CPU."""
    rng = np.random.default_rng(9)
    data = rng.standard_normal((200, 20_000))
    for begin in (0, 100, 200):
        data[:, begin : begin + 30] += rng.standard_normal((200, 1))
    kind = "correlation" if scale else "covariance"
    reference, _ = find_components(se.covariance(data, scale=scale), "auto", "auto", certify=False)
    for dtype in (np.float64, np.float32):
        operator = se.covariance(data.astype(dtype), scale=scale, device="cuda")
        began = time.perf_counter()
        found, significance = find_components(operator, "auto", "auto")
        seconds = time.perf_counter() - began
        holds = len(found) == len(reference) == 3 and significance is not None and bool(significance.significant.all())
        shared = [len(np.intersect1d(a.support, b.support)) for a, b in zip(found, reference, strict=False)]
        wanted = [result.cardinality for result in reference]
        detail = f"{len(found)} components, {shared} of {wanted} variables shared, {seconds:.1f} s"
        holds = holds and all(s >= 0.9 * r.cardinality for s, r in zip(shared, reference, strict=False))
        yield f"automatic components of 20,000 variables, {kind}, {np.dtype(dtype).name}", holds, detail


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
        runs = runs_together(operator, cardinalities, rtol=1e-7, atol=0.0, max_iterations=3000)
        single = [
            se.sparse_eigenvector(operator, k, start="max-variance", polish=None, certify=False, max_iterations=3000)
            for k in cardinalities
        ]
        same = sum(np.array_equal(run.vector.indices, one.support) for run, one in zip(runs, single, strict=True))
        worst = min(run.history[-1] / one.value - 1.0 for run, one in zip(runs, single, strict=True))
        name = np.dtype(dtype).name
        detail = f"{same} of {len(runs)} supports equal to single runs, smallest relative difference {worst:+.1e}"
        yield f"block path, {name}", worst > -1e-3, detail
        matrix = np.cov(data.T)
        for k, one in list(zip(cardinalities, single, strict=True))[:: max(1, len(single) // 4)]:
            product = np.abs(matrix @ one.vector)
            scaling = np.maximum(product, np.sort(product)[-k])
            bound, exact = device_bound(operator, k, scaling, 4), reference_bound(matrix, k, scaling, 4)
            # The solver's value is itself rounded to the data's precision.
            reached = one.value * (1.0 - 8.0 * np.finfo(name).eps)
            holds = bound >= exact * (1.0 - 1e-6) and bound >= reached and bound <= exact * 1.01
            detail = f"value {one.value:.6g}, bound {bound:.6g}, in float64 on the CPU {exact:.6g}"
            yield f"scaled Gershgorin, {name}, k = {k}", holds, detail


def recording_with_garbage(data: Any) -> Iterator[Row]:
    """Old CUDA graphs that wait for Python's collector must not be freed into the recording of a new one."""
    import torch

    options = {"start": "max-variance", "polish": None, "certify": False}
    reference = se.sparse_eigenvector(se.covariance(data), 20, **options).support
    thresholds = gc.get_threshold()
    same = 0
    for _ in range(GARBAGE_RUNS):
        gc.disable()
        for _ in range(30):
            old: dict[str, Any] = {"graph": torch.cuda.CUDAGraph(), "tensor": torch.zeros(8, device="cuda")}
            old["itself"] = old
            with torch.cuda.graph(old["graph"]):
                old["tensor"] += 1
        gc.set_threshold(1, 1, 1)
        gc.enable()
        found = se.sparse_eigenvector(se.covariance(data, device="cuda"), 20, **options)
        same += np.array_equal(found.support, reference)
    gc.set_threshold(*thresholds)
    yield "recording while old graphs are collected", same == GARBAGE_RUNS, f"{same} of {GARBAGE_RUNS} runs"


def device_bound(operator: Any, cardinality: int, scaling: Any, passes: int) -> float:
    """The scaled row bound over so many passes, rows made on the device."""
    problem, best = BoundProblem(operator, cardinality), np.inf
    problem.dense, weights = None, improve_weights(np.ones(operator.size), scaling)
    for _ in range(passes):
        bound, rows = scaled_row_values(problem, weights)
        best, weights = min(best, bound), improve_weights(weights, rows)
    return problem.unscale_bound(best)


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
    yield from kernels()
    sets = {
        "toy model": (problems.toy(1), [5, 10, 20, 40]),
        "spiked": (problems.spiked(200, 4000, 2), [20, 40, 100, 200]),
    }
    for name, data in (problems.genes(gene_folder) if gene_folder else {}).items():
        sets[f"{name} genes"] = data, [2, 5, 10, 20, 50, 100, 200, 500]
    for name, (data, cardinalities) in sets.items():
        label = f"{name}, p = {data.shape[1]}, n = {data.shape[0]}"
        yield from equal_supports(label, data, cardinalities)
        yield from equal_paths(label, data)
        yield from equal_components(label, data)
    for scale in (False, True):
        yield from equal_choice(scale)
    yield from equal_options(problems.toy(3))
    yield from recording_with_garbage(problems.toy(5))
    yield from block_and_bound(problems.spiked(100, 1000, 4), [1, 2, 5, 10, 20, 35, 50, 75, 100, 200, 400, 1000])
