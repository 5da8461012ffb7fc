"""From a method's outcome to the result a caller gets."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseigen.graphs.methods import Outcome
from sparseigen.kernels.graph import Integers
from sparseigen.results import DenseSubgraphResult


def subgraph_result(
    k: int,
    outcome: Outcome,
    *,
    nodes: tuple[Any, ...],
    members: Integers,
    n_vertices: int,
    unit: float,
    loops: int,
    settings: dict[str, Any],
    notes: dict[str, Any],
    seconds: float,
    weight: float | None = None,
) -> DenseSubgraphResult:
    """The result without its certificate; ``loops`` is the weight of the set's loops in units.

    ``weight`` is pi'W pi where it is known better than in units.
    """
    indicator = np.zeros(n_vertices, dtype=np.int8)
    indicator[members] = 1
    weight = unit * outcome.value if weight is None else weight
    history = np.array([unit * value / k for value in outcome.history])
    indicator.flags.writeable = history.flags.writeable = False
    chosen = {name: value for name, value in settings.items() if name not in ("rng", "certify", "start")}
    return DenseSubgraphResult(
        nodes=nodes,
        indicator=indicator,
        k=k,
        weight=weight,
        density=weight / k,
        edge_density=(weight - unit * loops) / (k * (k - 1)) if k > 1 else 0.0,
        certificate=None,
        stop_reason=outcome.stop_reason,
        n_iterations=outcome.n_iterations,
        history=history,
        solver=settings["method"],
        settings=chosen | notes | outcome.settings,
        seconds=seconds,
    )
