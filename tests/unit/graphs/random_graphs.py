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
