"""Dense subgraphs attacked: graphs with awkward weights, every set of k vertices weighed in whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from fuzzing.truth import supports, whole_numbers
from sparseigen.graphs.methods import METHODS

LARGEST_SIZE = 10
Generator = np.random.Generator
Array = np.ndarray

WEIGHTS: dict[str, Callable[[Generator, tuple[int, int]], Array]] = {
    "ones": lambda rng, shape: np.ones(shape),
    "booleans": lambda rng, shape: np.ones(shape, dtype=bool),
    "integers": lambda rng, shape: rng.integers(1, 6, shape),
    "large integers": lambda rng, shape: rng.integers(1, 1 << int(rng.choice([31, 45, 52, 60])), shape),
    "sevenths": lambda rng, shape: rng.integers(1, 8, shape) / 7.0,
    "dyadic": lambda rng, shape: rng.integers(1, 4096, shape) / 1024.0,
    "reals": lambda rng, shape: rng.random(shape) + 1e-3,
    "equal reals": lambda rng, shape: np.full(shape, rng.choice([0.1, 1.0 / 3.0, 1e-9])),
    "near ties": lambda rng, shape: 1.0 + rng.integers(0, 4, shape) * 2.0**-52,
    "mixed scales": lambda rng, shape: 10.0 ** rng.uniform(-20.0, 20.0, shape),
    "one huge": lambda rng, shape: np.where(rng.random(shape) < 0.1, 1e18, rng.random(shape) + 1e-3),
    "1e+-300": lambda rng, shape: (rng.random(shape) + 1e-3) * 10.0 ** float(rng.choice([-300, 300])),
    "denormal": lambda rng, shape: (rng.random(shape) + 0.1) * 10.0 ** float(rng.choice([-310, -320])),
}
"""Kinds of weights."""


class GraphQuestion:
    """One graph with options, and the exact weight of every set of its vertices."""

    def __init__(self, rng: Generator, kind: str, largest: int = LARGEST_SIZE) -> None:
        self.rng, size = rng, int(rng.integers(2, largest + 1))
        weights = WEIGHTS[kind](rng, (size, size))
        weights = weights * (rng.random((size, size)) < rng.uniform(0.2, 1.0))
        self.directed = bool(rng.random() < 0.4)
        if not self.directed:
            weights = np.maximum(weights, weights.T)
        if weights.dtype.kind == "f" and kind not in ("1e+-300", "denormal") and rng.random() < 0.2:
            weights = weights.astype(np.float32)
        self.matrix = weights
        self.options: dict[str, Any] = {
            "self_loops": str(rng.choice(["drop", "keep"])),
            "directed": str(rng.choice(["average", "either"])),
        }
        self.size = size
        self.values, self.denominator = self._exact()

    def _exact(self) -> tuple[Array, int]:
        """Weights as the options say, in whole numbers over a denominator (times two: averages are exact)."""
        if self.matrix.dtype.kind in "iu":
            table, denominator = [[int(value) for value in row] for row in self.matrix], 1
        else:
            table, denominator = whole_numbers(self.matrix.astype(np.float64))
        numbers = np.array(table, dtype=object)
        if self.options["self_loops"] == "drop":
            numbers[np.diag_indices(self.size)] = 0
        if self.options["directed"] == "either":
            return 2 * np.maximum(numbers, numbers.T), 2 * denominator
        return numbers + numbers.T, 2 * denominator

    def weights_of(self, k: int, allowed: Array | None = None, required: tuple[int, ...] = ()) -> Array:
        """Pi'W pi of every set of k vertices (of the allowed ones, with the required ones), as whole numbers."""
        sets = supports(self.size, k) if allowed is None else allowed[supports(len(allowed), k)]
        for vertex in required:
            sets = sets[(sets == vertex).any(axis=1)]
        return np.array([self.values[np.ix_(chosen, chosen)].sum() for chosen in sets], dtype=object)


def problems_of(question: GraphQuestion) -> Iterator[tuple[str, list[str]]]:
    """For every certificate the method that made it, and what is wrong with it."""
    rng, graph = question.rng, sp.csr_array(question.matrix)
    method = str(rng.choice(sorted(METHODS))) if rng.random() < 0.5 else "tpower"
    options: dict[str, Any] = question.options | {"method": method}
    allowed = None
    if rng.random() < 0.2:
        allowed = np.sort(rng.permutation(question.size)[: int(rng.integers(1, question.size + 1))])
        options["candidates"] = allowed.tolist()
    limit = question.size if allowed is None else len(allowed)
    required: tuple[int, ...] = ()
    if rng.random() < 0.3:
        pool = np.arange(question.size) if allowed is None else allowed
        required = tuple(int(v) for v in rng.permutation(pool)[: int(rng.integers(1, min(3, limit) + 1))])
        options["must_include"] = list(required)
    if method in ("tpower", "exact"):
        options["effort"] = str(rng.choice(["quick", "default", "thorough"]))
    k = int(rng.integers(max(1, len(required)), limit + 1))
    result = se.densest_k_subgraph(graph, k, **options)
    yield "densest_k_subgraph", _wrong(question, result, allowed, required)
    if method == "tpower" or rng.random() < 0.3:
        for result in se.density_curve(graph, range(max(1, len(required)), limit + 1), **options):
            yield "density_curve", _wrong(question, result, allowed, required)


def _wrong(question: GraphQuestion, result: Any, allowed: Array | None, required: tuple[int, ...]) -> list[str]:
    chosen, k, found = np.flatnonzero(result.indicator), result.k, result.certificate
    if len(chosen) != k or (allowed is not None and not np.isin(chosen, allowed).all()):
        return [f"{len(chosen)} vertices instead of {k} allowed ones"]
    if not np.isin(required, chosen).all():
        return [f"{chosen.tolist()} lacks a vertex of {required}"]
    if not (np.isfinite(found.lower_bound) and np.isfinite(found.upper_bound)):
        return [f"bracket {found.lower_bound!r} to {found.upper_bound!r} is not finite"]
    over = question.denominator * k
    best = Fraction(int(question.weights_of(k, allowed, required).max()), over)
    reached = Fraction(int(question.values[np.ix_(chosen, chosen)].sum()), over)
    low, high = Fraction(found.lower_bound), Fraction(found.upper_bound)
    wrong = []
    if low > reached:
        wrong.append(f"lower bound {found.lower_bound!r} is above {float(reached)!r}, what the set reaches")
    if high < best:
        wrong.append(f"upper bound {found.upper_bound!r} is below {float(best)!r}, the best density")
    if low > high:
        wrong.append("lower bound above upper bound")
    if found.optimal and reached < best * (1 - Fraction(max(found.tolerance, 0.0))):
        wrong.append(f"called optimal: {float(reached)!r}, best {float(best)!r}")
    if found.optimal and found.tolerance < 1e-14 and reached != best:
        wrong.append(f"called exactly optimal: {float(reached)!r}, best {float(best)!r}")
    if result.solver == "exact" and not found.optimal and found.tolerance < 1e-14:
        wrong.append(f"the exact method did not close its bracket: {found}")
    if abs(Fraction(result.density) - reached) > abs(reached) * Fraction(1, 10**12) + Fraction(1, 2**1070):
        wrong.append(f"density {result.density!r} is not {float(reached)!r}")
    return wrong
