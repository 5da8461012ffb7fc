"""SPCA: sparse PCA as a regression with the elastic net, for one component or several at once.

H. Zou, T. Hastie, R. Tibshirani, "Sparse Principal Component Analysis", Journal of Computational and Graphical
Statistics 15 (2006), 265-286.

    minimise  sum_j (alpha_j - beta_j)' A (alpha_j - beta_j) + ridge |beta_j|^2 + penalty_j |beta_j|_1
    over      beta_1, ..., beta_m  and orthonormal  alpha_1, ..., alpha_m

alternately: each beta_j by an elastic net (Algorithm 1, step 2), all alpha from the singular vectors of A B (step 3).

Examples
--------
>>> import sparseigen as se
>>> matrix = se.datasets.load_pitprops().matrix
>>> options = {"penalty": [0.06, 0.16, 0.1, 0.5, 0.5, 0.5], "ridge": 1e-6}  # as in the paper
>>> found = se.sparse_components(matrix, [13] * 6, method="spca", deflation="block", method_options=options)
>>> [len(result.support) for result in found]
[7, 4, 4, 1, 1, 1]
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sparseigen.checks.arguments import check_numbers
from sparseigen.errors import OptionError
from sparseigen.operators.contract import Operator, SparseVector
from sparseigen.results import StopReason
from sparseigen.solvers.eigenpairs import leading_eigenvectors
from sparseigen.solvers.interface import SolverOptions, SolverOutcome

Vector = NDArray[np.float64]

MAX_EVENTS = 8
"""Events allowed for each variable that may be chosen; ties could otherwise make a variable come and go for ever."""
SAME = 1e-10
"""Levels that differ by this share are the same: what happens at the current one happens at once."""
LARGEST_SAME = 1e-4
"""The most to which rounding raises that share where active variables are nearly the same."""


def follow_lasso_path(operator: Operator, target: Vector, ridge: float, level: float, cardinality: int) -> Vector:
    """The lasso solution for G = A + ridge I and c = target at ``level``, or where a (k+1)-th variable would enter.

    Only the columns of A that become active are ever read.
    """
    current = float(np.abs(target).max())
    coefficients = np.zeros(len(target))
    if current <= level:
        return coefficients
    active = [_first_largest(np.abs(target))]
    gram = _columns(operator, active, ridge)
    signs = np.sign(target[active])
    came, gone = {active[0]}, dict[int, float]()  # at the current level; what has gone with the sign it had
    for _ in range(MAX_EVENTS * cardinality + 8):
        constant, slope = _piece(gram[active], target[active], signs)
        tolerance = _same_level(gram[active])
        limit = current * (
            1.0 + (tolerance if len(active) < cardinality else -tolerance)
        )  # ties come in while there is room
        entering, at_entry = _next_entry(target, gram, constant, slope, active, limit, gone)
        at_entry = min(at_entry, current)
        leaving, at_exit = _next_exit(constant, slope, current, np.isin(active, list(came)))
        following = max(at_entry, at_exit, level)
        full = entering >= 0 and len(active) == cardinality and at_entry >= max(at_exit, level)
        if following < current * (1.0 - tolerance):
            came, gone = set(), {}
        current = following
        if full or following <= level:
            break
        if at_exit >= at_entry:
            gone[active.pop(leaving)] = float(signs[leaving])
            gram, signs = np.delete(gram, leaving, axis=1), np.delete(signs, leaving)
            if not active:  # only rounding can empty the active set
                return coefficients
        else:
            residual = target[entering] - gram[entering] @ (constant - current * slope)
            active.append(entering)
            came.add(entering)
            gram = np.column_stack([gram, _columns(operator, [entering], ridge)])
            signs = np.append(signs, np.sign(residual))
    constant, slope = _piece(gram[active], target[active], signs)
    coefficients[active] = constant - current * slope
    return coefficients


def _same_level(inner: Vector) -> float:
    """By how much levels that are the same may differ: solving with nearly dependent variables loses digits."""
    values = np.linalg.svd(inner, compute_uv=False)
    lost = 32.0 * np.finfo(np.float64).eps * float(values[0])
    return LARGEST_SAME if lost >= LARGEST_SAME * float(values[-1]) else max(SAME, lost / float(values[-1]))


def _first_largest(values: Vector) -> int:
    """The lowest index of the largest value: among ties rounding must not choose, or SPCA would never settle."""
    return int(np.flatnonzero(values >= values.max() * (1.0 - SAME))[0])


def _columns(operator: Operator, indices: list[int], ridge: float) -> Vector:
    chosen = np.array(indices, dtype=np.int64)
    columns: Vector = np.array(operator.columns(chosen), dtype=np.float64)
    columns[chosen, np.arange(len(indices))] += ridge
    return columns


def _piece(inner: Vector, target: Vector, signs: Vector) -> tuple[Vector, Vector]:
    """b_S = constant - level * slope on the current piece."""
    solved: Vector = np.linalg.lstsq(inner, np.column_stack([target, signs]), rcond=None)[0].astype(np.float64)
    return solved[:, 0], solved[:, 1]


def _next_entry(
    target: Vector,
    gram: Vector,
    constant: Vector,
    slope: Vector,
    active: list[int],
    limit: float,
    gone: Mapping[int, float],
) -> tuple[int, float]:
    """The inactive variable whose correlation meets the level first, below ``limit``, and the level at which it does.

    A variable that has just gone meets the current level with its old sign and on this piece no other: rounding must
    not bring it back.
    """
    correlation, growth = target - gram @ constant, gram @ slope  # correlation(level) = correlation + level * growth
    with np.errstate(divide="ignore", invalid="ignore"):
        from_above = correlation / (1.0 - growth)
        from_below = -correlation / (1.0 + growth)
    for variable, sign in gone.items():
        (from_above if sign > 0.0 else from_below)[variable] = 0.0
    meets = np.maximum(
        np.where((from_above > 0.0) & (from_above < limit), from_above, 0.0),
        np.where((from_below > 0.0) & (from_below < limit), from_below, 0.0),
    )
    meets[active] = 0.0
    entering = _first_largest(meets)
    return (entering, float(meets[entering])) if meets[entering] > 0.0 else (-1, 0.0)


def _next_exit(constant: Vector, slope: Vector, current: float, came: NDArray[np.bool_]) -> tuple[int, float]:
    """The active coefficient that reaches zero first, and the level at which it does.

    Those that have just come are zero at the current level and on this piece at no other.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = np.where(slope != 0.0, constant / slope, 0.0)
    zeros = np.where((zeros > 0.0) & (zeros < current * (1.0 + SAME)) & ~came, np.minimum(zeros, current), 0.0)
    leaving = int(zeros.argmax())
    return leaving, float(zeros[leaving])


Block = NDArray[np.float64]

RIDGE = 1e-6
"""Share of the mean variance used as ridge when none is given: it only has to make the regression well-posed."""
SETTLED = 1e-3
"""Largest change of a loading of the normalised components at which the alternation stops (as in the authors' code)."""


def solve_elastic_net(operator: Operator, cardinality: int, options: SolverOptions) -> SolverOutcome:
    """SPCA for one component: at a given penalty, or with the elastic net stopped at k non-zeros."""
    return solve_elastic_net_block(operator, [cardinality], options)[0]


def solve_elastic_net_block(
    operator: Operator, cardinalities: list[int], options: SolverOptions
) -> list[SolverOutcome]:
    """SPCA for several components at once (Algorithm 1 of the paper)."""
    count = len(cardinalities)
    penalties = _penalties(options, count)
    ridge = _ridge(operator, options)
    alpha = leading_eigenvectors(operator, count)
    beta = np.zeros_like(alpha)
    reason, changes = StopReason.ITERATION_LIMIT, list[float]()
    for _ in range(options.max_iterations):
        targets = np.asarray(operator.block_apply(alpha), dtype=np.float64)
        previous, beta = beta, _regressions(operator, targets, ridge, penalties, cardinalities)
        image = np.asarray(operator.block_apply(beta), dtype=np.float64)
        left, _, right = np.linalg.svd(image, full_matrices=False)
        alpha = left @ right
        changes.append(_change(beta, previous))
        if changes[-1] <= SETTLED:
            reason = StopReason.VALUE_STALLED
            break
    settings = {
        "start": "leading eigenvectors",
        "polish": None,
        "ridge": ridge,
        "penalty": options.extra.get("penalty"),
    }
    return [_outcome(operator, column, reason, len(changes), settings, options) for column in beta.T]


def _penalties(options: SolverOptions, count: int) -> NDArray[np.float64] | None:
    wanted = options.extra.get("penalty")
    return None if wanted is None else check_numbers(wanted, "penalty", count)


def _ridge(operator: Operator, options: SolverOptions) -> float:
    wanted = options.extra.get("ridge")
    if wanted is not None:
        return float(check_numbers(wanted, "ridge", 1)[0])
    return RIDGE * float(operator.diagonal().sum()) / operator.size


def _regressions(
    operator: Operator,
    targets: Block,
    ridge: float,
    penalties: NDArray[np.float64] | None,
    cardinalities: list[int],
) -> Block:
    """The elastic net of every component: the lasso path of A + ridge I, followed to the penalty or to k non-zeros."""
    beta = np.zeros_like(targets)
    for j, cardinality in enumerate(cardinalities):
        # The lasso path is written for |beta|_1 against half the quadratic form.
        level = 0.0 if penalties is None else 0.5 * float(penalties[j])
        beta[:, j] = follow_lasso_path(operator, targets[:, j], ridge, level, cardinality)
        if not beta[:, j].any():
            message = (
                f"penalty={float(2.0 * level):.6g} leaves nothing of component {j + 1}; it must be below "
                f"{2.0 * float(np.abs(targets[:, j]).max()):.6g} on this matrix."
            )
            raise OptionError(message)
    return beta


def _change(beta: Block, previous: Block) -> float:
    """The largest move of a loading of the normalised components."""
    lengths = np.linalg.norm(beta, axis=0)
    before = np.linalg.norm(previous, axis=0)
    if (before == 0.0).any():
        return np.inf
    return float(np.abs(beta / lengths - previous / before).max())


def _outcome(
    operator: Operator,
    column: NDArray[np.float64],
    reason: StopReason,
    iterations: int,
    settings: dict[str, object],
    options: SolverOptions,
) -> SolverOutcome:
    vector = SparseVector.from_dense(column)
    value = float(vector.weights @ operator.submatrix(vector.indices) @ vector.weights)
    options.progress.report(vector, value)
    return SolverOutcome(vector, value, reason, iterations, [value], settings)
