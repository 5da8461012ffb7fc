"""One iteration on sparse data against scipy's own products from CSC; answers compared."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import best_of
from sparseigen import covariance

SIZE, PER_COLUMN = 20000, 1000


def show_sparse() -> None:
    """20000 x 20000 with 5 % non-zeros, 1000 chosen variables, implicit centring in both."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.sort(rng.choice(SIZE, PER_COLUMN, replace=False, shuffle=False)) for _ in range(SIZE)])
    starts = np.arange(0, SIZE * PER_COLUMN + 1, PER_COLUMN)
    data = sp.csc_matrix((rng.standard_normal(SIZE * PER_COLUMN), rows.astype(np.int32), starts.astype(np.int32)))
    operator, transposed = covariance(data), data.T
    support = np.sort(rng.choice(SIZE, SIZE // 20, replace=False)).astype(np.int64)
    weights = rng.standard_normal(len(support))
    weights /= np.linalg.norm(weights)
    means = np.asarray(data.mean(axis=0)).ravel()

    def scipys() -> np.ndarray:
        scores = data[:, support] @ weights - means[support] @ weights
        product = transposed @ scores / (SIZE - 1)
        return np.sort(np.argpartition(np.abs(product), -len(support))[-len(support) :])

    def ours() -> np.ndarray:
        return operator.apply_top(support, weights, len(support))[0]

    seconds = best_of({"scipy": scipys, "ours": ours}, repeats=9, label="20000 x 20000, 5 %, k = 1000")
    same = "yes" if np.array_equal(scipys(), ours()) else "NO"
    print(f"{'sparse iteration, 20 M non-zeros':<34}{'scipy ms':>9}{'ours ms':>9}{'ratio':>7}  same")
    theirs, mine = seconds["scipy"] * 1e3, seconds["ours"] * 1e3
    print(f"{'20000 x 20000, 5 %, k = 1000':<34}{theirs:>9.1f}{mine:>9.1f}{theirs / mine:>7.2f}  {same}")
