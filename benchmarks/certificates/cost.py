"""What `certify=True` costs: seconds of the default bound over seconds of the default solve."""

from __future__ import annotations

import numpy as np

import sparseigen as se
from benchmarks.certificates.efforts import fastest
from benchmarks.certificates.instances import colon_log2
from sparseigen.certificates import certify
from sparseigen.datasets import load_gene_covariance
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector


def spiked(size: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((100, size))
    data[:, :10] += 2.0 * rng.standard_normal((100, 1))
    return data


def table() -> None:
    print("\ncost of certify=True: default bound / default solve (allowed: 3, and 5 for p > 2000 with k <= 10)")
    cases = [
        ("colon (500)", load_gene_covariance("colon"), (5, 10, 20, 50, 100, 200)),
        ("lymphoma (500)", load_gene_covariance("lymphoma"), (5, 10, 20, 50, 100, 200)),
        ("colon log2 data (2000)", se.covariance(colon_log2()), (5, 10, 50, 200)),
        ("spiked data (5000)", se.covariance(spiked(5000)), (5, 10, 50)),
        ("spiked data (20000)", se.covariance(spiked(20000)), (5, 10)),
    ]
    for name, matrix, cardinalities in cases:
        operator = as_operator(matrix)
        for k in cardinalities:
            result, solving = fastest(lambda: se.sparse_eigenvector(operator, k, certify=False), 3)  # noqa: B023
            vector = SparseVector(result.support, result.vector[result.support])
            certificate, proving = fastest(lambda: certify(operator, k, vector), 3)  # noqa: B023
            print(f"{name:24s} k = {k:4d}  solve {solving:7.4f} s  bound {proving:7.4f} s  ratio ", end="")
            print(f"{proving / solving:5.2f}  gap {certificate.relative_gap:.3%}", flush=True)
