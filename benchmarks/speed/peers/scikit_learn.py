"""scikit-learn: SparsePCA, MiniBatchSparsePCA, and dictionary learning used as sparse PCA."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.speed.cells import Problem
from benchmarks.speed.peers.interface import Fit


def largest_penalty(problem: Problem) -> float:
    """The length of the longest variable: with a unit score vector no loading survives a larger penalty."""
    return float(np.linalg.norm(problem.centred_data, axis=0).max())


def sparse_pca(problem: Problem, penalty: float, seed: int) -> np.ndarray:
    from sklearn.decomposition import SparsePCA

    return SparsePCA(n_components=1, alpha=penalty, random_state=seed).fit(problem.dense_data).components_[0]


def mini_batch(problem: Problem, penalty: float, seed: int) -> np.ndarray:
    from sklearn.decomposition import MiniBatchSparsePCA

    return MiniBatchSparsePCA(n_components=1, alpha=penalty, random_state=seed).fit(problem.dense_data).components_[0]


def dictionary(name: str, **options: Any) -> Fit:
    """One atom for the variables as samples: the atom is the score vector, the sparse codes are the loadings."""

    def fit(problem: Problem, penalty: float, seed: int) -> np.ndarray:
        from sklearn import decomposition

        learner = getattr(decomposition, name)(
            n_components=1, alpha=penalty, random_state=seed, transform_algorithm="lasso_cd", **options
        )
        return learner.fit_transform(problem.centred_data.T)[:, 0]

    return fit
