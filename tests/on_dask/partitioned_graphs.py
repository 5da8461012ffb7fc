"""Edges to be cut into partitions, and when two answers are the same."""

from __future__ import annotations

import numpy as np
import pytest


def power_law_edges(seed, n_vertices, n_edges, weighted=False):
    rng = np.random.default_rng(seed)
    ranks = (n_vertices * rng.random((2, n_edges)) ** 3).astype(np.int64)
    names = rng.permutation(n_vertices)[ranks]
    columns = [names[0], names[1]]
    if weighted:
        columns.append(rng.integers(1, 9, n_edges) / 4 if weighted == "exact" else rng.random(n_edges))
    return columns


def same(found, expected):
    assert found.nodes == expected.nodes
    # Weights that had to be rounded are added up anew at home, and not on the cluster; others are exact in both.
    assert found.weight == pytest.approx(expected.weight, rel=1e-12)
    assert found.density == pytest.approx(expected.density, rel=1e-12)
    assert found.edge_density == pytest.approx(expected.edge_density, rel=1e-12)
    assert np.array_equal(found.indicator, expected.indicator)
    assert np.array_equal(found.history, expected.history)
    assert found.n_iterations == expected.n_iterations
    assert found.stop_reason == expected.stop_reason
    for key in ("treatment", "self_loops", "duplicate_edges"):
        assert found.settings[key] == expected.settings[key]
    if expected.certificate is None:
        assert found.certificate is None
    else:
        assert found.certificate.upper_bound == expected.certificate.upper_bound
        assert found.certificate.lower_bound == expected.certificate.lower_bound
