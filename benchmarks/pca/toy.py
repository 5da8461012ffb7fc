"""Table 1 of the paper: recovery of two sparse eigenvectors from 50 samples of 500 variables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import sparseigen as se
from benchmarks.pca.tables import Table

N_SAMPLES, SIZE, CARDINALITY, SUCCESS = 50, 500, 10, 0.99
EIGENVALUES = (400.0, 300.0)

Vectors = np.ndarray


def true_vectors() -> Vectors:
    vectors = np.zeros((2, SIZE))
    vectors[0, :10] = vectors[1, 10:20] = 10.0**-0.5
    return vectors


def sample(rng: np.random.Generator) -> Vectors:
    """Zero-mean normal data whose covariance has eigenvalues 400, 300 on the two sparse vectors and 1 elsewhere."""
    noise = rng.standard_normal((N_SAMPLES, SIZE))
    vectors = true_vectors()
    stretch = np.sqrt(EIGENVALUES) - 1.0
    return noise + ((noise @ vectors.T) * stretch) @ vectors


def _components(method: str, cardinality: int = CARDINALITY, **options: object) -> Callable[[se.Operator], Vectors]:
    def find(operator: se.Operator) -> Vectors:
        found = se.sparse_components(operator, [cardinality] * 2, method=method, certify=False, **options)
        return np.array([result.vector for result in found])

    return find


def _gpower(method: str, gamma: float, **options: object) -> Callable[[se.Operator], Vectors]:
    method_options = {"gamma": gamma, "relative": options.pop("relative", True)}
    found = _components(method, SIZE, method_options=method_options, **options)

    def find(operator: se.Operator) -> Vectors:
        try:
            return found(operator)
        except se.errors.OptionError:  # the penalty left nothing of a component: a failure to recover, not of the run
            return np.zeros((2, SIZE))

    return find


METHODS: dict[tuple[str, str], Callable[[se.Operator], Vectors]] = {
    ("TPower (Algorithm 1)", "k=10"): _components("tpower", start="max-variance", polish=None),
    ("TPower (default)", "k=10"): _components("tpower"),
    ("PathSPCA", "k=10"): _components("pathspca"),
    ("GPower l1, single", "gamma=.8"): _gpower("gpower-l1", 0.8),
    ("GPower l0, single", "gamma=.8"): _gpower("gpower-l0", 0.8),
    ("GPower l0, single", "gamma=.8^2"): _gpower("gpower-l0", 0.64),
    ("GPower l1, single", "k=10"): _components("gpower-l1"),
    ("GPower l0, single", "k=10"): _components("gpower-l0"),
    ("GPower l1, block", "gamma=.8"): _gpower("gpower-l1", 0.8, deflation="block"),
    ("GPower l0, block", "gamma=.8"): _gpower("gpower-l0", 0.8, deflation="block"),
    ("GPower l1, block", "gamma=.8 absolute"): _gpower("gpower-l1", 0.8, deflation="block", relative=False),
    ("GPower l0, block", "gamma=.8 absolute"): _gpower("gpower-l0", 0.8, deflation="block", relative=False),
    ("GPower l1, block", "k=10"): _components("gpower-l1", deflation="block"),
    ("GPower l0, block", "k=10"): _components("gpower-l0", deflation="block"),
    ("sPCA-rSVD", "k=10"): _components("rsvd"),
    ("SPCA", "k=10"): _components("spca", deflation="block", max_iterations=30),
    ("SPCA", "lambda1=1e-3"): _components(
        "spca", SIZE, deflation="block", max_iterations=5, method_options={"penalty": 1e-3}
    ),
    ("threshold", "k=10"): _components("threshold"),
    ("PCA", "-"): _components("pca", SIZE),
}

FEWER_REPEATS = {("SPCA", "lambda1=1e-3"): 5, ("SPCA", "k=10"): 5}
"""Methods so slow that only every n-th repeat is run; the table says so."""

PAPER = {
    ("TPower (Algorithm 1)", "k=10"): (0.0, 0.9998, 0.9997, 1.0),
    ("PathSPCA", "k=10"): (0.0, 0.9998, 0.9997, 1.0),
    ("GPower l1, block", "gamma=.8"): (0.0, 0.9997, 0.9996, 0.99),
    ("GPower l0, block", "gamma=.8"): (9.5e-5, 0.9997, 0.9991, 0.99),
    ("GPower l1, single", "gamma=.8"): (0.0, 0.9997, 0.9996, 0.99),
    ("GPower l0, single", "gamma=.8^2"): (9.5e-5, 0.9997, 0.9991, 0.99),
    ("SPCA", "lambda1=1e-3"): (2.4e-3, 0.9274, 0.9250, 0.25),
    ("PCA", "-"): (0.0, 0.9146, 0.9086, 0.0),
}


def recovery(found: Vectors, *, matched: bool = True) -> tuple[float, float, float]:
    """|u1'u2|, |v1'u1|, |v2'u2|; components in the order that fits best (their order is a matter of the sample)."""
    products = np.abs(true_vectors() @ found.T)
    swapped = matched and products[0, 1] + products[1, 0] > products[0, 0] + products[1, 1]
    order = [1, 0] if swapped else [0, 1]
    return abs(float(found[0] @ found[1])), float(products[0, order[0]]), float(products[1, order[1]])


def run(repeats: int = 500, seed: int = 2011) -> Table:
    rng = np.random.default_rng(seed)
    collected: dict[tuple[str, str], list[tuple[float, float, float]]] = {key: [] for key in METHODS}
    for repeat in range(repeats):
        operator = se.covariance(sample(rng), center=False, ddof=0)
        for key, find in METHODS.items():
            if repeat % FEWER_REPEATS.get(key, 1):
                continue
            collected[key].append(recovery(find(operator)))
    table = Table(
        f"T1: recovery of two sparse eigenvectors, {repeats} repeats (components matched to the true ones)",
        ["method", "parameter", "repeats", "u1'u2", "v1'u1", "v2'u2", "success", "paper: v1'u1", "v2'u2", "success"],
    )
    for key, rows in collected.items():
        values = np.array(rows)
        success = float((values[:, 1:] > SUCCESS).all(axis=1).mean())
        means = values.mean(axis=0)
        paper = PAPER.get(key, (None, None, None, None))
        table.add(
            *key, len(rows), f"{means[0]:.1e}", f"{means[1]:.4f}", f"{means[2]:.4f}", f"{success:.3f}", *paper[1:]
        )
    table.notes.append(
        "GPower's gamma counts relative to the largest column norm (l0: its square). The paper labels its rows block; "
        "single-unit with deflation is what gives its numbers, as in T3."
    )
    table.notes.append(
        "SPCA: the paper does not say on what scale lambda1=1e-3 counts nor which ridge was used; here both count on "
        "the covariance, ridge 1e-6 of the mean variance."
    )
    return table
