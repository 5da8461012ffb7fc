"""Checking a set of components from the matrix alone: its constraint, its variances, and its one certificate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparseigen.certificates.set_certificate import (
    SET_EFFORTS,
    SetQuestion,
    add_single_bounds,
    bound_free,
    bound_orthogonal,
    bound_uncorrelated,
    reach_set,
    reach_span,
)
from sparseigen.operators import Operator
from sparseigen.results import ComponentSet
from sparseigen.results.certificate import Check

Matrix = NDArray[np.float64]

MOST_VIOLATION = {"float64": 1e-11, "float32": 1e-5}
"""How far a pair of components may be from the constraint, by the precision of the products."""
TOLERANCE = {"float64": 1e-9, "float32": 1e-4}
"""How far, relative to the sum, stated variances may be from recomputed ones, and a bound from one proven again."""


def check_set(found: ComponentSet, operator: Operator, allowed: NDArray[np.int64] | None) -> Iterator[Check]:
    """Every claim of the set as a whole."""
    columns = found.vectors.T
    fits = columns.shape == (operator.size, len(found)) and bool(np.isfinite(columns).all())
    yield Check("length", fits, f"{columns.shape} for {operator.size} variables")
    if not fits:
        return
    counts = np.count_nonzero(columns, axis=0)
    within = all(0 < count <= k for count, k in zip(counts, found.cardinalities, strict=True))
    yield Check("cardinalities", within, f"{counts.tolist()} non-zeros, at most {found.cardinalities}")
    lengths = np.linalg.norm(columns, axis=0)
    yield Check("unit norms", bool(np.abs(lengths - 1.0).max() <= 1e-9), f"{lengths.tolist()}")
    if allowed is not None:
        outside = np.setdiff1d(np.flatnonzero(columns.any(axis=1)), allowed)
        yield Check("candidates", not outside.size, f"{outside.size} variables are no candidates")
    images = _multiply(operator, columns)
    yield from _check_constraint(found, columns, images, str(operator.dtype))
    yield from _check_variances(found, columns, images, str(operator.dtype))
    if found.certificate is not None:
        searched, among = operator, columns
        if allowed is not None:
            searched, among = operator.restricted(allowed), columns[allowed]
        yield from _check_bracket(found, searched, among)


def _multiply(operator: Operator, columns: Matrix) -> Matrix:
    images = np.zeros_like(columns)
    for t, column in enumerate(columns.T):
        support = np.flatnonzero(column).astype(np.int64)
        images[:, t] = operator.apply_support(support, column[support])
    return images


def _check_constraint(found: ComponentSet, columns: Matrix, images: Matrix, dtype: str) -> Iterator[Check]:
    if found.disjoint:
        shared = int((np.count_nonzero(columns, axis=1) > 1).sum())
        yield Check("disjoint", shared == 0, f"{shared} variables are in several components")
    if found.constraint is None:
        return
    products = columns.T @ (images if found.constraint == "uncorrelated" else columns)
    if found.constraint == "uncorrelated":
        variances = np.maximum(products.diagonal(), 1e-6 * max(float(products.diagonal().max()), 1e-300))
        products = products / np.sqrt(np.outer(variances, variances))
    most = float(np.abs(np.triu(products, 1)).max(initial=0.0))
    yield Check(
        found.constraint, most <= MOST_VIOLATION[dtype], f"violated by {most:.3g}, stated {found.violation:.3g}"
    )


def _check_variances(found: ComponentSet, columns: Matrix, images: Matrix, dtype: str) -> Iterator[Check]:
    """All three definitions, by formulas of their own: forms, and a QR of the scores and of the components."""
    covariances = columns.T @ images
    covariances = 0.5 * (covariances + covariances.T)
    values, vectors = np.linalg.eigh(covariances)
    roots = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    triangle = np.linalg.qr(columns)[1]
    spanned = np.abs(triangle.diagonal()) > 1e-6
    span = np.nan
    if spanned.all():
        inverse = np.linalg.inv(triangle)
        span = float(np.trace(inverse.T @ covariances @ inverse))
    again = {
        "plain": float(covariances.trace()),
        "adjusted": float((np.linalg.qr(roots)[1].diagonal() ** 2).sum()),
        "span": span,
    }
    slack = 1e3 * TOLERANCE[dtype] * float(np.abs(covariances.diagonal()).sum())
    for name, value in again.items():
        stated = float(found.variances[name].sum())
        holds = not np.isfinite(value) or abs(stated - value) <= slack
        yield Check(f"{name} variance", holds, f"{stated!r}, recomputed {value!r}")


def _check_bracket(found: ComponentSet, operator: Operator, columns: Matrix) -> Iterator[Check]:
    certificate = found.certificate
    assert certificate is not None
    tolerance = TOLERANCE[str(operator.dtype)]
    yield Check("ordered", certificate.lower_bound <= certificate.upper_bound, str(certificate))
    free = found.definition == "span"
    reached = reach_span(operator, columns) if free else reach_set(operator, columns)[0]
    holds = certificate.lower_bound <= reached + tolerance * abs(reached)
    yield Check("attained end", holds, f"{certificate.lower_bound!r}, reached {reached!r}")
    proven, how = _prove_again(found, operator, columns, certificate.upper_bound, reached)
    holds = proven <= certificate.upper_bound * (1.0 + tolerance) + tolerance * abs(reached)
    yield Check("proven end", holds, f"{certificate.upper_bound!r}, proven again {proven!r} by {how}")


def _prove_again(
    found: ComponentSet, operator: Operator, columns: Matrix, claimed: float, reached: float
) -> tuple[float, str]:
    """The smallest bound of the efforts in turn, until the claim is met."""
    best: tuple[float, str] = (np.inf, "nothing")
    for effort in ("cheap", "quick", "default", "thorough"):
        question = SetQuestion(tuple(found.cardinalities), columns, SET_EFFORTS[effort], disjoint=found.disjoint)
        if found.definition == "span":
            proven = bound_free(operator, question, reached)
        else:
            bound = bound_uncorrelated if found.constraint == "uncorrelated" else bound_orthogonal
            proven = bound(operator, question, add_single_bounds(operator, question), reached)
        best = min(best, proven)
        if best[0] <= claimed * (1.0 + 1e-12):
            break
    return best
