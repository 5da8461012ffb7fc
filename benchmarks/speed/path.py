"""A path of 64 cardinalities against one solve with the default starts, certificates on both sides."""

from __future__ import annotations

import numpy as np

from benchmarks.speed.screening import SAMPLES
from benchmarks.timing import best_of
from sparseigen import cardinality_path, covariance, sparse_eigenvector

SIZE, POINTS = 8000, 64


def show_path() -> None:
    """Ten spikes of 100 variables in noise, k = 10 ... 640; the solve at the path's middle, as it is in practice."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((SAMPLES, SIZE))
    for spike in range(10):
        data[:, spike * 100 : spike * 100 + 100] += (2.0 - 0.1 * spike) * rng.standard_normal((SAMPLES, 1))
    operator = covariance(data)
    cardinalities = [10 * (point + 1) for point in range(POINTS)]
    middle = cardinalities[POINTS // 2]
    print(f"{'path, p = 8000, 10 spikes':<34}{'one solve ms':>13}{'path ms':>9}{'ratio':>7}  lowest to single solves")
    for certify in (True, False):
        label = f"64 points, {'with' if certify else 'without'} certificates"
        runs = {
            "solve": lambda certify=certify: sparse_eigenvector(operator, middle, certify=certify),
            "path": lambda certify=certify: cardinality_path(operator, cardinalities, certify=certify),
        }
        seconds = best_of(runs, repeats=1, label=label)
        path = {result.cardinality: result.value for result in cardinality_path(operator, cardinalities, certify=False)}
        singles = {k: sparse_eigenvector(operator, k, certify=False).value for k in cardinalities[::16]}
        lowest = min(path[k] / value - 1.0 for k, value in singles.items())
        print(
            f"{label:<34}{seconds['solve'] * 1e3:>13.0f}{seconds['path'] * 1e3:>9.0f}"
            f"{seconds['path'] / seconds['solve']:>7.1f}  {lowest:+.0e}",
            flush=True,
        )
