"""A penalty for a wanted cardinality, by bisection: what a user of a penalised method has to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

CLOSEST = 1e-9
"""Penalties closer than this, relatively, are one: between them the cardinality jumps."""
STEP = 1.5
"""From one penalty to the next while too few variables are left: small, because overshooting costs the slowest fits."""
SMALLEST = 1e-9
"""Of the largest penalty: below it nothing is penalised any more."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One fit: what was asked, what came out, how long it took."""

    parameter: float
    support: np.ndarray
    seconds: float
    began: float = 0.0

    @property
    def cardinality(self) -> int:
        return len(self.support)


def tune(
    fit: Callable[[float], Trial],
    cardinality: int,
    largest: float,
    *,
    trials: list[Trial],
    out_of_time: Callable[[], bool] = lambda: False,
    most: int = 60,
) -> Trial | None:
    """The trial with the wanted cardinality, else the one nearest below; None if every one kept more or nothing.

    The large penalties come first: their fits are the fast ones. ``trials`` grows, and what is in it is used, so the
    fits for one cardinality help the next. ``out_of_time`` is asked before each fit.
    """
    for _ in range(most):
        parameter = _next_penalty(trials, cardinality, largest)
        if parameter is None or out_of_time():
            break
        trials.append(fit(parameter))
    reached = [trial for trial in trials if 0 < trial.cardinality <= cardinality]
    return max(reached, key=lambda trial: (trial.cardinality, trial.parameter), default=None)


def _next_penalty(trials: list[Trial], cardinality: int, largest: float) -> float | None:
    """Where to try next; None where the cardinality is reached or cannot be."""
    if any(trial.cardinality == cardinality for trial in trials):
        return None
    if not trials:
        return largest
    ordered = sorted(trials, key=lambda trial: trial.parameter)
    if ordered[-1].cardinality > cardinality:
        beyond = 4.0 * ordered[-1].parameter
        return beyond if beyond <= largest * 4.0**20 else None
    if ordered[0].cardinality < cardinality and all(trial.cardinality < cardinality for trial in ordered):
        below = ordered[0].parameter / STEP
        return below if below >= SMALLEST * largest else None
    # The last fall through the wanted cardinality: cardinalities need not be monotone.
    low, high = next(
        (a, b)
        for a, b in zip(ordered[-2::-1], ordered[:0:-1], strict=True)
        if a.cardinality > cardinality > b.cardinality
    )
    if high.parameter <= low.parameter * (1.0 + CLOSEST):
        return None
    return float(np.sqrt(low.parameter * high.parameter))
