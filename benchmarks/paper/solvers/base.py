"""What a solver of sparse components is, and the two ways to make one from the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sparseigen as se

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class Solver:
    """A method under the name that tables print, and what its settings are."""

    label: str
    settings: str
    find: Callable[..., Vectors]


def components(method: str, **options: Any) -> Callable[..., Vectors]:
    """A solver that is asked for cardinalities: components one after the other, or together for block methods."""

    def find(matrix: Any, cardinalities: list[int], parameter: Any = None) -> Vectors:
        if parameter is not None:
            raise ValueError(f"{method} is asked for cardinalities and has no parameter, got {parameter!r}.")
        found = se.sparse_components(matrix, cardinalities, method=method, certify=False, **options)
        return np.array([result.vector for result in found])

    return find


def penalised(method: str, parameter_name: str, *, method_options: dict[str, Any] | None = None, **options: Any) -> Any:
    """A solver with a penalty; a component of which the penalty leaves nothing is a vector of zeros."""

    def find(matrix: Any, cardinalities: list[int], parameter: Any) -> Vectors:
        chosen = {**(method_options or {}), parameter_name: parameter}
        try:
            found = se.sparse_components(
                matrix, cardinalities, method=method, certify=False, method_options=chosen, **options
            )
        except se.errors.OptionError:  # the penalty is so large that a component is empty
            return np.zeros((len(cardinalities), cardinalities[0]))
        return np.array([result.vector for result in found])

    return find
