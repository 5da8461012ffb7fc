"""A plain iteration (both products and the truncation) against the read bandwidth and against NumPy.

Real iterations: each loop starts at the same point and goes on from its own last iterate. Ours is the operator's whole
step, screening off; NumPy's are the two layouts in their fastest forms. The limit is a pure read of the same bytes:
n(p + k) numbers, or np where one pass serves both products.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from benchmarks.timing import best_step
from sparseigen import covariance, kernels
from sparseigen.operators import screening
from sparseigen.operators.contract import SparseVector
from sparseigen.operators.data import FUSED_SHARE

SAMPLES = 500


def show_bandwidth() -> None:
    """Share of the bandwidth and the ratio to the best NumPy variant, for every p and both precisions."""
    rng = np.random.default_rng(0)
    print(
        f"{'plain iteration, n = 500':<32}{'ms':>8}{'read GB/s':>11}{'of limit':>10}{'best numpy ms':>15}{'ratio':>7}"
    )
    for dtype in (np.float64, np.float32):
        for size in (32000, 16000, 8000, 4000, 2000, 1000):
            data = rng.standard_normal((SAMPLES, size)).astype(dtype)
            for share in (0.05, 0.1, 0.5):
                _show(data, share, f"{np.dtype(dtype)}, p = {size}, k = {share:g} p")


def _show(data: np.ndarray, share: float, label: str) -> None:
    cardinality = int(share * data.shape[1])
    limit, screening.SMALLEST_DATA = screening.SMALLEST_DATA, 1 << 62
    operator = covariance(data, center=False)
    variables = operator.variables
    flat = variables.reshape(-1).view(np.float64)
    support = np.sort(np.argpartition(np.abs(data[0]), -cardinality)[-cardinality:]).astype(np.int64)
    weights = np.full(cardinality, cardinality**-0.5, dtype=data.dtype)

    def read() -> Iterator[None]:
        while True:
            kernels.stream_sum(flat)
            yield

    def ours() -> Iterator[np.ndarray]:
        steps, vector = operator.iteration([cardinality]), SparseVector(support, weights.astype(np.float64))
        while True:
            step = steps.step(vector, cardinality)
            vector = SparseVector(step.indices, step.values / kernels.length(step.values))
            yield vector.indices

    def by_variable() -> Iterator[np.ndarray]:
        chosen, values = support, weights
        while True:
            product = variables @ (values @ variables[chosen])
            chosen = np.argpartition(np.abs(product), -cardinality)[-cardinality:]
            values = product[chosen] / np.linalg.norm(product[chosen])
            yield chosen

    def by_sample() -> Iterator[np.ndarray]:
        chosen, values = support, weights
        while True:
            product = (data[:, chosen] @ values) @ data
            chosen = np.argpartition(np.abs(product), -cardinality)[-cardinality:]
            values = product[chosen] / np.linalg.norm(product[chosen])
            yield chosen

    seconds = best_step({"limit": read, "ours": ours, "by variable": by_variable, "by sample": by_sample}, label=label)
    answers = {tuple(sorted(next(islice(loop(), 4, None)))) for loop in (ours, by_variable, by_sample)}
    screening.SMALLEST_DATA = limit
    best = min(seconds["by variable"], seconds["by sample"])
    passes = 1.0 if share >= FUSED_SHARE else 1.0 + share
    print(
        f"{label:<32}{seconds['ours'] * 1e3:>8.2f}{passes * variables.nbytes / 1e9 / seconds['ours']:>11.1f}"
        f"{passes * seconds['limit'] / seconds['ours']:>10.0%}{best * 1e3:>15.2f}{best / seconds['ours']:>7.2f}"
        f"  {'same' if len(answers) == 1 else 'another'} support after five steps",
        flush=True,
    )
