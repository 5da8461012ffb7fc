"""Accuracy on samples left out: sparse discriminants, LDA with shrinkage, nearest shrunken centroids."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import sparseigen as se
from benchmarks.certificates.targets import Target
from benchmarks.generalised.blocks import load_colon

CARDINALITIES = (10, 50)
RIDGE = 1.0
"""Fixed beforehand: as much variance again as a variable has within the classes."""
THRESHOLDS = (0.3, 0.9, 1.5, 2.0, 2.5, 3.0, 4.0)
WITHIN = 0.05


def load_lymphoma() -> tuple[Any, Any] | None:
    """62 samples, 4026 genes, three kinds; None without the data."""
    path = Path(os.environ.get("SPARSEIGEN_DATA", "")) / "lymphoma" / "lymphoma_62x4026_standardised.npz"
    if not path.exists():
        return None
    table = np.load(path, allow_pickle=False)
    return np.asarray(table["X"], dtype=float), np.unique(table["label"], return_inverse=True)[1]


def take_widest(X: Any) -> Any:
    """The genes that vary most; which they are is decided once, on all samples and without their classes."""
    return X[:, WIDEST[X.shape[1]]]


WIDEST: dict[int, Any] = {}
"""By the number of genes of a table the MOST_GENES that vary most in it."""
MOST_GENES = 1000
"""LDA with shrinkage gets so many: its dense covariance of 4026 genes takes minutes per fit."""


def count_centroid_genes(X: Any, y: Any, threshold: float) -> int:
    """Variables on which centroids still differ after shrinking."""
    centroids = NearestCentroid(shrink_threshold=threshold).fit(X, y).centroids_
    return int((np.ptp(centroids, axis=0) > 1e-12).sum())


def list_classifiers() -> dict[str, Any]:
    """Name -> classifier."""
    rows: dict[str, Any] = {
        f"SparseLDA, k = {k}": se.SparseLDA(cardinality=k, ridge=RIDGE, certify=False, effort="quick")
        for k in CARDINALITIES
    }
    widest = FunctionTransformer(take_widest)
    rows["LDA, shrinkage"] = make_pipeline(widest, LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
    for threshold in THRESHOLDS:
        shrunken = NearestCentroid(shrink_threshold=threshold)
        rows[f"shrunken centroids, {threshold}"] = make_pipeline(StandardScaler(), shrunken)
    return rows


def show_discriminants(quick: bool, wanted: str = "") -> list[Target]:
    """Accuracy over the same folds, of the data whose name holds ``wanted``."""
    print("\n## Discriminants: accuracy on samples left out, 5 folds" + ("" if quick else ", twice") + "\n")
    targets: list[Target] = []
    for name, loaded in (("colon", load_colon()), ("lymphoma", load_lymphoma())):
        if wanted not in name:
            continue
        if loaded is None:
            print(f"({name}: no data in SPARSEIGEN_DATA)")
            continue
        X, y = loaded
        WIDEST[X.shape[1]] = np.argsort(-X.var(axis=0))[:MOST_GENES]
        print(f"\n| {name}, {X.shape[0]} x {X.shape[1]} | accuracy | genes per discriminant | seconds per fit |")
        print("| --- | ---: | ---: | ---: |")
        folds = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=1 if quick else 2, random_state=0).split(X, y))
        reached: dict[str, float] = {}
        for method, classifier in list_classifiers().items():
            began = time.process_time()
            hits = []
            for train, test in folds:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    hits.append(float((classifier.fit(X[train], y[train]).predict(X[test]) == y[test]).mean()))
            seconds = (time.process_time() - began) / len(folds)
            used = _count(method, X, y)
            reached[method] = float(np.mean(hits))
            print(f"| {method} | {reached[method]:.3f} | {used} | {seconds:.2f} |", flush=True)
        ours = {k: reached[f"SparseLDA, k = {k}"] for k in CARDINALITIES}
        others = max(value for method, value in reached.items() if not method.startswith("Sparse"))
        figure = ", ".join(f"{value:.3f} (k = {k})" for k, value in ours.items())
        goal = f"within {WITHIN} of the best of the others, {others:.3f}"
        targets.append(Target(f"{name}: accuracy of SparseLDA", figure, goal, max(ours.values()) >= others - WITHIN))
    return targets


def _count(method: str, X: Any, y: Any) -> str:
    if method.startswith("Sparse"):
        return method.rsplit(" ", 1)[-1]
    if method.startswith("LDA"):
        return str(MOST_GENES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(count_centroid_genes(StandardScaler().fit_transform(X), y, float(method.rsplit(" ", 1)[-1])))
