"""Colon and lymphoma, k = 1..500, beside PathSPCA's published bounds."""

from __future__ import annotations

import time
import warnings

import numpy as np

import sparseigen as se
from sparseigen.certificates import certify
from sparseigen.datasets import load_gene_covariance, load_gene_curve
from sparseigen.errors import ConvergenceWarning
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector

THEIR_TOLERANCE = 1e-4
TIGHT_SECONDS = 1.0


def path_answers(matrix: np.ndarray) -> list[se.results.SparseEigResult]:
    """The best answer for every k over a descending and an ascending sweep of warm starts, then polished."""
    size = len(matrix)
    best: dict[int, se.results.SparseEigResult] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for polish, order in (
            ("solve", range(size, 0, -1)),
            ("solve", range(1, size + 1)),
            ("swap", range(size, 0, -1)),
        ):
            previous = None
            for k in order:
                start = "max-variance" if previous is None else truncated(previous.vector, k)
                found = se.sparse_eigenvector(matrix, k, start=start, polish=polish, certify=False)
                if k not in best or found.value > best[k].value:
                    best[k] = found
                previous = best[k]
    return [best[k] for k in range(1, size + 1)]


def truncated(vector: np.ndarray, cardinality: int) -> np.ndarray:
    kept = vector.copy()
    kept[np.argsort(-np.abs(vector), kind="stable")[cardinality:]] = 0.0
    return kept


def table(name: str, *, every: int = 25) -> None:
    matrix = load_gene_covariance(name)
    curve = load_gene_curve(name)
    theirs = curve["pathspca_upper_bound_share"] * np.trace(matrix)
    their_values = curve["pathspca_variance_share"] * np.trace(matrix)
    operator = as_operator(matrix)
    began = time.perf_counter()
    answers = path_answers(matrix)
    print(f"\n{name}: {len(answers)} answers in {time.perf_counter() - began:.0f} s")
    print(f"{'k':>4s} {'value':>12s} {'default gap':>12s} {'+ tight':>10s} {'PathSPCA gap':>13s} {'bound':>26s}")
    rows = []
    for result, bound in zip(answers, theirs, strict=True):
        k = result.cardinality
        vector = SparseVector(result.support, result.vector[result.support])
        default = certify(operator, k, vector)
        tight = default
        if default.relative_gap > THEIR_TOLERANCE:
            tight = certify(operator, k, vector, effort="tight", seconds=TIGHT_SECONDS)
        both = min(default.relative_gap, tight.relative_gap)
        rows.append((default.upper_bound, default.relative_gap, both, default.lower_bound))
        if k % every == 0 or k <= 5:
            their_gap = (bound - result.value) / bound
            print(f"{k:4d} {result.value:12.6g} {default.relative_gap:12.2e} {both:10.2e} {their_gap:13.2e}", end="")
            print(f" {default.method:>26s}", flush=True)
    summary(np.array(rows), theirs, their_values, int(curve["pathspca_certified_optimal"].sum()))


def summary(rows: np.ndarray, theirs: np.ndarray, their_values: np.ndarray, their_count: int) -> None:
    upper, default, both, lower = rows.T
    no_bound = theirs < np.maximum(lower, their_values) * (1.0 - 1e-12)
    looser = (upper > theirs * (1.0 + 1e-10)) & ~no_bound
    print(f"PathSPCA's number is below a value that is reached (so it is no bound) at k = {named(no_bound)}")
    print(f"default looser than PathSPCA's bound elsewhere at k = {named(looser)}", end="")
    print(f", by at most {np.max((upper / theirs - 1.0)[looser], initial=0.0):.1e}")
    print(
        f"proven to {THEIR_TOLERANCE:g}: PathSPCA {their_count}, default {int((default <= THEIR_TOLERANCE).sum())},",
        end="",
    )
    print(f" default + tight {int((both <= THEIR_TOLERANCE).sum())}")
    print(
        f"median gap: default {np.median(default):.2e}, default + tight {np.median(both):.2e}; largest {both.max():.2%}"
    )


def named(mask: np.ndarray) -> str:
    return ", ".join(str(k + 1) for k in np.flatnonzero(mask)) or "none"
