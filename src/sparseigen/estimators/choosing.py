"""From what a user says about sparsity to one cardinality a component."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen.errors import CardinalityError, OptionError
from sparseigen.estimators.path import cardinality_path
from sparseigen.inputs.arguments import Sparsity, check_sparsity
from sparseigen.operators import Operator
from sparseigen.operators.deflated import DEFLATIONS
from sparseigen.results.path import check_share

GRID_POINTS = 24
"""Cardinalities tried when one is to be chosen; spread evenly on a logarithmic scale."""


def choose_cardinalities(
    operator: Operator, cardinality: Any, count: int, *, deflation: str = "projection", share: float = 0.9
) -> list[int]:
    """One cardinality a component, from an int, a fraction, a list or "auto".

    Examples
    --------
    >>> import sparseigen as se
    >>> from sparseigen.estimators.choosing import choose_cardinalities
    >>> operator = se.operators.as_operator(se.datasets.load_pitprops().matrix)
    >>> choose_cardinalities(operator, 0.5, 2), choose_cardinalities(operator, "auto", 1)
    ([6, 6], [7])
    """
    check_share(share)
    wanted: Sparsity = check_sparsity(cardinality, operator.size, count)
    if wanted.cardinalities is not None:
        return wanted.cardinalities
    return _automatic(operator, count, deflation, share)


def _automatic(operator: Operator, count: int, deflation: str, share: float) -> list[int]:
    """For each component the smallest k on a grid that explains ``share`` of its dense optimum, deflating by it."""
    if deflation not in DEFLATIONS:
        message = f"cardinality='auto' chooses component by component; with deflation={deflation!r} give numbers."
        raise OptionError(message)
    chosen: list[int] = []
    grid = cardinality_grid(operator.size)
    for _ in range(count):
        path = cardinality_path(operator, grid, certify=False)
        chosen.append(path.suggest("share", share=share))
        if len(chosen) < count:
            operator = DEFLATIONS[deflation](operator, path[chosen[-1]].vector)
    return chosen


def cardinality_grid(size: int, points: int = GRID_POINTS) -> list[int]:
    """Cardinalities from 1 to ``size``, about evenly spaced on a logarithmic scale."""
    if size < 1:
        message = f"a grid of cardinalities needs at least one variable, got {size}."
        raise CardinalityError(message)
    return sorted({int(k) for k in np.unique(np.geomspace(1, size, points).round())} | {size})
