"""Proven optima of the literature's instances, and bounds beside PathSPCA's published ones.

Values: PitProps (13 variables) 3.406155 and 4.172638 for k = 5 and 10 are also in the tests of Optimal-SPCA; the gene
values were proven here by branch and bound and agree with the best published answers.
"""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates import certify
from sparseigen.datasets import load_gene_covariance, load_gene_curve, load_pitprops
from sparseigen.operators.contract import SparseVector
from tests.brute_force import brute_force


@pytest.mark.parametrize("cardinality", range(1, 14))
def test_pitprops_is_proven_at_every_cardinality(cardinality):
    matrix = load_pitprops().matrix
    result = se.solve_exact(matrix, cardinality)
    assert result.certificate.optimal
    assert result.stop_reason is se.results.StopReason.BRACKET_CLOSED
    assert result.value == pytest.approx(brute_force(matrix, cardinality), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "cardinality", "value"),
    [("colon", 5, 1646.454), ("colon", 10, 2641.229), ("colon", 20, 4255.694), ("lymphoma", 5, 4300.497)],
)
@pytest.mark.needs_data
def test_genes_are_proven(real_data, name, cardinality, value):
    matrix = load_gene_covariance(name)
    result = se.solve_exact(matrix, cardinality)
    assert result.certificate.optimal
    assert result.value == pytest.approx(value, abs=6e-4)
    assert se.verify(result, matrix), str(se.verify(result, matrix))


@pytest.mark.parametrize(("cardinality", "value"), [(5, 3.43978), (10, 4.59429)])
def test_wine_is_proven(cardinality, value):
    datasets = pytest.importorskip("sklearn.datasets")
    result = se.solve_exact(np.corrcoef(datasets.load_wine().data, rowvar=False), cardinality)
    assert result.certificate.optimal
    assert result.value == pytest.approx(value, abs=6e-6)


@pytest.mark.parametrize("cardinality", [5, 10])
@pytest.mark.needs_data
def test_correlations_of_a_thousand_genes_are_proven(real_data, cardinality):
    with gzip.open(real_data / "colon" / "colon_62x2000.csv.gz", "rt") as file:
        rows = list(csv.reader(file))
    data = np.log2(np.array([row[2:] for row in rows[1:]], dtype=float))
    chosen = np.argsort(-data.var(axis=0), kind="stable")[:1000]
    assert se.solve_exact(se.covariance(data[:, chosen], scale=True), cardinality).certificate.optimal


@pytest.mark.parametrize("name", ["colon", "lymphoma"])
@pytest.mark.needs_data
def test_default_is_nowhere_looser_than_the_published_bounds(real_data, name):
    matrix, curve = load_gene_covariance(name), load_gene_curve(name)
    theirs = curve["pathspca_upper_bound_share"] * np.trace(matrix)
    proven = 0
    cardinalities = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 500)
    for cardinality in cardinalities:
        start = "auto" if cardinality < 50 else "top-k-variance"
        certificate = se.sparse_eigenvector(matrix, cardinality, start=start).certificate
        # Where theirs is the optimum itself: a search proves a threshold that lies a little above the answer.
        assert certificate.upper_bound <= theirs[cardinality - 1] * (1.0 + 1e-7), cardinality
        proven += certificate.relative_gap <= 1e-4
    assert proven >= {"colon": 8, "lymphoma": 4}[name]


@pytest.mark.needs_data
def test_published_bound_is_below_the_published_value_at_six_cardinalities(real_data):
    """Why the comparison leaves out k = 207 to 212 on colon: there the published number bounds nothing."""
    curve = load_gene_curve("colon")
    wrong = np.flatnonzero(curve["pathspca_upper_bound_share"] < curve["pathspca_variance_share"] * (1.0 - 1e-9)) + 1
    assert wrong.tolist() == [207, 208, 209, 210, 211, 212]


def test_noise_is_bounded_within_six_percent():
    operator = se.covariance(np.random.default_rng(0).standard_normal((100, 200)))
    result = se.sparse_eigenvector(operator, 10, certify=False)
    vector = SparseVector(result.support, result.vector[result.support])
    # Ten times the time it takes: a slow machine must not change the answer.
    assert certify(operator, 10, vector, effort="tight", seconds=60.0).relative_gap <= 0.06
