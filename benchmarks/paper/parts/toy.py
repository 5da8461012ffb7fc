"""Table 1: recovery of two sparse eigenvectors, 500 repeats of every method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import sparseigen as se
from benchmarks.paper import objective
from benchmarks.paper.datasets import toy
from benchmarks.paper.pieces import Outcome, Piece, Settings
from benchmarks.paper.solvers.components import COMPONENTS

BLOCKS = 10
SUCCESS = 0.99
LAMBDA_1 = 1e-3
BY_CARDINALITY = [toy.CARDINALITY] * 2
ALL_VARIABLES = [toy.SIZE] * 2


class Method(NamedTuple):
    """A solver with the parameter that Table 1 gives it."""

    solver: str
    cardinalities: list[int]
    parameter: Any = None


METHODS = {
    "tpower": Method("tpower", BY_CARDINALITY),
    "default": Method("default", BY_CARDINALITY),
    "pathspca": Method("pathspca", BY_CARDINALITY),
    "gpower-l1": Method("gpower-l1", ALL_VARIABLES, 0.8),
    "gpower-l1-block": Method("gpower-l1-block", ALL_VARIABLES, 0.8),
    "gpower-l0": Method("gpower-l0", ALL_VARIABLES, 0.8**2),
    "gpower-l0-plain": Method("gpower-l0", ALL_VARIABLES, 0.8),
    "gpower-l0-block": Method("gpower-l0-block", ALL_VARIABLES, 0.8),
    "spca-one-round": Method("spca-one-round", ALL_VARIABLES, 2 * LAMBDA_1),
    "spca-ten-rounds": Method("spca-ten-rounds", ALL_VARIABLES, 2 * LAMBDA_1),
    "spca-unscaled": Method("spca-unscaled", ALL_VARIABLES, LAMBDA_1),
    "pca": Method("pca", ALL_VARIABLES),
}
"""Name of the piece -> method. gamma counts relative to the largest column norm, for l0 to its square. The library's
elastic net has no half before the loss; twice lambda1 is lambda1 for those who write one."""


def repeats_of(settings: Settings, block: int) -> range:
    edges = [round(settings.repeats * i / BLOCKS) for i in range(BLOCKS + 1)]
    return range(edges[block], edges[block + 1])


def run(name: str, settings: Settings, block: int) -> list[tuple[float, float, float]]:
    method, truth = METHODS[name], toy.true_vectors()
    find: Callable[..., np.ndarray] = COMPONENTS[method.solver].find
    rows = []
    for number in repeats_of(settings, block):
        operator = se.covariance(toy.repeat(settings.seed, number), center=False, ddof=0)
        vectors = objective.checked(find(operator, method.cardinalities, method.parameter), method.cardinalities)
        rows.append(objective.recovery(truth, vectors))
    return rows


def score(settings: Settings, raws: list[list[tuple[float, float, float]]]) -> Outcome:
    outcome = Outcome()
    values = np.array([row for raw in raws for row in raw])
    for column, name in enumerate(("u1u2", "v1u1", "v2u2")):
        mean, error = objective.mean_and_error(values[:, column])
        outcome.add(name, mean, error=error, detail=f"Standard error {error:.1e} over {len(values)} repeats.")
    share, error = objective.mean_and_error((values[:, 1:] > SUCCESS).all(axis=1))
    outcome.add("success", share, error=error, detail=f"Standard error {error:.1e} over {len(values)} repeats.")
    return outcome


PIECES = [Piece("T1", "toy", name, partial(run, name), score, blocks=BLOCKS) for name in METHODS]
