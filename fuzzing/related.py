"""Relations between answers, sets of components and graphs of `fuzzing.large`, each with what is wrong with it.

Where the optimum is not known, two ways to ask the same question must not contradict each other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from fuzzing import elsewhere
from fuzzing.graphs import _wrong
from fuzzing.large import FORMS, SMALLEST, Array, Generator, draw_size
from sparseigen.kernels import set_thread_count

Problems = Iterator[tuple[str, list[str]]]


def set_problems(rng: Generator) -> Problems:
    """Sets of a diagonal matrix or of equal blocks of ones: at best, the sum of so many largest eigenvalues."""
    size, count = draw_size(rng, 300), int(rng.integers(2, 5))
    if rng.random() < 0.5:
        values, k = rng.integers(1, 50, size), int(rng.integers(1, 6))
        matrix, best = np.diag(values.astype(float)), int(np.sort(values)[-count:].sum())
    else:
        k = int(rng.integers(2, 7))
        groups = rng.permutation(np.arange(size - size % k) // k)
        matrix, best = (groups[:, None] == groups).astype(float), k * count
    for options in ({"constraint": "orthogonal"}, {"constraint": "uncorrelated"}, {"disjoint": True}):
        found = se.sparse_components(matrix, [k] * count, effort="quick", **options)
        low, high = found.certificate.lower_bound, found.certificate.upper_bound
        wrong = [] if low <= best <= high else [f"k={k}, {count} components: {low!r} to {high!r}, best {best}"]
        yield f"set {next(iter(options.values()))}", wrong


# --- relations ----------------------------------------------------------------------------------------------------


RELATIONS: dict[str, Callable[[Generator, Array, Path], tuple[Any, float]]] = {
    "permutation": lambda rng, data, _: (se.covariance(data[:, rng.permutation(data.shape[1])], ddof=0), 1.0),
    "power of two": lambda rng, data, _: (se.covariance(data * 2.0**20, ddof=0), 2.0**40),
    "zero columns": lambda rng, data, _: (se.covariance(np.pad(data, ((0, 0), (0, 30))), ddof=0), 1.0),
    "duplicated rows": lambda rng, data, _: (se.covariance(np.concatenate([data, data]), ddof=0), 1.0),
    "signs": lambda rng, data, _: (se.covariance(data * rng.choice([-1.0, 1.0], data.shape[1]), ddof=0), 1.0),
    "far mean": lambda rng, data, _: (se.covariance(data + 1024.0, ddof=0), 1.0),
    "exact matrix": lambda rng, data, _: (_as_exact_matrix(data), 1.0),
    "float64": lambda rng, data, _: (se.covariance(data.astype(np.float64), ddof=0), 1.0),
    "float32": lambda rng, data, _: (se.covariance(data.astype(np.float32), ddof=0), 1.0),
    "sparse": lambda rng, data, _: (se.covariance(sp.csc_array(data), ddof=0), 1.0),
    "file": lambda rng, data, folder: (se.covariance(FORMS["file"](rng, data, folder)[0], ddof=0), 1.0),
    "blocks of rows": lambda rng, data, _: (
        se.covariance(FORMS["blocks of rows"](rng, data, Path())[0], shape=data.shape, ddof=0),
        1.0,
    ),
    "Dask cluster": lambda rng, data, folder: (_on_dask(rng, data), 1.0),
}
"""Another way to ask about the same covariance, and what its values are multiplied with."""


def _as_exact_matrix(data: Array) -> Array:
    """The covariance of whole numbers over a power of two as a matrix without rounding."""
    units = np.round(data.astype(np.float64) * 64.0)
    sums = units.sum(axis=0)
    return (len(data) * (units.T @ units) - np.outer(sums, sums)) / (64.0**2 * len(data) ** 2)


def _on_dask(rng: Generator, data: Array) -> Any:
    given, options = FORMS["Dask cluster"](rng, data, Path())
    return se.covariance(given, ddof=0, **options)


def relation_problems(rng: Generator) -> Problems:
    """The bracket of data whose optimum nobody knows, asked in several ways: any two must have a number in common."""
    samples, size = int(rng.choice([4, 16, 64, 256])), draw_size(rng, 2000)
    data = np.round(64.0 * rng.standard_normal((samples, size)) * rng.choice([1.0, 0.25], size)) / 64.0
    if rng.random() < 0.5:
        group = rng.permutation(size)[: int(rng.integers(2, 20))]
        data[:, group] += 2.0 * np.round(rng.standard_normal((samples, 1)))
    k = int(rng.integers(1, 31))
    if rng.random() < 0.3:
        data = data.astype(np.float32)
    plain = se.sparse_eigenvector(se.covariance(data, ddof=0), k).certificate
    ways = [way for way in RELATIONS if way not in elsewhere.missing()]
    names = [str(name) for name in rng.permutation([way for way in ways if way != "Dask cluster"])[:3]]
    if "Dask cluster" in ways and rng.random() < 0.1:
        names.append("Dask cluster")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            given, unit = RELATIONS[name](rng, data, Path(folder))
            effort = str(rng.choice(["quick", "default"]))
            other = se.sparse_eigenvector(given, k, effort=effort).certificate
            yield name, _contradictions(plain, other, unit)
    path = se.cardinality_path(se.covariance(data, ddof=0), sorted({k, *rng.integers(1, 31, 5).tolist()}))
    yield "path", _contradictions(plain, path[k].certificate, 1.0)
    for first, second in zip(path, list(path)[1:], strict=False):
        wrong = [] if first.certificate.lower_bound <= second.certificate.upper_bound else ["a path that falls"]
        yield "path", wrong
    yield "threads", _thread_problems(data, k)


def _contradictions(one: Any, other: Any, unit: float) -> list[str]:
    low, high = other.lower_bound / unit, other.upper_bound / unit
    if one.lower_bound <= high and low <= one.upper_bound:
        return []
    return [f"{one.lower_bound!r} to {one.upper_bound!r} against {low!r} to {high!r}"]


def _thread_problems(data: Array, k: int) -> list[str]:
    """Answers of one and of two threads have the same bits."""
    found = []
    try:
        for threads in (1, 2):
            set_thread_count(threads)
            found.append(se.sparse_eigenvector(se.covariance(data), k, start="max-variance", certify=False).vector)
    finally:
        set_thread_count(1)
    return [] if np.array_equal(*found) else ["two threads find another vector than one"]


# --- graphs -------------------------------------------------------------------------------------------------------


class KnownGraph:
    """A graph whose densest sets are known, as `fuzzing.graphs` asks for them."""

    def __init__(self, graph: Any, best: Callable[[int], int]) -> None:
        self.values, self.best, self.denominator, self.size = graph, best, 1, graph.shape[0]

    def weights_of(self, k: int, allowed: Array | None = None, required: tuple[int, ...] = ()) -> Array:
        """The weight of the best set alone."""
        return np.array([self.best(k)], dtype=object)


def _pairs(groups: Array, same: bool) -> sp.csr_array:
    """An arc between any two vertices of the same group, or of different ones."""
    joined = (groups[:, None] == groups) == same
    np.fill_diagonal(joined, False)
    return sp.csr_array(joined.astype(np.int64))


def fill_cliques(sizes: Array) -> Callable[[int], int]:
    """The densest k vertices of a union of cliques fill the largest ones first, because squares are convex."""

    def best(k: int) -> int:
        total = 0
        for size in sorted(sizes.tolist(), reverse=True):
            taken = min(size, k)
            total, k = total + taken * (taken - 1), k - taken
        return total

    return best


def spread_evenly(sizes: Array) -> Callable[[int], int]:
    """The densest k vertices of a complete multipartite graph are spread as evenly as the sizes of its parts allow."""

    def best(k: int) -> int:
        taken = np.zeros(len(sizes), dtype=np.int64)
        for _ in range(k):
            open_parts = np.flatnonzero(taken < sizes)
            taken[open_parts[np.argmin(taken[open_parts])]] += 1
        return k * k - int((taken**2).sum())

    return best


def draw_cliques(rng: Generator) -> KnownGraph:
    """A union of cliques."""
    sizes = rng.integers(1, int(rng.choice([4, 12, 40])), int(rng.integers(20, 100)))
    sizes[0] += SMALLEST
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return KnownGraph(_pairs(groups, same=True), fill_cliques(sizes))


def draw_multipartite(rng: Generator) -> KnownGraph:
    """A complete multipartite graph."""
    sizes = rng.integers(1, 40, int(rng.integers(3, 30)))
    sizes[0] += SMALLEST
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return KnownGraph(_pairs(groups, same=False), spread_evenly(sizes))


def draw_planted(rng: Generator) -> KnownGraph:
    """A clique in a sparse graph, which is asked for no more vertices than it has: no set has more edges than all."""
    size, clique = draw_size(rng), int(rng.integers(20, 45))
    ends = rng.integers(size, size=(2, 3 * size))
    chosen = rng.permutation(size)[:clique]
    rows, columns = (
        np.concatenate([ends[0], np.repeat(chosen, clique)]),
        np.concatenate([ends[1], np.tile(chosen, clique)]),
    )
    graph = sp.coo_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), (size, size)).tocsr()
    graph = graph + graph.T
    graph.setdiag(0)
    graph.eliminate_zeros()
    graph.data[:] = 1

    return KnownGraph(graph, lambda k: k * (k - 1))


GRAPHS: dict[str, Callable[[Generator], KnownGraph]] = {
    "union of cliques": draw_cliques,
    "complete multipartite": draw_multipartite,
    "planted clique": draw_planted,
}


def graph_problems(rng: Generator, question: KnownGraph) -> Problems:
    """Single answers and a curve, each with what is wrong with it."""
    ks = sorted({int(k) for k in rng.integers(1, 20, 6)})
    effort = str(rng.choice(["quick", "default"]))
    yield (
        "densest_k_subgraph",
        _wrong(question, se.densest_k_subgraph(question.values, ks[-1], effort=effort), None, ()),
    )
    for result in se.density_curve(question.values, ks, effort=effort):
        yield "density_curve", _wrong(question, result, None, ())


def draw_problems(rng: Generator, kind: float) -> tuple[str, str, Problems]:
    """A family, what it is, and the checks of one instance of it."""
    if kind < SHARES["relations"]:
        return "relations", "data", relation_problems(rng)
    if kind < SHARES["relations"] + SHARES["sets"]:
        return "sets", "matrix", set_problems(rng)
    family = str(rng.choice(list(GRAPHS)))
    return family, "graph", graph_problems(rng, GRAPHS[family](rng))


SHARES = {"relations": 0.12, "sets": 0.04, "graphs": 0.12}
"""Of all large instances; the others are matrices and data."""
