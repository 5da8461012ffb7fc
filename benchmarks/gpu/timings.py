"""What an iteration, a path and a certificate cost on the device, beside the copy bandwidth of the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import sparseigen as se

Row = tuple[str, str, str, str]
NEVER = {"rtol": -1.0, "atol": -1.0}
"""A stop rule no iteration satisfies."""


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
    """Bytes read and written a second by a large device-to-device copy."""
    source = torch.randn(1 << 30, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.nbytes / device_seconds(lambda: target.copy_(source), 3)


def noise(n_samples: int, size: int, *, spikes: int = 0) -> Any:
    """Gaussian data made on the device, one row a variable; handed over transposed and uncentred: no copy is made."""
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
    each = seconds(lambda: operator.truncated_power_run(*start(operator), k, max_iterations=count, **NEVER), 5) / count
    moved = 4 * n_samples * (size + k)
    steps = operator.kept(("triton", False), None)
    replay = device_seconds(steps.graph.replay, 4) / steps.length
    parts = {
        "product": device_seconds(lambda: steps.multiply(steps.scores, steps.product), 8),
        "selection": device_seconds(lambda: select_once(steps), 8),
        "support product": device_seconds(lambda: steps._score(1, steps.wanted), 8),
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


def start(operator: Any) -> tuple[Any, Any]:
    """The variable of largest variance."""
    return np.array([int(np.argmax(operator.diagonal()))]), np.ones(1)


def select_once(steps: Any) -> None:
    steps.select.compact(
        steps.product, steps.wanted, steps.indices[0], steps.indices[1], steps.entries[1], steps.norm_parts,
        steps.changes[0],
    )  # fmt: skip


def paths() -> Iterator[Row]:
    """64 cardinalities as one block against the mean of 64 single runs to the same tolerance."""
    for n_samples, size, spikes in ((500, 32_000, 10), (500, 32_000, 0), (500, 1_000_000, 10)):
        yield one_path(n_samples, size, spikes)
        torch.cuda.empty_cache()


def one_path(n_samples: int, size: int, spikes: int) -> Row:
    operator = noise(n_samples, size, spikes=spikes)
    ks = [int(k) for k in np.unique(np.geomspace(size // 1000, size // 20, 64).astype(int))]
    ks += list(range(size // 20 + 1, size // 20 + 1 + 64 - len(ks)))
    rule = {"rtol": 1e-6, "atol": 0.0, "max_iterations": 500}
    block: list[Any] = []
    singles: list[Any] = []

    def together() -> None:
        block[:] = operator.truncated_power_block(ks, **rule)

    def alone() -> None:
        singles[:] = [operator.truncated_power_run(*start(operator), k, **rule) for k in ks]

    whole, one = seconds(together, 3), seconds(alone, 1) / len(ks)
    same = sum(np.array_equal(a.indices, b.indices) for a, b in zip(block, singles, strict=True))
    behind = min(a.history[-1] / b.history[-1] - 1.0 for a, b in zip(block, singles, strict=True))
    counts = [run.n_iterations for run in singles]
    return (
        f"64-point path, n = {n_samples}, p = {size:,}, {spikes} spikes, k = {ks[0]} ... {ks[-1]}",
        f"{1e3 * whole:.2f} ms, one solve {1e3 * one:.2f} ms ({min(counts)}-{max(counts)} iterations, block "
        f"{max(run.n_iterations for run in block)}); {same} of 64 supports equal, values {behind:+.1e} or better",
        f"{whole / one:.1f} x one solve",
        "<= 6 x",
    )


def certificates() -> Iterator[Row]:
    """The scaled Gershgorin bound, four passes."""
    for n_samples, size, spikes, k in ((500, 32_000, 10, 20), (500, 32_000, 10, 1600), (500, 32_000, 0, 1600)):
        yield one_certificate(n_samples, size, spikes, k)
        torch.cuda.empty_cache()


def one_certificate(n_samples: int, size: int, spikes: int, k: int) -> Row:
    operator = noise(n_samples, size, spikes=spikes)
    run = operator.truncated_power_run(*start(operator), k, rtol=1e-7, atol=0.0, max_iterations=500)
    product = np.abs(operator.apply_support(run.indices, run.weights)).astype(float)
    scaling = np.maximum(product, np.sort(product)[-k])
    bounds: list[float] = []
    taken = seconds(lambda: bounds.append(operator.scaled_gershgorin(k, scaling, 4)), 3)
    value, bound = run.history[-1], bounds[-1]
    return (
        f"certificate, n = {n_samples}, p = {size:,}, {spikes} spikes, k = {k}, 4 passes",
        f"{1e3 * taken:.0f} ms",
        f"value {value:.5g}, bound {bound:.5g}: gap {100 * (bound / value - 1.0):.2f} %",
        "reported",
    )
