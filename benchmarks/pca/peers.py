"""Other packages on Gaussian data: seconds, and variance at the same cardinality.

Every peer runs in its own process under a time limit. The variance of a peer is that of the best weights on its
support, cut to its k largest loadings where it kept more: as kind to it as the comparison can be.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import time
import warnings
from collections.abc import Callable

import numpy as np

import sparseigen as se
from benchmarks.pca.tables import Table

N_SAMPLES = 500
SIZES = (1000, 4000, 16000)
SHARES = (0.05, 0.10)
LIMITS = {1000: 150.0, 4000: 120.0, 16000: 330.0}
"""Seconds each run may take, by size."""
ALPHA = 1.0
"""scikit-learn's penalty, its default; on this data it keeps more loadings than are asked for."""


def gaussian(size: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((N_SAMPLES, size))


def _default(data: np.ndarray, cardinality: int) -> np.ndarray:
    return se.SparsePCA(cardinality=cardinality, certify=False).fit(data).components_[0]


def _plain(data: np.ndarray, cardinality: int) -> np.ndarray:
    pca = se.SparsePCA(cardinality=cardinality, certify=False, start="max-variance", polish=None)
    return pca.fit(data).components_[0]


def _sklearn(data: np.ndarray, cardinality: int) -> np.ndarray:
    from sklearn.decomposition import SparsePCA

    return SparsePCA(n_components=1, alpha=ALPHA, random_state=0).fit(data).components_[0]


def _mini_batch(data: np.ndarray, cardinality: int) -> np.ndarray:
    from sklearn.decomposition import MiniBatchSparsePCA

    estimator = MiniBatchSparsePCA(n_components=1, alpha=ALPHA, random_state=0)
    return estimator.fit(data).components_[0]


def _abess(data: np.ndarray, cardinality: int) -> np.ndarray:
    from abess.decomposition import SparsePCA

    return np.asarray(SparsePCA(support_size=cardinality).fit(data).coef_, dtype=float).ravel()


METHODS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "sparseigen, polish=None": _plain,
    "sparseigen, default": _default,
    "scikit-learn SparsePCA": _sklearn,
    "scikit-learn MiniBatchSparsePCA": _mini_batch,
    "abess SparsePCA": _abess,
}

WITHOUT_CARDINALITY = ("scikit-learn SparsePCA", "scikit-learn MiniBatchSparsePCA")
"""Peers that cannot be told k: one run serves every k of a size."""


def _work(method: str, size: int, cardinality: int, answers: multiprocessing.Queue) -> None:
    warnings.simplefilter("ignore")
    data = gaussian(size)
    METHODS[method](gaussian(200), 10)  # imports and first-call costs are not timed
    began = time.perf_counter()
    vector = METHODS[method](data, cardinality)
    answers.put((time.perf_counter() - began, vector))


def timed(method: str, size: int, cardinality: int, limit: float) -> tuple[float, np.ndarray | None]:
    """Seconds and the vector found; at the limit the seconds waited and None."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_work, args=(method, size, cardinality, answers))
    process.start()
    began = time.perf_counter()
    answer = None
    while answer is None and process.is_alive() and time.perf_counter() - began < limit:
        try:
            answer = answers.get(timeout=0.5)
        except queue.Empty:
            continue
    if answer is None and not process.is_alive():
        answer = answers.get(timeout=1.0)
    process.terminate()
    process.join()
    return answer if answer is not None else (time.perf_counter() - began, None)


def refitted_value(operator: se.Operator, vector: np.ndarray, cardinality: int) -> tuple[float, int]:
    """x'Ax of the best weights on the k largest loadings, and how many loadings the vector had."""
    kept = np.argsort(-np.abs(vector), kind="stable")[: min(cardinality, int((vector != 0).sum()))]
    values = np.linalg.eigvalsh(operator.submatrix(np.sort(kept).astype(np.int64)))
    return float(values[-1]), int((vector != 0).sum())


def run(sizes: tuple[int, ...] = SIZES, limit: float | None = None) -> Table:
    table = Table(
        f"Peers: one component of Gaussian data, n = {N_SAMPLES}; variance at k non-zeros, refitted on the support",
        ["p", "k", "method", "seconds", "times ours (polish=None)", "non-zeros kept", "variance", "of our default"],
    )
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read by the processes started below: one thread for everyone
    known: dict[tuple[str, int], tuple[float, np.ndarray | None]] = {}
    for size in sizes:
        operator = se.covariance(gaussian(size))
        for share in SHARES:
            cardinality = int(share * size)
            reference: float | None = None
            fastest: float | None = None
            for method in METHODS:
                if (method, size) not in known or method not in WITHOUT_CARDINALITY:
                    known[method, size] = timed(method, size, cardinality, limit or LIMITS.get(size, 60.0))
                seconds, vector = known[method, size]
                fastest = seconds if fastest is None else fastest
                ratio = f"{seconds / fastest:.1f}"
                if vector is None:
                    table.add(size, cardinality, method, f"> {seconds:.0f}", f"> {ratio}", None, None, None)
                    continue
                value, count = refitted_value(operator, vector, cardinality)
                reference = value if method == "sparseigen, default" else reference
                relative = None if reference is None else f"{value / reference:.4f}"
                table.add(size, cardinality, method, f"{seconds:.3f}", ratio, count, f"{value:.4f}", relative)
    table.notes.append("'> s' means stopped at the time limit: the ratio is a lower bound.")
    return table
