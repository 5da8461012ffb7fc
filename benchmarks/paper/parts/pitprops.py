"""Tables 3 and 4: six components of PitProps, every method and parameter."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.paper import objective
from benchmarks.paper.datasets import pitprops
from benchmarks.paper.pieces import Outcome, Piece, Settings
from benchmarks.paper.solvers.components import BY_CARDINALITY, COMPONENTS

CARDINALITIES = ([8, 8, 4, 2, 2, 2], [7, 2, 3, 1, 1, 1], [7, 2, 1, 1, 1, 1])
LAST = CARDINALITIES[2]
GAMMAS = (0.22, 0.30, 0.40)
ZOU_PENALTIES = [0.06, 0.16, 0.1, 0.5, 0.5, 0.5]
"""Zou, Hastie and Tibshirani (2006), section 5.1: their lambda1 for the six components."""

PARAMETERS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("tpower", "pathspca", "pathspca-full", "default", "dspca", *BY_CARDINALITY)},
    **{f"gpower-{kind}": {f"{g:.2f}": g for g in GAMMAS} for kind in ("l1", "l0", "l1-block", "l0-block")},
    "spca": {"zou": ZOU_PENALTIES},
    "pca": {"all": None},
}
"""Solver -> its parameters by label; without any it is asked for the cardinalities."""


def _label(cardinalities: list[int]) -> str:
    return "-".join(map(str, cardinalities))


def table_3(solver: str, settings: Settings, block: int) -> dict[str, list[list[float]]]:
    matrix, size = pitprops.load().matrix, 13
    find, parameters = COMPONENTS[solver].find, PARAMETERS[solver]
    if not parameters:
        return {_label(c): objective.checked(find(matrix, c), c).tolist() for c in CARDINALITIES}
    return {name: objective.checked(find(matrix, [size] * 6, value)).tolist() for name, value in parameters.items()}


def score_3(settings: Settings, raws: list[dict[str, list[list[float]]]]) -> Outcome:
    matrix, outcome, rows = pitprops.load().matrix, Outcome(), []
    for parameter, listed in raws[0].items():
        vectors = objective.checked(listed)
        counts = np.count_nonzero(vectors, axis=1).tolist()
        plain, adjusted = objective.plain_share(matrix, vectors), objective.adjusted_share(matrix, vectors)
        outcome.add(f"share {parameter}", plain, detail=f"Zou's adjusted variance of these vectors: {adjusted:.4f}.")
        outcome.add(f"adjusted {parameter}", adjusted, detail=f"The plain sum of these vectors: {plain:.4f}.")
        outcome.add(f"total {parameter}", sum(counts), detail=f"Non-zeros {_label(counts)}.")
        span = objective.span_share(matrix, vectors)
        rows.append([parameter, _label(counts), sum(counts), *(f"{share:.4f}" for share in (plain, adjusted, span))])
    outcome.table("shares", ["parameter", "non-zeros", "total", "plain share", "adjusted share", "span share"], rows)
    return outcome


def table_4(solver: str, settings: Settings, block: int) -> list[list[float]]:
    matrix, find = pitprops.load().matrix, COMPONENTS[solver].find
    if PARAMETERS[solver]:
        return objective.checked(find(matrix, [13] * 6, 0.40)).tolist()
    return objective.checked(find(matrix, LAST), LAST).tolist()


def score_4(settings: Settings, raws: list[list[list[float]]]) -> Outcome:
    outcome, names = Outcome(), pitprops.load().names
    vectors = objective.checked(raws[0])
    vectors = vectors * np.where(vectors.sum(axis=1) < 0.0, -1.0, 1.0)[:, None]  # signs are arbitrary
    for j, vector in enumerate(vectors):
        for name, loading in zip(names, vector, strict=True):
            outcome.add(f"PC{j + 1} {name}", float(loading))
        outcome.add(f"PC{j + 1} support", " ".join(n for n, x in zip(names, vector, strict=True) if x))
    supports = vectors != 0.0
    outcome.add("overlap", int(supports.sum(axis=0).max()), detail="Largest number of components a variable is in.")
    products = np.abs(vectors @ vectors.T - np.eye(len(vectors)))
    outcome.add("orthogonality", float(products.max()))
    rows = [[name, *(round(float(v[i]), 6) for v in vectors)] for i, name in enumerate(names)]
    outcome.table("loadings", ["variable", *(f"PC{j + 1}" for j in range(len(vectors)))], rows)
    return outcome


PIECES = [
    *(Piece("T3", "pitprops", solver, partial(table_3, solver), score_3) for solver in PARAMETERS),
    *(Piece("T4", "pitprops", s, partial(table_4, s), score_4) for s in ("tpower", "pathspca", "gpower-l1")),
]
