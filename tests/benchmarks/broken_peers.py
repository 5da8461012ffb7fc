"""Peers that do what packages do on a bad day."""

from __future__ import annotations

import os
import time

import numpy as np

from benchmarks.speed.cells import Problem
from benchmarks.speed.peers.interface import Peer


def _tiny(problem: Problem) -> bool:
    """The problem of the first check, at which these peers still behave."""
    return problem.size == 8


def _first(problem: Problem, cardinality: float) -> np.ndarray:
    loadings = np.zeros(problem.size)
    loadings[: int(cardinality)] = 1.0
    return loadings


def raises(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    if _tiny(problem):
        return _first(problem, cardinality)
    raise TypeError("only length-1 arrays can be converted")


def dies(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    if not _tiny(problem):
        os._exit(11)
    return _first(problem, cardinality)


def hangs(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    if not _tiny(problem):
        time.sleep(600.0)
    return _first(problem, cardinality)


def absent(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    import no_package_has_this_name  # noqa: F401

    raise AssertionError


def broken_import(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    from numpy import no_such_function_any_more  # noqa: F401

    raise AssertionError


def not_a_number(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    return _first(problem, cardinality) * (1.0 if _tiny(problem) else np.nan)


def too_many(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    return np.ones(problem.size)


def first_variables(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
    return _first(problem, cardinality)


PEERS = {
    peer.name: peer
    for peer in (
        Peer("raises", "none", raises),
        Peer("dies", "none", dies),
        Peer("hangs", "none", hangs),
        Peer("absent", "none", absent),
        Peer("broken import", "none", broken_import),
        Peer("not a number", "none", not_a_number),
        Peer("too many", "none", too_many),
        Peer("first variables", "none", first_variables),
    )
}
