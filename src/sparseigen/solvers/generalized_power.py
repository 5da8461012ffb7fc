"""The generalized power method (GPower), with l1 and l0 penalties, for one component or a block of them.

M. Journée, Y. Nesterov, P. Richtárik, R. Sepulchre, "Generalized Power Method for Sparse Principal Component
Analysis", JMLR 11 (2010), 517-553.

The paper works on the data D (A = D'D) and maximises over unit vectors z of sample space

    l1:  sum_i [ |d_i'z| - gamma ]_+^2          l0:  sum_i [ (d_i'z)^2 - gamma ]_+

Its iterates are z = Dx / |Dx| with x sparse, so all it needs of the data is D'z = Ax / sqrt(x'Ax): the method runs on
the operator, whatever it is made of, and the answer does not depend on which factor D of A is meant.

Examples
--------
>>> import sparseigen as se
>>> matrix = se.datasets.load_pitprops().matrix
>>> penalised = se.sparse_eigenvector(matrix, 13, method="gpower-l1", method_options={"gamma": 0.3})
>>> wanted = se.sparse_eigenvector(matrix, 5, method="gpower-l0")
>>> len(penalised.support), len(wanted.support)
(7, 5)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_flag, check_numbers
from sparseigen.errors import OptionError, UnsupportedOperatorError
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import StopReason
from sparseigen.solvers.eigenpairs import best_on_support
from sparseigen.solvers.interface import SolverOptions, SolverOutcome

Images = NDArray[np.float64]

BISECTIONS = 40
"""Penalties tried when a cardinality is wanted."""


@dataclass(frozen=True)
class Penalty:
    """What distinguishes the l1 from the l0 version: the step, the objective, and the largest useful gamma."""

    shrink: Callable[[Images, float], Images]
    objective: Callable[[Images, float], float]
    largest_gamma: Callable[[float], float]
    """From the largest column norm: at this gamma nothing is left."""


def soft_threshold(images: Images, gamma: float) -> Images:
    """sign(t) [|t| - gamma]_+."""
    shrunk: Images = np.sign(images) * np.maximum(np.abs(images) - gamma, 0.0)
    return shrunk


L1 = Penalty(
    shrink=soft_threshold,
    objective=lambda images, gamma: float((np.maximum(np.abs(images) - gamma, 0.0) ** 2).sum()),
    largest_gamma=lambda norm: norm,
)
L0 = Penalty(
    shrink=lambda images, gamma: np.where(images**2 > gamma, images, 0.0),
    objective=lambda images, gamma: float(np.maximum(images**2 - gamma, 0.0).sum()),
    largest_gamma=lambda norm: norm**2,
)


def solve_gpower_l1(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """Single-unit GPower with the l1 penalty: at a given gamma, or at the gamma that leaves k non-zeros."""
    return _solve_single(operator, cardinality, options, L1)


def solve_gpower_l0(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """Single-unit GPower with the l0 penalty: at a given gamma, or at the gamma that leaves k non-zeros."""
    return _solve_single(operator, cardinality, options, L0)


def _solve_single(operator: Operator, cardinality: int, options: SolverOptions, penalty: Penalty) -> SolverOutcome:
    scale = penalty.largest_gamma(_largest_norm(operator))
    gammas = gamma_of(options, 1, scale)
    if gammas is not None:
        return _fill_weights(
            operator, cardinality, _solve_single_unit(operator, float(gammas[0]), options, penalty), options
        )
    tried = _solve_for_cardinality(operator, cardinality, options, penalty, scale)
    return max(
        (_fill_weights(operator, cardinality, outcome, options) for outcome in tried), key=lambda found: found.value
    )


def _solve_single_unit(operator: Operator, gamma: float, options: SolverOptions, penalty: Penalty) -> SolverOutcome:
    """Algorithms 2 and 3 of the paper, from the column of largest norm."""
    position = np.array([int(operator.diagonal().argmax())], dtype=np.int64)
    vector = SparseVector(position, np.ones(1))
    objective = -np.inf
    history: list[float] = []
    reason = StopReason.ITERATION_LIMIT
    for _ in range(options.max_iterations):
        images, value = _images(operator, vector)
        history.append(value)
        vector = SparseVector.from_dense(penalty.shrink(images, gamma))
        options.progress.report(vector, value)
        previous, objective = objective, penalty.objective(images, gamma)
        if options.has_stalled(objective, previous):
            reason = StopReason.VALUE_STALLED
            break
    settings = {"start": "largest column norm", "polish": None, "gamma": gamma}
    return SolverOutcome(vector, history[-1], reason, len(history), history, settings)


def _solve_for_cardinality(
    operator: Operator, cardinality: int, options: SolverOptions, penalty: Penalty, scale: float
) -> list[SolverOutcome]:
    """The penalty that leaves k non-zeros, by bisection.

    Where the number of non-zeros skips k as gamma grows: the nearest pattern below k and the nearest above it.
    """
    low, high = 0.0, 1.0
    within: SolverOutcome | None = None
    above: SolverOutcome | None = None
    for step in range(BISECTIONS):
        share = 0.0 if step == 0 and cardinality == operator.size else 0.5 * (low + high)
        outcome = _solve_single_unit(operator, share * scale, options, penalty)
        count = len(outcome.vector.indices)
        if count > cardinality:
            low = share
            above = outcome if above is None or count <= len(above.vector.indices) else above
            continue
        if within is None or count >= len(within.vector.indices):
            within = outcome
        if count == cardinality:
            return [outcome]
        high = share
    return [outcome for outcome in (within, above) if outcome is not None]


def _fill_weights(
    operator: Operator, cardinality: int, outcome: SolverOutcome, options: SolverOptions
) -> SolverOutcome:
    """The paper's last step: keep the pattern, put the best weights on it. Never more than k non-zeros."""
    vector, settings = outcome.vector, dict(outcome.settings)
    if len(vector.indices) > cardinality:
        settings["truncated_from"] = len(vector.indices)
    filled, value = best_on_support(operator, vector.truncated(cardinality))
    options.progress.report(filled, value)
    return replace(outcome, vector=filled, value=value, history=[*outcome.history, value], settings=settings)


def _images(operator: Operator, vector: SparseVector) -> tuple[Images, float]:
    """D'z for z = Dx / |Dx|, and x'Ax."""
    product = np.asarray(operator.apply_support(vector.indices, vector.weights), dtype=np.float64)
    value = float(vector.weights @ product[vector.indices])
    if value <= 0.0:
        message = (
            f"GPower needs a covariance (positive semidefinite) matrix, but x'Ax = {value:.6g} for one of its "
            "iterates. Use method='tpower', which accepts every symmetric matrix."
        )
        raise UnsupportedOperatorError(message)
    return product / np.sqrt(value), value


def _largest_norm(operator: Operator) -> float:
    return float(np.sqrt(max(0.0, float(operator.diagonal().max()))))


def gamma_of(options: SolverOptions, count: int, scale: float) -> NDArray[np.float64] | None:
    """The caller's penalties as absolute numbers, one per component; None where a cardinality is wanted instead.

    ``gamma`` counts relative to the largest column norm of D (for l0: its square) unless ``relative`` is False.
    """
    if options.extra.get("gamma") is None:
        return None
    gammas = check_numbers(options.extra["gamma"], "gamma", count)
    relative = check_flag(options.extra.get("relative", True), "relative")
    limit = 1.0 if relative else scale
    if float(gammas.max()) >= limit:
        subject = "the share of the largest column norm" if relative else "the largest column norm (l0: squared)"
        message = f"gamma={options.extra['gamma']!r} must be below {limit:.6g}, {subject}: above it nothing is left."
        raise OptionError(message)
    return gammas * scale if relative else gammas


def solve_gpower_l1_block(operator: Operator, cardinalities: list[int], options: SolverOptions) -> list[SolverOutcome]:
    """Block GPower with the l1 penalty: all components at once."""
    return _solve_block(operator, cardinalities, options, L1)


def solve_gpower_l0_block(operator: Operator, cardinalities: list[int], options: SolverOptions) -> list[SolverOutcome]:
    """Block GPower with the l0 penalty: all components at once."""
    return _solve_block(operator, cardinalities, options, L0)


def _solve_block(
    operator: Operator, cardinalities: list[int], options: SolverOptions, penalty: Penalty
) -> list[SolverOutcome]:
    """Algorithms 4 and 5 of the paper: Z <- polar factor of D W, W the shrunken D'Z.

    With a wanted cardinality each iteration takes the penalty that leaves k_j entries in column j.
    """
    count = len(cardinalities)
    weights = block_weights(options, count)
    gammas = gamma_of(options, count, penalty.largest_gamma(_largest_norm(operator)))
    images = block_images(operator, _pivots(operator, count))
    objective = -np.inf
    history: list[float] = []
    reason = StopReason.ITERATION_LIMIT
    pattern = np.zeros_like(images)
    for _ in range(options.max_iterations):
        weighted = images * weights
        used = gammas if gammas is not None else _thresholds(weighted, cardinalities, penalty)
        shrunk = np.column_stack([penalty.shrink(weighted[:, j], used[j]) for j in range(count)])
        _check_not_empty(shrunk, used)
        previous = objective
        objective = sum(penalty.objective(weighted[:, j], used[j]) for j in range(count))
        pattern, images = shrunk, block_images(operator, shrunk * weights)
        history.append(objective)
        if options.has_stalled(objective, previous):
            reason = StopReason.VALUE_STALLED
            break
    settings = {"start": "pivoted columns", "polish": None, "gamma": used.tolist(), "weights": weights.tolist()}
    filled = _fill_block(operator, pattern, weights, options)
    return [_block_outcome(operator, column, reason, history, settings) for column in filled.T]


def block_weights(options: SolverOptions, count: int) -> NDArray[np.float64]:
    """mu_j of the paper: "equal" (all 1), "decreasing" (1/j), or the caller's numbers."""
    wanted = options.extra.get("weights", "equal")
    named = {"equal": np.ones(count), "decreasing": 1.0 / np.arange(1, count + 1)}
    for name, values in named.items():
        if name == wanted:
            return values
    return check_numbers(wanted, "weights", count)


def block_images(operator: Operator, block: Images) -> Images:
    """D'Z for Z the polar factor of D W: A W (W'AW)^(-1/2)."""
    product = np.asarray(operator.block_apply(block), dtype=np.float64)
    values, vectors = np.linalg.eigh(block.T @ product)
    # Directions two components share have no polar factor; they are left out rather than blown up.
    inverse_roots = np.where(values > 1e-12 * values[-1], 1.0 / np.sqrt(np.maximum(values, 1e-300)), 0.0)
    images: Images = product @ (vectors * inverse_roots) @ vectors.T
    return images


def _pivots(operator: Operator, count: int) -> Images:
    """Unit vectors at the variables a pivoted QR of D picks: each the longest once the others are projected out."""
    rest = operator.diagonal().copy()
    block, factors = np.zeros((operator.size, count)), np.zeros((operator.size, 0))
    for j in range(count):
        pivot = int(rest.argmax())
        block[pivot, j] = 1.0
        column = operator.columns(np.array([pivot], dtype=np.int64))[:, 0] - factors @ factors[pivot]
        column = column / np.sqrt(max(float(column[pivot]), 1e-300))
        factors = np.column_stack([factors, column])
        rest = np.maximum(rest - column**2, 0.0)
    return block


def _thresholds(weighted: Images, cardinalities: list[int], penalty: Penalty) -> NDArray[np.float64]:
    """For each column the gamma that its (k+1)-th largest entry just does not pass."""
    size = len(weighted)
    found = np.zeros(len(cardinalities))
    for j, cardinality in enumerate(cardinalities):
        if cardinality < size:
            magnitude = float(np.partition(np.abs(weighted[:, j]), size - cardinality - 1)[size - cardinality - 1])
            found[j] = penalty.largest_gamma(magnitude)
    return found


def _check_not_empty(block: Images, gammas: NDArray[np.float64]) -> None:
    empty = np.flatnonzero(~block.any(axis=0))
    if empty.size:
        j = int(empty[0])
        message = f"gamma={gammas[j]:.6g} leaves nothing of component {j + 1}; lower it, or ask for a cardinality."
        raise OptionError(message)


def _fill_block(operator: Operator, pattern: Images, weights: NDArray[np.float64], options: SolverOptions) -> Images:
    """The paper's last step for a block: alternate between Z and the weights on the fixed pattern."""
    mask = pattern != 0.0
    block: Images = pattern / np.linalg.norm(pattern, axis=0)
    total = -np.inf
    for _ in range(options.max_iterations):
        images = np.where(mask, block_images(operator, block * weights), 0.0)
        lengths = np.linalg.norm(images, axis=0)
        if (lengths == 0.0).any():
            break
        block = images / lengths
        previous, total = total, float(weights @ lengths)
        if options.has_stalled(total, previous):
            break
    return block


def _block_outcome(
    operator: Operator,
    column: Images,
    reason: StopReason,
    history: list[float],
    settings: dict[str, Any],
) -> SolverOutcome:
    support = np.flatnonzero(column).astype(np.int64)
    vector = SparseVector(support, column[support])
    value = float(column[support] @ operator.submatrix(support) @ column[support])
    return SolverOutcome(vector, value, reason, len(history), history, settings)
