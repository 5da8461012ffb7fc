"""Swap polishing: exchange one chosen variable for one that is not, while the value rises.

Whether a swap helps can be told for all pairs at once, exactly. Let S be the support, (lambda, u) the leading
eigenpair of A_SS, i in S, j outside, R = S without i, and b = A_Rj. As lambda exceeds the eigenvalues of A_RR, the
swapped set has a larger leading eigenvalue if and only if

    A_jj + b' (lambda I - A_RR)^-1 b > lambda.

With G the pseudo-inverse of (lambda I - A_SS), c = (G b)_i and a = u'b (b extended by b_i = 0), the quadratic form is
b'Gb - 2 a c / u_i + G_ii a^2 / u_i^2: one eigendecomposition and one matrix product serve all k (p - k) pairs. The
formula is the limit of the block inverse at lambda; derivation in docs/theory.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.operators.contract import Indices, Operator, SparseVector
from sparseigen.solvers.eigenpairs import best_on_support
from sparseigen.solvers.exchanging import measure_strengths
from sparseigen.solvers.interface import Progress

Columns = NDArray[np.float64]

LARGEST_CARDINALITY = 1024
"""Above this the k x k decompositions cost more than they bring; the limit is said in the settings."""
WORK_LIMIT = 2.0e8
"""Operations one round may spend on outside variables; the most promising ones are tried when all are too many."""
FEWEST_TRIED = 64
CANDIDATES_SOLVED = {64: 8, LARGEST_CARDINALITY: 2}
"""Pairs whose k x k problem is solved exactly each round, up to each cardinality: large problems cost more each."""


@dataclass(frozen=True)
class SwapReport:
    """What polishing did: the vector, its value, how many swaps, and whether limits cut the search short."""

    vector: SparseVector
    value: float
    swaps: int
    limited: bool


def swap(
    operator: Operator,
    vector: SparseVector,
    value: float,
    *,
    max_swaps: int,
    progress: Progress,
    nonnegative: bool = False,
    thorough: bool = True,
) -> SwapReport:
    """Swap until no single exchange raises the value (or a limit is reached).

    Promising variables are tried first; unless ``thorough``, no others.
    """
    size, cardinality = operator.size, len(vector.indices)
    if cardinality == size:
        return SwapReport(vector, value, 0, limited=False)
    if cardinality > LARGEST_CARDINALITY:
        return SwapReport(vector, value, 0, limited=True)
    done, promising = 0, True
    while done < max_swaps:
        outside, border, limited = _outside(operator, vector, value, nonnegative, promising)
        found = _best_swap(operator, vector, value, outside, border, nonnegative)
        if found is not None:
            vector, value = found
            done += 1
            progress.report(vector, value)
        elif limited and promising and thorough:
            promising = False
        else:
            return SwapReport(vector, value, done, limited)
    return SwapReport(vector, value, done, limited=True)


def _outside(
    operator: Operator, vector: SparseVector, value: float, nonnegative: bool, promising: bool
) -> tuple[Indices, Columns, bool]:
    """The variables to try, with A between them and the support, and whether there are more.

    All outside; the strongest of them where only what is promising is asked for, or where all are too many.
    """
    inside = vector.indices
    most = int(WORK_LIMIT / max(len(inside), 32) ** 2 / 4)
    most = max(FEWEST_TRIED, min(most, 4 * len(inside)) if promising else most)
    limited = operator.size - len(inside) > most
    if not limited:
        mask = np.ones(operator.size, dtype=bool)
        mask[inside] = False
        outside = np.flatnonzero(mask)
    else:
        product = operator.apply_support(inside, vector.weights)
        strengths, _ = measure_strengths(operator.diagonal(), vector, value, product, nonnegative=nonnegative)
        strengths[inside] = 0.0
        outside = kernels.largest_magnitudes(strengths, most)
        outside = outside[strengths[outside] > 0.0]
    rows = np.asarray(operator.submatrix(outside, inside), dtype=np.float64)
    return outside, np.ascontiguousarray(rows.T), limited


def _best_swap(
    operator: Operator, vector: SparseVector, value: float, outside: Indices, border: Columns, nonnegative: bool
) -> tuple[SparseVector, float] | None:
    """The best of the most promising swaps, or None if none of them raises the value."""
    inside = vector.indices
    with np.errstate(over="ignore", invalid="ignore"):  # on a block of zeros: such pairs are solved like promising ones
        scores = swap_scores(operator.submatrix(inside), border, operator.diagonal()[outside])
    least_gain = 1e-12 * abs(value) + 1e-300
    solved = next(count for limit, count in CANDIDATES_SOLVED.items() if len(inside) <= limit)
    order = _largest(scores, solved if not nonnegative else 4 * solved)
    best: tuple[SparseVector, float] | None = None
    for position in order:
        leaving, entering = divmod(int(position), outside.size)
        if scores[leaving, entering] <= value and not nonnegative:
            break
        candidate, candidate_value = _swapped(operator, vector, leaving, int(outside[entering]), nonnegative)
        if candidate_value > value + least_gain and (best is None or candidate_value > best[1]):
            best = candidate, candidate_value
    return best


def swap_scores(
    inner: NDArray[np.float64], border: NDArray[np.float64], outer_diagonal: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For every pair (i inside, j outside): A_jj + b'(lambda I - A_RR)^-1 b, above lambda iff the swap helps.

    Parameters
    ----------
    inner : ndarray of shape (k, k)
        A on the support.
    border : ndarray of shape (k, m)
        A between the support and the outside variables.
    outer_diagonal : ndarray of shape (m,)
        Diagonal of A at the outside variables.
    """
    eigenvalues, eigenvectors = np.linalg.eigh(inner)
    top, lead = eigenvalues[-1], eigenvectors[:, -1]
    scale = max(abs(top), abs(eigenvalues[0]), np.finfo(float).tiny)
    inverse_gaps = 1.0 / np.maximum(top - eigenvalues[:-1], max(1e-12 * scale, 1e-290))
    rest = eigenvectors[:, :-1]
    spread = rest.T @ border
    image = rest @ (inverse_gaps[:, None] * spread)  # G B
    pivot = np.einsum("im,m,im->i", rest, inverse_gaps, rest)  # G_ii
    quadratic = np.einsum("mj,mj->j", spread, inverse_gaps[:, None] * spread)  # B_j' G B_j
    # A variable with no weight leaves without loss; the guard makes its score large rather than infinite.
    weight = np.where(np.abs(lead) < 1e-9, np.where(lead < 0.0, -1e-9, 1e-9), lead)[:, None]
    lead_product = (lead @ border)[None, :] - lead[:, None] * border  # u'b with b_i = 0
    image_i = image - pivot[:, None] * border  # (G b)_i
    form = quadratic[None, :] - 2.0 * border * image + border**2 * pivot[:, None]  # b' G b
    form += -2.0 * lead_product * image_i / weight + pivot[:, None] * (lead_product / weight) ** 2
    scores: NDArray[np.float64] = form + outer_diagonal[None, :]
    return scores


def _largest(scores: NDArray[np.float64], count: int) -> Indices:
    flat = scores.ravel()
    chosen = np.argpartition(flat, -count)[-count:] if count < flat.size else np.arange(flat.size)
    return chosen[np.lexsort((chosen, -flat[chosen]))].astype(np.int64)


def _swapped(
    operator: Operator, vector: SparseVector, leaving: int, entering: int, nonnegative: bool
) -> tuple[SparseVector, float]:
    weights = vector.weights.copy()
    indices = vector.indices.copy()
    indices[leaving] = entering
    order = np.argsort(indices)
    if nonnegative:
        weights[leaving] = np.abs(weights).max()
        norm = np.linalg.norm(weights)
        start = SparseVector(indices[order], (weights / norm)[order])
        return best_on_support(operator, start, nonnegative=True)
    return best_on_support(operator, SparseVector(indices[order], weights[order]))
