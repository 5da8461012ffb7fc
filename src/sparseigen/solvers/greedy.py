"""Greedy selection: backward elimination, and the forward path of PathSPCA.

B. Moghaddam, Y. Weiss, S. Avidan, "Spectral bounds for sparse PCA: exact and greedy algorithms", NIPS 2006: from all
variables down to k.

A. d'Aspremont, F. Bach, L. El Ghaoui, "Optimal solutions for sparse principal component analysis", JMLR 9 (2008),
1269-1294: the whole path from one variable to k. From the variable of largest variance on, one variable is added at a
time. Full greedy adds the one that makes the leading eigenvalue largest. Approximate greedy adds the one with the
largest |A_j,I x|, x the leading eigenvector on the chosen set I: the one whose addition raises the value fastest, at
the cost of a single product.

Examples
--------
>>> import sparseigen as se
>>> round(se.sparse_eigenvector(se.datasets.load_pitprops().matrix, 5, method="backward").value, 4)
3.4062
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_choice
from sparseigen.kernels.eigen import leading_eigenpair, warm_eigenpair
from sparseigen.operators.contract import Indices, Operator, SparseVector, Weights
from sparseigen.results import StopReason
from sparseigen.solvers.eigenpairs import best_on_support
from sparseigen.solvers.interface import SolverOptions, SolverOutcome

EXACT_WORK_LIMIT = 2.0e10
"""Up to this many operations every deletion is chosen exactly; above, by the Rayleigh quotient that remains."""


def eliminate(operator: Operator, cardinality: int) -> Indices:
    """The k variables left after deleting, one at a time, the one whose loss hurts the leading eigenvalue least."""
    matrix = operator.to_dense()
    size = len(matrix)
    exact = (size - cardinality) * float(size) ** 3 <= EXACT_WORK_LIMIT
    alive = np.arange(size)
    block = matrix
    while len(alive) > cardinality:
        losses = _exact_values(block) if exact else _remaining_rayleigh(block)
        keep = np.arange(len(alive)) != int(losses.argmax())
        alive, block = alive[keep], block[np.ix_(keep, keep)]
    return alive.astype(np.int64)


def solve_elimination(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """Backward elimination as a method of its own: the k variables left, with the best weights on them."""
    indices = eliminate(operator, cardinality)
    vector, value = best_on_support(operator, SparseVector(indices, np.full(len(indices), len(indices) ** -0.5)))
    options.progress.report(vector, value)
    settings = {"start": "all variables", "polish": None}
    deletions = operator.size - cardinality
    return SolverOutcome(vector, value, StopReason.COMPLETED, deletions, [value], settings)


def _exact_values(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """The leading eigenvalue after deleting each variable, from one eigendecomposition.

    Deleting variable i leaves the largest root below the top of sum_m V_im^2 / (root - lambda_m) = 0, which lies
    between the two largest eigenvalues (interlacing); bisection finds all of them at once.
    """
    values, vectors = np.linalg.eigh(block)
    squares = vectors**2
    low, high = np.full(len(values), values[-2]), np.full(len(values), values[-1])
    # Where the sum is negative the top term dominates: the root lies below.
    return _solve_secular(squares, values, low, high, lambda middle, sums: np.nan_to_num(sums, nan=0.0) < 0.0)


def _solve_secular(
    squares: NDArray[np.float64],
    values: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    lies_below: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]],
) -> NDArray[np.float64]:
    """Roots of equations in s(t) = sum_m squares_m / (t - lambda_m), one per row, all at once by bisection.

    ``lies_below(t, s(t))`` says which of the roots lie below t.
    """
    for _ in range(60):
        middle = 0.5 * (low + high)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = lies_below(middle, (squares / (middle[:, None] - values)).sum(axis=1))
        high, low = np.where(below, middle, high), np.where(below, low, middle)
    return np.asarray(0.5 * (low + high))


def _remaining_rayleigh(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Rayleigh quotient of the leading eigenvector with each variable set to zero: a lower bound of the above."""
    lead, top = leading_eigenpair(block)
    squares = lead**2
    rest = np.maximum(1.0 - squares, np.finfo(float).tiny)
    quotients: NDArray[np.float64] = (top * (1.0 - 2.0 * squares) + squares * block.diagonal()) / rest
    return quotients


Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


def solve_path_greedy(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """The path's k-th point; ``greedy`` is "approximate" (default) or "full". The values on the way are the history."""
    greedy = check_choice(options.extra.get("greedy", "approximate"), GREEDY, "greedy")
    history: list[float] = []
    vector = SparseVector(np.zeros(1, dtype=np.int64), np.ones(1))
    for vector, value in greedy_path(operator, cardinality, greedy=greedy):
        history.append(value)
        options.progress.report(vector, value)
    settings = {"start": "max-variance", "polish": None, "greedy": greedy}
    return SolverOutcome(vector, history[-1], StopReason.COMPLETED, cardinality, history, settings)


def greedy_path(
    operator: Operator, cardinality: int, *, greedy: str = "approximate"
) -> Iterator[tuple[SparseVector, float]]:
    """The best vector on each greedy set, and its value, for 1, 2, ..., k variables.

    Examples
    --------
    >>> import sparseigen as se
    >>> from sparseigen.solvers.greedy import greedy_path
    >>> operator = se.operators.as_operator(se.datasets.load_pitprops().matrix)
    >>> [round(value, 3) for _, value in greedy_path(operator, 5)]
    [1.0, 1.954, 2.475, 2.937, 3.406]
    """
    choose = GREEDY[greedy]
    diagonal = operator.diagonal()
    chosen = [int(diagonal.argmax())]
    columns = np.empty((operator.size, cardinality), order="F")
    block = np.zeros((cardinality, cardinality))
    block[0, 0] = diagonal[chosen[0]]
    weights, value = np.ones(1), float(diagonal[chosen[0]])
    for count in range(1, cardinality + 1):
        yield _sort(chosen, weights), value
        if count == cardinality:
            return
        columns[:, count - 1] = operator.columns(np.array(chosen[-1:], dtype=np.int64))[:, 0]
        scores = choose(columns[:, :count], diagonal, chosen, weights)
        scores[chosen] = -np.inf
        chosen.append(int(scores.argmax()))
        block[count, :count] = block[:count, count] = columns[chosen[-1], :count]
        block[count, count] = diagonal[chosen[-1]]
        weights, value = warm_eigenpair(block[: count + 1, : count + 1], np.append(weights, 0.0))


def _score_approximately(columns: Matrix, diagonal: Vector, chosen: list[int], weights: Weights) -> Vector:
    """|A_j,I x| for every j."""
    scores: Vector = np.abs(columns @ weights)
    return scores


def _score_exactly(columns: Matrix, diagonal: Vector, chosen: list[int], weights: Weights) -> Vector:
    """The leading eigenvalue of A on I + j for every j, from one eigendecomposition on I.

    It is the root above lambda_max(A_II) of root = A_jj + sum_m (u_m'A_Ij)^2 / (root - lambda_m); the right side
    falls while the left grows, so bisection finds the roots of all j at once.
    """
    values, vectors = np.linalg.eigh(columns[chosen])
    squares = (columns @ vectors) ** 2
    low = np.maximum(values[-1], diagonal)
    high = low + np.sqrt(squares.sum(axis=1)) + 1e-300
    return _solve_secular(squares, values, low, high, lambda middle, sums: middle - diagonal - sums > 0.0)


GREEDY: dict[str, Callable[[Matrix, Vector, list[int], Weights], Vector]] = {
    "approximate": _score_approximately,
    "full": _score_exactly,
}
"""What scores the next variable, by name."""


def _sort(chosen: list[int], weights: Weights) -> SparseVector:
    indices: Indices = np.array(chosen, dtype=np.int64)
    order = np.argsort(indices)
    return SparseVector(indices[order], weights[order])
