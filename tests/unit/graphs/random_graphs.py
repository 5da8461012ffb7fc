"""Random graphs, and the bracket that a graph gets, as fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

import sparseigen as se


def random_graph(rng, n, share):
    upper = np.triu(rng.random((n, n)) < share, 1).astype(float)
    return sp.csr_array(upper + upper.T)


def bracket_of(graph, k, **options):
    result = se.densest_k_subgraph(sp.csr_array(graph), k, **options)
    return result, Fraction(result.certificate.lower_bound), Fraction(result.certificate.upper_bound)


def weighted_matrix(rng, size, *, loops=True):
    """A symmetric matrix of small whole numbers, many of them zero."""
    upper = np.triu(rng.integers(1, 6, (size, size)) * (rng.random((size, size)) < 0.5), 0 if loops else 1)
    return (upper + np.triu(upper, 1).T).astype(float)


def heaviest_sets(matrix, required=()):
    """By k the largest weight of k vertices that hold the required ones, enumerated; entry 0 is 0."""
    size = len(matrix)
    best = np.zeros(size + 1)
    for bits in range(1, 1 << size):
        chosen = [v for v in range(size) if bits >> v & 1]
        if all(v in chosen for v in required):
            best[len(chosen)] = max(best[len(chosen)], matrix[np.ix_(chosen, chosen)].sum())
    return best


def integer_graph(matrix):
    """The integer graph of a matrix, its loops kept."""
    from sparseigen.checks.graph_objects import check_graph
    from sparseigen.graphs.model import build_graph

    return build_graph(check_graph(sp.csr_array(matrix)), directed="average", self_loops="keep")[0]
