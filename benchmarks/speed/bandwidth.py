"""A plain compiled iteration (product, truncation, support product) against the read bandwidth and against NumPy."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import best_of
from sparseigen import kernels

SAMPLES = 500


def show_bandwidth() -> None:
    """Share of the bandwidth at p = 32000, then the ratio to the best NumPy variant for every p."""
    rng = np.random.default_rng(0)
    print(
        f"{'plain iteration, n = 500':<34}{'ms':>8}{'read GB/s':>11}{'of limit':>10}{'best numpy ms':>15}{'ratio':>7}"
    )
    for dtype in (np.float64, np.float32):
        for size in (32000, 16000, 8000, 4000, 2000, 1000):
            variables = rng.standard_normal((size, SAMPLES)).astype(dtype)
            rows_of_samples = np.ascontiguousarray(variables.T)
            for share in (0.05, 0.1, 0.5):
                _show(variables, rows_of_samples, share, rng)


def _show(variables: np.ndarray, by_sample: np.ndarray, share: float, rng: np.random.Generator) -> None:
    size = len(variables)
    cardinality = int(share * size)
    support = np.sort(rng.choice(size, cardinality, replace=False)).astype(np.int64)
    weights = rng.standard_normal(cardinality).astype(variables.dtype)

    def ours() -> np.ndarray:
        product = kernels.row_dots(variables, kernels.combine_rows(variables, support, weights))
        return kernels.largest_magnitudes(product, cardinality)

    def numpy_by_variable() -> np.ndarray:
        product = variables @ (weights @ variables[support])
        return np.argpartition(np.abs(product), size - cardinality)[size - cardinality :]

    def numpy_by_sample() -> np.ndarray:
        product = (by_sample[:, support] @ weights) @ by_sample
        return np.argpartition(np.abs(product), size - cardinality)[size - cardinality :]

    flat = variables.reshape(-1).view(np.float64)
    repeats = 15 if size > 8000 else 41
    runs = {"limit": lambda: kernels.stream_sum(flat), "ours": ours, "a": numpy_by_variable, "b": numpy_by_sample}
    seconds = best_of(runs, repeats=repeats)
    same = set(ours()) == set(numpy_by_variable()) == set(numpy_by_sample())
    best = min(seconds["a"], seconds["b"])
    gigabytes = variables.nbytes / 1e9
    label = f"{variables.dtype}, p = {size}, k = {share:g} p"
    answer = "" if same else "  (another support: rounding tie)"
    print(
        f"{label:<34}{seconds['ours'] * 1e3:>8.2f}{gigabytes / seconds['ours']:>11.1f}"
        f"{seconds['limit'] / seconds['ours']:>10.0%}{best * 1e3:>15.2f}{best / seconds['ours']:>7.1f}{answer}",
        flush=True,
    )
