"""Random graphs for tests."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def random_graph(rng, n, share):
    upper = np.triu(rng.random((n, n)) < share, 1).astype(float)
    return sp.csr_array(upper + upper.T)
