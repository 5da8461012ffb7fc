"""Algorithm 1 end to end against plain NumPy on the paper's Gaussian data (table 2), answers compared."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.timing import best_of
from sparseigen import covariance, sparse_eigenvector
from sparseigen.errors import ConvergenceWarning

PAPER_SECONDS = {
    (0.05, 1000): 0.07, (0.05, 2000): 0.13, (0.05, 4000): 0.39, (0.05, 8000): 0.88,
    (0.1, 1000): 0.07, (0.1, 2000): 0.14, (0.1, 4000): 0.55, (0.1, 8000): 1.00,
    (0.5, 1000): 0.12, (0.5, 2000): 0.43, (0.5, 4000): 2.06, (0.5, 8000): 5.08,
}  # fmt: skip
"""Table 2 of the paper: seconds on a 2011 desktop, Matlab, stop at a change of the objective of 1e-4."""


def numpy_tpower(data: np.ndarray, cardinality: int, limit: int = 1000) -> tuple[float, np.ndarray]:
    """The reference: row-major data, gather and two matrix-vector products, a partition."""
    divisor = len(data) - 1
    support = np.array([int((data**2).sum(axis=0).argmax())])
    weights, previous = np.ones(1), -np.inf
    for _ in range(limit):
        product = data.T @ (data[:, support] @ weights) / divisor
        value = float(weights @ product[support])
        if abs(value - previous) <= 1e-4:
            break
        previous = value
        support = np.sort(np.argpartition(np.abs(product), -cardinality)[-cardinality:])
        weights = product[support] / np.linalg.norm(product[support])
    return value, support


def show_iterations() -> None:
    """Seconds to the paper's tolerance, ours against NumPy's, and whether both chose the same variables."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    header = f"{'Algorithm 1, n = 500':<24}{'paper s':>9}{'numpy ms':>10}{'ours ms':>9}{'ratio':>7}  same answer"
    print(header)
    for (share, size), paper in PAPER_SECONDS.items():
        data = np.random.default_rng(size).standard_normal((500, size))
        data -= data.mean(axis=0)
        operator = covariance(data, center=False)
        cardinality = int(share * size)

        def ours(operator=operator, cardinality=cardinality):
            options = {"rtol": 0, "atol": 1e-4, "start": "max-variance", "polish": None, "certify": False}
            return sparse_eigenvector(operator, cardinality, **options)

        def theirs(data=data, cardinality=cardinality):
            return numpy_tpower(data, cardinality)

        seconds = best_of({"numpy": theirs, "ours": ours}, repeats=3)
        (value, support), result = theirs(), ours()
        same = "yes" if np.array_equal(support, result.support) else f"value {result.value / value - 1:+.1e}"
        label = f"p = {size}, k = {share:g} p"
        ratio = seconds["numpy"] / seconds["ours"]
        print(
            f"{label:<24}{paper:>9.2f}{seconds['numpy'] * 1e3:>10.1f}{seconds['ours'] * 1e3:>9.1f}{ratio:>7.1f}  {same}"
        )
    print()
