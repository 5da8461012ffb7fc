"""Figure 1 of Yuan and Zhang: 500 cardinalities on two gene covariances, against the authors' own arrays."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import sparseigen as se

pytestmark = pytest.mark.needs_data

STRICTLY_ABOVE = {"colon": 15, "lymphoma": 60}


@pytest.fixture(scope="module", params=["colon", "lymphoma"])
def genes(request, real_data):
    return request.param, se.datasets.load_gene_covariance(request.param), se.datasets.load_gene_curve(request.param)


def test_pathspca_equals_the_authors_curve(genes) -> None:
    _, matrix, curve = genes
    path = se.cardinality_path(matrix, range(1, 501), method="pathspca", certify=False)
    np.testing.assert_allclose(path.shares, curve["pathspca_variance_share"], rtol=1e-9)


def test_our_path_is_nowhere_below_theirs_and_often_above(genes) -> None:
    name, matrix, curve = genes
    path = se.cardinality_path(matrix, range(1, 501), certify=False)
    authors = np.maximum(curve["tpower_variance_share"], curve["pathspca_variance_share"])
    gain = path.shares / authors - 1.0
    assert gain.min() > -1e-9
    assert (gain > 1e-11).sum() >= STRICTLY_ABOVE[name]
    assert (np.diff(path.values) >= 0.0).all()


def test_a_coarse_grid_is_as_good_as_single_solves(real_data) -> None:
    """Logarithms of expression: many local optima, and neighbours on the grid are far apart."""
    with gzip.open(real_data / "colon" / "colon_62x2000.csv.gz", "rt") as file:
        rows = [line.rstrip("\n").split(",")[2:] for line in file][1:]
    logs = np.log2(np.array(rows, dtype=float))
    operator = se.covariance(logs[:, np.sort(np.argsort(-logs.var(axis=0))[:500])])
    grid = sorted({int(k) for k in np.geomspace(1, 500, 14).round()})
    path = se.cardinality_path(operator, grid, certify=False)
    for result in path:
        if result.cardinality <= 100:
            single = se.sparse_eigenvector(operator, result.cardinality, certify=False)
            assert result.value >= single.value * (1.0 - 1e-6)
