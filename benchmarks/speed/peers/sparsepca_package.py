"""The package `sparsepca`: alternating manifold proximal gradients (AManPG) with an l1 penalty.

In its favour: the data are divided by their largest singular value, because its stop rule is absolute; its own
normalisation, which centres and scales samples and overwrites them, is off; and it starts at the leading right singular
vector, as its documentation says (left alone, version 0.2.3 starts at a column of V' instead).
"""

from __future__ import annotations

import numpy as np

from benchmarks.speed.cells import Problem

LARGEST = 4.0
"""The gradient of the scaled problem is at most 2: from here on nothing is left."""


def largest_penalty(problem: Problem) -> float:
    return LARGEST


def fit(problem: Problem, penalty: float, seed: int) -> np.ndarray:
    from sparsepca import spca

    _, values, rights = np.linalg.svd(problem.centred_data, full_matrices=False)
    start = np.ascontiguousarray(rights[:1].T)
    found = spca(
        problem.centred_data / values[0],
        np.full((1, 1), penalty),
        np.inf,
        x0=start,
        y0=start,
        k=1,
        normalize=False,
        tol=1e-9,
    )
    return found["loadings"][:, 0]
