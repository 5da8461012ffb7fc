"""What an iteration, a path and a certificate cost on the device, beside the copy bandwidth of the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import sparseigen as se
from sparseigen.operators.contract import SparseVector
from sparseigen.solvers.interface import SolverOptions
from sparseigen.solvers.truncated_power import Run, iterate, iterate_many

Row = tuple[str, str, str, str]


def start(operator: Any) -> SparseVector:
    """The variable of largest variance."""
    return SparseVector(np.array([int(np.argmax(operator.diagonal()))]), np.ones(1))


def run_alone(operator: Any, cardinality: int, **options: Any) -> Run:
    """Algorithm 1 from the variable of largest variance."""
    return iterate(operator, cardinality, ("max-variance", start(operator)), SolverOptions(**options))


def runs_together(operator: Any, cardinalities: list[int], **options: Any) -> list[Run]:
    """The same for many cardinalities as blocks of runs."""
    return iterate_many(operator, cardinalities, ("max-variance", start(operator)), SolverOptions(**options))


def step_often(operator: Any, cardinality: int, count: int) -> None:
    """So many iterations, looked at and never ended."""
    steps, done = operator.iteration([cardinality]), 0
    steps.begin([start(operator)])
    while done < count:
        done += len(steps.advance([0], count - done)[0])
    steps.iterate(0, 1)


def seconds(action: Callable[[], object], repeats: int = 7) -> float:
    """Median wall-clock seconds of an action that is complete when the device is idle; the first run is not counted."""
    action()
    taken = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        action()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def device_seconds(action: Callable[[], object], inner: int) -> float:
    """Median device seconds of one of ``inner`` back-to-back actions."""
    action()
    taken = []
    for _ in range(9):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(inner):
            action()
        last.record()
        torch.cuda.synchronize()
        taken.append(first.elapsed_time(last) / 1e3 / inner)
    return statistics.median(taken)


def copy_bandwidth() -> float:
    """Bytes read and written per second by a large device-to-device copy."""
    source = torch.randn(1 << 30, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.nbytes / device_seconds(lambda: target.copy_(source), 3)


def noise(n_samples: int, size: int, *, spikes: int = 0) -> Any:
    """Gaussian data made on the device, one row per variable; handed over transposed and uncentred: no copy is made."""
    generator = torch.Generator(device="cuda").manual_seed(7)
    variables = torch.empty(size, n_samples, device="cuda")
    for first in range(0, size, 1 << 17):
        variables[first : first + (1 << 17)].normal_(generator=generator)
    for spike in range(spikes):
        chosen = torch.randperm(size, generator=generator, device="cuda")[: size // 100]
        loads = torch.randn(len(chosen), 1, generator=generator, device="cuda")
        loads *= (20.0 - 1.5 * spike) / loads.norm()
        variables[chosen] += loads * torch.randn(1, n_samples, generator=generator, device="cuda")
    return se.covariance(variables.T, center=False)


GOALS = {(4000, 1_000_000): ">= 85 %", (500, 1_000_000): ">= 65 %", (500, 32_000): "<= 60 us"}


def iterations(bandwidth: float) -> Iterator[Row]:
    """Whole iterations at k = .05 p: product, truncation, support product, objective, and the host's looks."""
    for n_samples, size in GOALS:
        yield one_iteration(n_samples, size, bandwidth)
        torch.cuda.empty_cache()


def one_iteration(n_samples: int, size: int, bandwidth: float) -> Row:
    operator = noise(n_samples, size)
    k, count = size // 20, 64
    each = seconds(lambda: step_often(operator, k, count), 5) / count
    moved = 4 * n_samples * (size + k)
    steps = operator.find_workspace(("triton", False), None)
    replay = device_seconds(steps.graphs[0].replay, 4) / steps.length
    parts = {
        "product": device_seconds(lambda: steps.multiply(steps.scores, steps.product), 8),
        "selection": device_seconds(lambda: select_once(steps), 8),
        "support product": device_seconds(lambda: steps._score(0, 1, steps.wanted), 8),
    }
    eager = ", ".join(f"{name} {1e6 * value:.1f}" for name, value in parts.items())
    return (
        f"iteration, n = {n_samples}, p = {size:,}, k = {k:,} ({moved / 1e9:.2f} GB)",
        f"{1e6 * each:.1f} us with the host's looks, {1e6 * replay:.1f} us on the device (launched one by one: "
        f"{eager} us)",
        f"{100 * moved / each / bandwidth:.0f} % of the copy bandwidth "
        f"({100 * moved / replay / bandwidth:.0f} % on the device)",
        GOALS[n_samples, size],
    )


def select_once(steps: Any) -> None:
    steps.select.compact(
        steps.product, steps.wanted, steps.indices[0, 0], steps.indices[0, 1], steps.entries[0, 1], steps.norm_parts,
        steps.changes[0, 0],
    )  # fmt: skip


def paths() -> Iterator[Row]:
    """64 cardinalities against one, with certificates, as users call them; then the block of runs by itself."""
    for spikes in (10, 0):
        yield whole_path(500, 32_000, spikes)
        torch.cuda.empty_cache()
    for n_samples, size, spikes in ((500, 32_000, 10), (500, 1_000_000, 10)):
        yield one_block(n_samples, size, spikes)
        torch.cuda.empty_cache()


def path_cardinalities(size: int) -> list[int]:
    ks = [int(k) for k in np.unique(np.geomspace(size // 1000, size // 20, 64).astype(int))]
    return ks + list(range(size // 20 + 1, size // 20 + 1 + 64 - len(ks)))


def once(action: Callable[[], Any]) -> tuple[Any, float]:
    torch.cuda.synchronize()
    began = time.perf_counter()
    answer = action()
    torch.cuda.synchronize()
    return answer, time.perf_counter() - began


def whole_path(n_samples: int, size: int, spikes: int) -> Row:
    """`cardinality_path` against the mean of `sparse_eigenvector` at four of its points, certificates in both."""
    operator, ks = noise(n_samples, size, spikes=spikes), path_cardinalities(size)
    some = ks[:: len(ks) // 3][:4]
    se.sparse_eigenvector(operator, ks[0])  # kernels are compiled
    runs_together(operator, ks, rtol=1e-3, atol=0.0, max_iterations=8)
    singles = [once(lambda k=k: se.sparse_eigenvector(operator, k)) for k in some]
    one = statistics.mean(taken for _, taken in singles)
    path, whole = once(lambda: se.cardinality_path(operator, ks))
    _, uncertified = once(lambda: se.cardinality_path(operator, ks, certify=False))
    behind = min(
        path.results[ks.index(k)].value / single.value - 1.0 for k, (single, _) in zip(some, singles, strict=True)
    )
    gaps = [result.certificate.relative_gap for result in path.results]
    return (
        f"64-point path with certificates, n = {n_samples}, p = {size:,}, {spikes} spikes, k = {ks[0]} ... {ks[-1]}",
        f"{whole:.2f} s ({uncertified:.2f} s without certificates), one solve with certificate {one:.2f} s; values "
        f"{behind:+.1e} or better, gaps {100 * min(gaps):.1f} to {100 * max(gaps):.1f} %",
        f"{whole / one:.1f} x one solve",
        "<= 3 x" if spikes else "<= 5 x",
    )


def one_block(n_samples: int, size: int, spikes: int) -> Row:
    """The block of runs of Algorithm 1 against the mean of single runs to the same tolerance."""
    operator, ks = noise(n_samples, size, spikes=spikes), path_cardinalities(size)
    rule = {"rtol": 1e-6, "atol": 0.0, "max_iterations": 500}
    block: list[Any] = []
    singles: list[Any] = []

    def together() -> None:
        block[:] = runs_together(operator, ks, **rule)

    def alone() -> None:
        singles[:] = [run_alone(operator, k, **rule) for k in ks]

    whole, one = seconds(together, 3), seconds(alone, 1) / len(ks)
    same = sum(np.array_equal(a.vector.indices, b.vector.indices) for a, b in zip(block, singles, strict=True))
    behind = min(a.history[-1] / b.history[-1] - 1.0 for a, b in zip(block, singles, strict=True))
    counts = [run.n_iterations for run in singles]
    return (
        f"64 runs of Algorithm 1 as a block, n = {n_samples}, p = {size:,}, {spikes} spikes",
        f"{1e3 * whole:.2f} ms, one run {1e3 * one:.2f} ms ({min(counts)}-{max(counts)} iterations, block "
        f"{max(run.n_iterations for run in block)}); {same} of 64 supports equal, values {behind:+.1e} or better",
        f"{whole / one:.1f} x one run",
        "reported",
    )


def certificates() -> Iterator[Row]:
    """The default certificate: seconds of the solve with it less those without, and the gap."""
    for n_samples, size, spikes, k in ((500, 32_000, 10, 20), (500, 32_000, 10, 1600), (500, 1_000_000, 10, 1000)):
        yield one_certificate(n_samples, size, spikes, k)
        torch.cuda.empty_cache()


def one_certificate(n_samples: int, size: int, spikes: int, k: int) -> Row:
    operator = noise(n_samples, size, spikes=spikes)
    options: dict[str, Any] = {"start": "max-variance", "polish": "solve"}
    se.sparse_eigenvector(operator, k, **options)
    _, without = once(lambda: se.sparse_eigenvector(operator, k, certify=False, **options))
    result, with_it = once(lambda: se.sparse_eigenvector(operator, k, **options))
    certificate = result.certificate
    return (
        f"certificate, n = {n_samples}, p = {size:,}, {spikes} spikes, k = {k}",
        f"{1e3 * (with_it - without):.0f} ms beside {1e3 * without:.0f} ms for the solve",
        f"value {result.value:.5g}, bound {certificate.upper_bound:.5g} ({certificate.method}): gap "
        f"{100 * certificate.relative_gap:.2f} %",
        "reported",
    )
