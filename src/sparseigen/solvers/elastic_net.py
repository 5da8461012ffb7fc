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

import numpy as np
from numpy.typing import NDArray

from sparseigen.errors import OptionError
from sparseigen.inputs.arguments import check_numbers
from sparseigen.operators.contract import Operator
from sparseigen.results import StopReason
from sparseigen.solvers.interface import SolverOptions, SolverOutcome, SparseVector
from sparseigen.solvers.lasso_path import follow_lasso_path
from sparseigen.solvers.spectrum import leading_eigenvectors

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
    return RIDGE * operator.trace() / operator.size


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
    support = np.flatnonzero(column).astype(np.int64)
    vector = SparseVector(support, column[support] / np.linalg.norm(column[support]))
    value = float(vector.weights @ operator.submatrix(support) @ vector.weights)
    options.progress.report(vector, value)
    return SolverOutcome(vector, value, reason, iterations, [value], settings)
