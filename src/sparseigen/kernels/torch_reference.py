"""The kernels on torch tensors, in torch's own operations: on any device, with no host synchronisation.

The Triton kernels are their fast twins on CUDA. torch is imported inside the functions: importing this module is free.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Tensor = Any


def row_dots(matrix: Tensor, vector: Tensor) -> Tensor:
    """``matrix @ vector``."""
    return matrix @ vector


def combine_rows(matrix: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    """``sum_f weights[f] * matrix[rows[f]]``."""
    return weights @ matrix[rows]


def kept_mask(values: Tensor, counts: Tensor, largest: int, *, nonnegative: bool = False) -> Tensor:
    """Which entries of each row are among its ``counts[row]`` largest magnitudes; ties go to the lowest index.

    ``largest`` is the largest count. `torch.topk` gives the k-th largest magnitude; which of the entries equal to it
    are kept is decided here, because topk leaves that open.
    """
    import torch

    magnitudes = values.clamp(min=0) if nonnegative else values.abs()
    top = torch.topk(magnitudes, largest, dim=1).values
    threshold = top.gather(1, (counts - 1)[:, None])
    above = magnitudes > threshold
    ties = magnitudes == threshold
    wanted_ties = counts[:, None] - above.sum(dim=1, keepdim=True)
    return above | (ties & (ties.cumsum(dim=1) <= wanted_ties))


def largest_magnitudes(values: Tensor, count: int, *, nonnegative: bool = False) -> Tensor:
    """Indices of the ``count`` largest magnitudes, ascending; ties go to the lowest index."""
    import torch

    size = values.shape[0]
    places = torch.arange(size, device=values.device)
    if count >= size:
        return places
    counts = torch.full((1,), count, device=values.device)
    keep = kept_mask(values[None], counts, count, nonnegative=nonnegative)[0]
    # Positions by counting instead of nonzero(): the size is known, so the host need not wait for it.
    position = torch.where(keep, keep.cumsum(0) - 1, count)
    return torch.empty(count + 1, dtype=torch.int64, device=values.device).scatter_(0, position, places)[:count]


def top_sums(values: Tensor, count: int) -> Tensor:
    """Sum of the ``count`` largest entries of each row of nonnegative numbers, added in float64."""
    import torch

    return torch.topk(values, count, dim=1, sorted=False).values.double().sum(dim=1)


@contextmanager
def matmul_precision(*, tf32: bool) -> Iterator[None]:
    """Inside, float32 matrix products on CUDA use tf32, or surely do not; the caller's choice returns afterwards."""
    import torch

    settings = torch.backends.cuda.matmul
    name, wanted = ("fp32_precision", "tf32" if tf32 else "ieee") if hasattr(settings, "fp32_precision") else (
        "allow_tf32", tf32
    )  # fmt: skip
    before = getattr(settings, name)
    setattr(settings, name, wanted)
    try:
        yield
    finally:
        setattr(settings, name, before)


def recorded(work: Callable[[], None]) -> Any:
    """``work`` as a CUDA graph; everything it calls has run before, so that nothing is compiled meanwhile.

    Python's cycle collector rests: an older graph freed while this one is being recorded invalidates the recording. So
    would another thread's allocation, unless the recording is about this thread alone.
    """
    import torch

    graph = torch.cuda.CUDAGraph()
    collecting = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            work()
    finally:
        if collecting:
            gc.enable()
    return graph
