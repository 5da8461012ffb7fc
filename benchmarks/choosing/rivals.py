"""Other ways to the number of components and to k: parallel analysis, cross-validation, EBIC, penalties, a share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import sparseigen as se
from benchmarks.choosing.designs import Floats, Indices, match_supports
from sparseigen.components.sequential import choose_cardinalities

PERMUTATIONS, QUANTILE = 19, 0.95
FOLDS = 5
PENALTIES = (0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0)


def _standardise(data: Floats, *, scale: bool) -> Floats:
    centred = data - data.mean(axis=0)
    return centred / centred.std(axis=0, ddof=1) if scale else centred


def count_by_parallel_analysis(data: Floats, *, scale: bool, rng: np.random.Generator) -> int:
    """Leading eigenvalues above those of data with every column permuted by itself (Horn 1965; Buja, Eyuboglu 1992)."""
    values = np.linalg.svd(_standardise(data, scale=scale), compute_uv=False)
    permuted = np.array(
        [
            np.linalg.svd(_standardise(rng.permuted(data, axis=0), scale=scale), compute_uv=False)
            for _ in range(PERMUTATIONS)
        ]
    )
    above = values > np.quantile(permuted, QUANTILE, axis=0)
    return len(above) if above.all() else int(np.argmin(above))


def fine_grid(p: int) -> list[int]:
    """Every k to 64, then steps of 12 %."""
    grid = [*range(1, min(p, 64) + 1)]
    while grid[-1] < p:
        grid.append(min(p, max(grid[-1] + 1, round(1.12 * grid[-1]))))
    return grid


def _find_path(data: Floats, *, scale: bool) -> tuple[list[int], list[Floats]]:
    grid = fine_grid(data.shape[1])
    path = se.cardinality_path(se.covariance(data, scale=scale), grid, certify=False, effort="quick")
    return grid, [path[k].vector for k in grid]


def support_by_cross_validation(data: Floats, *, scale: bool, rng: np.random.Generator) -> Indices:
    """The k of a fine grid whose component explains most variance of the folds left out."""
    values = _standardise(data, scale=scale)
    folds = rng.permutation(len(values)) % FOLDS
    held_out: NDArray[np.float64] | float = 0.0
    for fold in range(FOLDS):
        _, vectors = _find_path(values[folds != fold], scale=False)
        rest = values[folds == fold] - values[folds != fold].mean(axis=0)
        held_out = held_out + np.array([float(((rest @ vector) ** 2).sum()) for vector in vectors])
    _, vectors = _find_path(values, scale=False)
    return np.flatnonzero(vectors[int(np.argmax(held_out))])


def support_by_ebic(data: Floats, *, scale: bool) -> Indices:
    """The k of least extended BIC of a spiked covariance.

    That is the deviance of x ~ N(0, s(I + theta vv')) plus k log n + 2 log C(p, k) (Chen and Chen 2008).
    """
    from scipy.special import gammaln

    values = _standardise(data, scale=scale)
    n, p = values.shape
    total = float((values**2).sum()) / n
    grid, vectors = _find_path(values, scale=False)
    criteria = []
    for k, vector in zip(grid, vectors, strict=True):
        along = float(((values @ vector) ** 2).sum()) / n
        noise = max((total - along) / (p - 1), 1e-12 * total)
        deviance = n * (np.log(along) + (p - 1) * np.log(noise) + p)
        sets = gammaln(p + 1) - gammaln(k + 1) - gammaln(p - k + 1)
        criteria.append(deviance + k * np.log(n) + 2.0 * sets)
    return np.flatnonzero(vectors[int(np.argmin(criteria))])


def best_of_scikit_learn(data: Floats, truth: list[Indices], *, scale: bool) -> float:
    """The F1 of scikit-learn's SparsePCA at the penalty that fits the truth best: it is told what it should find."""
    import warnings

    from sklearn.decomposition import SparsePCA

    values, best = _standardise(data, scale=scale), 0.0
    for alpha in PENALTIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of no convergence in its default number of steps
            fitted = SparsePCA(n_components=max(1, len(truth)), alpha=alpha, random_state=0, max_iter=200).fit(values)
        best = max(best, match_supports(truth, [np.flatnonzero(row) for row in fitted.components_ if row.any()]))
    return best


def support_by_share(data: Floats, *, scale: bool) -> Indices:
    """What "auto" was before: the smallest k of 24 that holds 90 % of the dense component."""
    operator = se.covariance(data, scale=scale)
    (k,) = choose_cardinalities(operator, "auto", 1)
    return se.sparse_eigenvector(operator, k, certify=False, effort="quick").support


def support_by_true_k(data: Floats, k: int, *, scale: bool) -> Indices:
    """Algorithm 1 where somebody tells k."""
    operator = se.covariance(data, scale=scale)
    return se.sparse_eigenvector(operator, k, start="max-variance", polish=None, certify=False).support
