"""What `certify=True` costs: seconds of the default bound over seconds of the default solve."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

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


def expression(size: int) -> np.ndarray:
    """As a table of gene expression on a log scale: broad programmes, unequal variances, heavy tails."""
    rng = np.random.default_rng(1)
    shares = rng.random((6, size)) < 0.15
    programmes = rng.standard_normal((60, 6)) @ (shares * rng.exponential(1.0, (6, size)))
    return programmes + rng.gamma(2.0, 0.3, size) * rng.standard_t(4, (60, size))


def word_counts(documents: int, words: int) -> sp.csr_array:
    """Sparse counts whose words come from topics."""
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(words, 0.02), 20)
    mixed = rng.dirichlet(np.full(20, 0.1), documents) @ topics
    return sp.csr_array(rng.poisson(80.0 * mixed).astype(float))


def table() -> None:
    print("\ncost of certify=True: default bound / default solve, on data of several kinds")
    cases = [
        ("colon (500)", load_gene_covariance("colon"), (5, 10, 20, 50, 100, 200)),
        ("lymphoma (500)", load_gene_covariance("lymphoma"), (5, 10, 20, 50, 100, 200)),
        ("colon log2 data (2000)", se.covariance(colon_log2()), (5, 10, 50, 200)),
        ("spiked data (5000)", se.covariance(spiked(5000)), (5, 10, 50)),
        ("spiked data (20000)", se.covariance(spiked(20000)), (5, 10)),
        ("expression (22000)", se.covariance(expression(22_000)), (5, 20, 100)),
        ("word counts (2000 x 5000)", se.covariance(word_counts(2000, 5000)), (5, 20, 100)),
    ]
    ratios = []
    for name, matrix, cardinalities in cases:
        operator = as_operator(matrix)
        for k in cardinalities:
            result, solving = fastest(lambda: se.sparse_eigenvector(operator, k, certify=False), 3)  # noqa: B023
            vector = SparseVector(result.support, result.vector[result.support])
            certificate, proving = fastest(lambda: certify(operator, k, vector), 3)  # noqa: B023
            print(f"{name:26s} k = {k:4d}  solve {solving:7.4f} s  bound {proving:7.4f} s  ratio ", end="")
            print(f"{proving / solving:5.2f}  gap {certificate.relative_gap:.3%}", flush=True)
            ratios.append(proving / solving)
    print(f"between {min(ratios):.2f} and {max(ratios):.1f} times the solve, {np.median(ratios):.1f} in the middle")
