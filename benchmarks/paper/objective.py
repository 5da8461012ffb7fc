"""What answers are worth, from the returned vectors alone, in float64. No value of a solver's own is used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def checked(vectors: object, cardinalities: list[int] | None = None) -> Array:
    """The vectors as rows, float64, after a look at their length and their number of non-zeros.

    Raises
    ------
    ValueError
        When a vector is neither of unit length nor zero (no component found), or has more non-zeros than it may.
    """
    rows = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
    lengths = np.linalg.norm(rows, axis=1)
    if not np.all((np.abs(lengths - 1.0) <= 1e-8) | (lengths == 0.0)):
        raise ValueError(f"vectors of length {lengths} were returned; the paper's problem asks for unit length.")
    counts = np.count_nonzero(rows, axis=1)
    if cardinalities is not None and np.any(counts > np.asarray(cardinalities)):
        raise ValueError(f"vectors with {counts} non-zeros were returned; allowed are {cardinalities}.")
    return rows


def variances(matrix: Array, vectors: Array) -> Array:
    """x'Ax of each row."""
    return np.einsum("ij,jk,ik->i", vectors, np.asarray(matrix, dtype=np.float64), vectors)


def plain_share(matrix: Array, vectors: Array) -> float:
    """The sum of x'Ax over the trace: what the paper's Table 3 prints, under the name of adjusted variance."""
    return float(variances(matrix, vectors).sum() / np.trace(matrix))


def adjusted_share(matrix: Array, vectors: Array) -> float:
    """Adjusted variance of Zou, Hastie and Tibshirani: squared diagonal of R in a QR of the scores, over the trace."""
    values, basis = np.linalg.eigh(np.asarray(matrix, dtype=np.float64))
    scores = (basis * np.sqrt(np.maximum(values, 0.0))).T @ vectors.T
    return float((np.diag(np.linalg.qr(scores)[1]) ** 2).sum() / np.trace(matrix))


def span_share(matrix: Array, vectors: Array) -> float:
    """Variance of the data projected on the span of the vectors, over the trace."""
    basis = np.linalg.qr(vectors.T)[0]
    return float(np.trace(basis.T @ np.asarray(matrix, dtype=np.float64) @ basis) / np.trace(matrix))


def recovery(truth: Array, found: Array) -> tuple[float, float, float]:
    """|u1'u2|, |v1'u1|, |v2'u2|, with u in the order that fits better: which comes first is a matter of the sample."""
    products = np.abs(truth @ found.T)
    swapped = products[0, 1] + products[1, 0] > products[0, 0] + products[1, 1]
    order = [1, 0] if swapped else [0, 1]
    return abs(float(found[0] @ found[1])), float(products[0, order[0]]), float(products[1, order[1]])


def mean_and_error(values: object) -> tuple[float, float]:
    """Mean and its standard error."""
    sample = np.asarray(values, dtype=np.float64)
    spread = float(sample.std(ddof=1)) if sample.size > 1 else 0.0
    return float(sample.mean()), spread / sample.size**0.5


def agreement(ours: object, theirs: object, *, relative: float) -> tuple[int, int]:
    """How many points of a curve agree to a relative tolerance, and how many of the others are higher."""
    ours, theirs = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    equal = np.abs(ours - theirs) <= relative * np.abs(theirs)
    return int(equal.sum()), int((~equal & (ours > theirs)).sum())


def density(matrix: Any, vertices: list[int], k: int, *, extra: int = 0) -> float:
    """pi'W pi / k of a set of vertices, from W in float64.

    `extra` is 1 for the authors' Greedy-Ravi, whose sets have k + 1 vertices and are divided by k all the same; a start
    at a self-loop leaves it with k.

    Raises
    ------
    ValueError
        When the set does not have the vertices it may have.
    """
    chosen = np.unique(np.asarray(vertices, dtype=np.int64))
    if len(vertices) != k + extra or len(chosen) not in (k, k + extra):
        allowed = f"{k} or {k + extra}" if extra else f"{k}"
        raise ValueError(f"{len(chosen)} different vertices of {len(vertices)} were returned; {allowed} are expected.")
    return float(matrix[chosen][:, chosen].sum(dtype=np.float64)) / k
