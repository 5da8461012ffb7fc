"""The algorithms of msPCA and nsprcomp, written anew from their descriptions: a matrix, k and r -> components.

msPCA (Cory-Wright and Pauphilet, "Sparse PCA with multiple components"): the constraint is a penalty on what components
share, which grows from sweep to sweep; each component is a truncated power method on the penalised matrix, from several
random starts. nsprcomp (Sigg and Buhmann 2008; Mackey 2008): truncated power steps (an EM iteration) on the matrix from
which the span of the components before was projected out, from several random starts.
"""

from __future__ import annotations

import numpy as np

RESTARTS = 20
"""Random starts of a component."""


def _keep_largest(vectors: np.ndarray, k: int) -> np.ndarray:
    kept = np.argpartition(-np.abs(vectors), k - 1, axis=0)[:k]
    out = np.zeros_like(vectors)
    np.put_along_axis(out, kept, np.take_along_axis(vectors, kept, axis=0), axis=0)
    return out / np.maximum(np.linalg.norm(out, axis=0), 1e-300)


def _truncated_power(matrix: np.ndarray, k: int, starts: np.ndarray, steps: int = 200) -> np.ndarray:
    """The best of several truncated power runs; the matrix is shifted to be positive semidefinite."""
    shift = max(0.0, -float(np.linalg.eigvalsh(matrix)[0]))
    vectors = _keep_largest(starts, k)
    for _ in range(steps):
        following = _keep_largest(matrix @ vectors + shift * vectors, k)
        if np.abs(following - vectors).max() < 1e-9:
            break
        vectors = following
    values = np.einsum("ij,ij->j", vectors, matrix @ vectors)
    best = vectors[:, int(values.argmax())]
    support = np.flatnonzero(best)
    out = np.zeros(len(matrix))
    out[support] = np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
    return out


def run_mspca(matrix: np.ndarray, k: int, count: int, seed: int, *, tolerance: float = 1e-4) -> np.ndarray:
    """Orthogonal components: the penalty grows until the violation is below the tolerance."""
    rng = np.random.default_rng(seed)
    size = len(matrix)
    columns = np.zeros((size, count))
    best, most = columns, -np.inf
    penalty, top = 0.0, float(np.linalg.eigvalsh(matrix)[-1])
    for sweep in range(200):
        for t in range(count):
            others = np.delete(columns, t, axis=1)
            starts = np.hstack([rng.standard_normal((size, RESTARTS)), columns[:, [t]]])
            columns[:, t] = _truncated_power(matrix - penalty * (others @ others.T), k, starts)
        gram = columns.T @ columns
        broken = float(np.abs(np.triu(gram, 1)).sum())
        value = float(np.einsum("ij,ij->", columns, matrix @ columns))
        if broken <= tolerance and value > most:
            best, most = columns.copy(), value
        if broken <= tolerance and sweep > 20:
            break
        penalty = max(penalty * 1.15, 0.02 * top)
    return best


def run_nsprcomp(matrix: np.ndarray, k: int, count: int, seed: int) -> np.ndarray:
    """Components one after the other, each in what projecting out the span of those before leaves."""
    rng = np.random.default_rng(seed)
    size = len(matrix)
    columns, left = np.zeros((size, count)), matrix
    for t in range(count):
        columns[:, t] = _truncated_power(left, k, rng.standard_normal((size, RESTARTS)))
        basis = np.linalg.qr(columns[:, : t + 1])[0]
        apart = np.eye(size) - basis @ basis.T
        left = apart @ matrix @ apart
    return columns


def measure(matrix: np.ndarray, columns: np.ndarray) -> tuple[float, float]:
    """The share of variance that the components' span explains one after the other, and the violation.

    For orthogonal components the share is the sum of x'Ax over the trace; for others the overlap is counted once.
    """
    basis = np.linalg.qr(columns)[0]
    share = float(np.einsum("ij,ij->", basis, matrix @ basis)) / float(matrix.trace())
    return share, float(np.abs(np.triu(columns.T @ columns, 1)).sum())
