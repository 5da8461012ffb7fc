"""Brute force over all sets of k vertices, and laws every answer obeys."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseigen as se
from sparseigen.graphs.methods import METHODS

KINDS = ("unweighted", "integers", "reals")


def random_case(rng, number):
    n = int(rng.integers(4, 17))
    upper = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.9), 1).astype(float)
    factors = {"unweighted": 1.0, "integers": rng.integers(1, 6, (n, n)), "reals": rng.random((n, n))}
    upper = upper * factors[KINDS[number % 3]]
    loops = np.diag(rng.integers(0, 2, n)) if number % 2 else 0.0
    return upper + upper.T + loops, int(rng.integers(1, n + 1))


def best_density(matrix, k):
    n = len(matrix)
    sets = np.array(list(itertools.combinations(range(n), k)))
    return max(matrix[chosen[:, None], chosen].sum() for chosen in sets) / k


@pytest.mark.slow
def test_three_hundred_graphs_against_brute_force():
    rng = np.random.default_rng(300)
    found = proved = 0
    for number in range(300):
        matrix, k = random_case(rng, number)
        result = se.densest_k_subgraph(sp.csr_array(matrix), k, self_loops="keep")
        best = best_density(matrix, k)
        slack = 1e-12 * (1.0 + best)
        assert result.certificate.lower_bound <= best + slack
        assert best <= result.certificate.upper_bound + slack
        assert result.density <= best + slack
        hit = result.density >= best - slack
        assert hit or not result.certificate.optimal
        found, proved = found + hit, proved + result.certificate.optimal
    assert found >= 294  # 98 %
    assert proved >= 100


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(METHODS)))
def test_every_method_gives_a_set_of_its_weight_below_the_bound(seed, method):
    matrix, k = random_case(np.random.default_rng(seed), seed)
    result = se.densest_k_subgraph(sp.csr_array(matrix), k, method=method, self_loops="keep")
    chosen = np.flatnonzero(result.indicator)
    assert len(chosen) == k
    assert result.weight == pytest.approx(matrix[np.ix_(chosen, chosen)].sum(), rel=1e-12, abs=1e-12)
    assert result.density <= result.certificate.upper_bound * (1 + 1e-15)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_default_is_at_least_every_other_method(seed):
    matrix, k = random_case(np.random.default_rng(seed), seed)
    default = se.densest_k_subgraph(sp.csr_array(matrix), k).density
    for method in METHODS:
        assert default >= se.densest_k_subgraph(sp.csr_array(matrix), k, method=method).density * (1 - 1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_best_weight_grows_with_k(seed):
    matrix, _ = random_case(np.random.default_rng(seed), seed)
    curve = se.density_curve(sp.csr_array(matrix), range(1, len(matrix) + 1))
    bounds = np.array([result.certificate.upper_bound * result.k for result in curve])
    weights = np.array([result.weight for result in curve])
    assert (weights <= bounds * (1 + 1e-15)).all()
    assert (np.diff(weights) >= -1e-9).all()
