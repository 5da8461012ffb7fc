"""The lasso's solution path in Gram form (LARS with the lasso modification).

B. Efron, T. Hastie, I. Johnstone, R. Tibshirani, "Least angle regression", Annals of Statistics 32 (2004), 407-499.

The minimiser of b'Gb / 2 - c'b + level |b|_1 is piecewise linear in the level. From the level at which nothing is
chosen downwards, on each piece b_S = G_SS^-1 (c_S - level s_S) for the active variables S with signs s; a piece ends
where an inactive variable's correlation reaches the level, or an active coefficient reaches zero.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sparseigen.operators.contract import Operator

Vector = NDArray[np.float64]

MAX_EVENTS = 8
"""Events allowed for each variable that may be chosen; ties could otherwise make a variable come and go for ever."""
SAME = 1e-10
"""Levels that differ by this share are the same: what happens at the current one happens at once."""


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
        entering, at_entry = _next_entry(
            target, gram, constant, slope, active, current, gone, tied=len(active) < cardinality
        )
        leaving, at_exit = _next_exit(constant, slope, current, np.isin(active, list(came)))
        following = max(at_entry, at_exit, level)
        full = entering >= 0 and len(active) == cardinality and at_entry >= max(at_exit, level)
        if following < current * (1.0 - SAME):
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
    current: float,
    gone: Mapping[int, float],
    *,
    tied: bool,
) -> tuple[int, float]:
    """The inactive variable whose correlation meets the level first, and the level at which it does.

    A variable that has just gone meets the current level with its old sign and on this piece no other: rounding must
    not bring it back. Others that meet the current level come in at once where ``tied``.
    """
    correlation, growth = target - gram @ constant, gram @ slope  # correlation(level) = correlation + level * growth
    with np.errstate(divide="ignore", invalid="ignore"):
        from_above = correlation / (1.0 - growth)
        from_below = -correlation / (1.0 + growth)
    for variable, sign in gone.items():
        (from_above if sign > 0.0 else from_below)[variable] = 0.0
    limit = current * (1.0 + SAME if tied else 1.0 - SAME)
    meets = np.maximum(
        np.where((from_above > 0.0) & (from_above < limit), from_above, 0.0),
        np.where((from_below > 0.0) & (from_below < limit), from_below, 0.0),
    )
    meets[active] = 0.0
    entering = _first_largest(meets)
    return (entering, min(float(meets[entering]), current)) if meets[entering] > 0.0 else (-1, 0.0)


def _next_exit(constant: Vector, slope: Vector, current: float, came: NDArray[np.bool_]) -> tuple[int, float]:
    """The active coefficient that reaches zero first, and the level at which it does.

    Those that have just come are zero at the current level and on this piece at no other.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = np.where(slope != 0.0, constant / slope, 0.0)
    zeros = np.where((zeros > 0.0) & (zeros < current * (1.0 + SAME)) & ~came, np.minimum(zeros, current), 0.0)
    leaving = int(zeros.argmax())
    return leaving, float(zeros[leaving])
