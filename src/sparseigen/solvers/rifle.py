"""Truncated Rayleigh flow (Rifle) for x'Ax / x'Bx, as its authors state it, with several starts.

One step moves along the gradient of the quotient rho = x'Ax / x'Bx and keeps the k largest entries:

    x <- truncate(x + (eta / rho) (A x - rho B x), k), brought to length one.

For B the identity and eta = 1 that is the truncated power method. The step must satisfy eta lambda_max(B) < 1.

K. M. Tan, Z. Wang, H. Liu, T. Zhang, "Sparse generalized eigenvalue problem: optimal statistical rates via truncated
Rayleigh flow", Journal of the Royal Statistical Society B 80 (2018), 1057-1086.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_positive
from sparseigen.kernels.eigen import run_arpack
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import StopReason
from sparseigen.solvers.interface import SolverOptions, SolverOutcome

Numbers = NDArray[np.float64]

SHARE = 0.5
"""The step eta times the largest eigenvalue of B, unless ``step`` says otherwise."""
STARTS = 3
"""The best single variables that flows start from, besides the k best together and the leading eigenvector of A."""


class Quotient:
    """x'Ax / x'Bx through products; without a metric B is the identity."""

    def __init__(self, form: Operator, metric: Operator | None) -> None:
        self.form, self.metric = form, metric

    def products(self, vector: SparseVector) -> tuple[Numbers, Numbers]:
        """A x and B x, of all variables."""
        indices, weights = vector.indices, vector.weights
        first = np.asarray(self.form.apply_support(indices, weights), dtype=np.float64)
        if self.metric is None:
            return first, vector.spread(self.form.size)
        return first, np.asarray(self.metric.apply_support(indices, weights), dtype=np.float64)

    def value(self, vector: SparseVector) -> float:
        """The quotient in float64, from the two blocks of the support."""
        indices, weights = vector.indices, vector.weights
        top = float(weights @ self.form.submatrix(indices) @ weights)
        if self.metric is None:
            return top / float(weights @ weights)
        return top / float(weights @ self.metric.submatrix(indices) @ weights)

    def largest_of_metric(self) -> float:
        """About the largest eigenvalue of B."""
        metric = self.metric
        if metric is None:
            return 1.0
        if metric.size < 3:
            return float(np.linalg.eigvalsh(metric.to_dense())[-1])
        values, _ = run_arpack(_multiply_by(metric), 1, np.ones(metric.size), tol=1e-2)
        return float(values[-1]) if len(values) else float(metric.diagonal().sum())


def _multiply_by(operator: Operator):  # type: ignore[no-untyped-def]
    return lambda vector: operator.block_apply(np.asarray(vector).reshape(-1, 1))[:, 0].astype(np.float64)


def solve_rifle(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """The best end of several flows; ``step`` (eta times the largest eigenvalue of B, below 1) is its parameter."""
    quotient = Quotient(operator, options.metric)
    share = check_positive(options.extra.get("step", SHARE), "step")
    eta = share / max(quotient.largest_of_metric(), np.finfo(float).tiny)
    best: SolverOutcome | None = None
    for name, start in make_starts(operator, options.metric, cardinality):
        found = flow(quotient, start, cardinality, eta, options)
        if best is None or found.value > best.value:
            best = SolverOutcome(
                found.vector,
                found.value,
                found.stop_reason,
                found.n_iterations,
                found.history,
                {"start": name, "polish": None, "step": share},
            )
        if options.out_of_time:
            break
    assert best is not None  # there is always a start
    return best


def make_starts(operator: Operator, metric: Operator | None, cardinality: int) -> list[tuple[str, SparseVector]]:
    """Where flows start: the best single variables, the k best of them together, the leading eigenvector of A."""
    below = np.ones(operator.size) if metric is None else metric.diagonal()
    order = np.argsort(-operator.diagonal() / below, kind="stable").astype(np.int64)
    starts = [(f"variable {i}", SparseVector(np.array([i]), np.ones(1))) for i in order[:STARTS].tolist()]
    chosen = np.sort(order[:cardinality])
    starts.append(("top-k", SparseVector(chosen, np.full(len(chosen), len(chosen) ** -0.5))))
    if operator.size > 2:
        _, vectors = run_arpack(_multiply_by(operator), 1, np.ones(operator.size), tol=1e-3)
        if vectors.shape[1] and np.isfinite(vectors).all() and vectors[:, 0].any():
            starts.append(("leading", SparseVector.from_dense(vectors[:, 0]).truncated(cardinality)))
    return starts


def flow(
    quotient: Quotient, vector: SparseVector, cardinality: int, eta: float, options: SolverOptions
) -> SolverOutcome:
    """One run of the truncated Rayleigh flow."""
    value = quotient.value(vector)
    kept, kept_value, history = vector, value, [value]
    reason = StopReason.ITERATION_LIMIT
    for _ in range(options.max_iterations):
        top, bottom = quotient.products(vector)
        step = eta / max(abs(value), np.finfo(float).tiny)
        moved = vector.spread(len(top)) + step * (top - value * bottom)
        if not (np.isfinite(moved).all() and moved.any()):
            reason = StopReason.FIXED_POINT
            break
        vector = SparseVector.from_dense(moved / np.abs(moved).max()).truncated(cardinality)
        previous, value = value, quotient.value(vector)
        history.append(value)
        options.progress.report(vector, value)
        if value > kept_value:
            kept, kept_value = vector, value
        if options.has_stalled(value, previous):
            reason = StopReason.VALUE_STALLED
            break
        if options.out_of_time:
            reason = StopReason.TIME_LIMIT
            break
    return SolverOutcome(kept, kept_value, reason, len(history) - 1, history)
