"""Named methods for the densest k-subgraph: `find(prepared, sizes, repeats) -> {k: Found}`.

Every k is solved on its own, on the graph in memory, as in the paper. Seconds are of processor time, over all threads
(the paper's figures show CPU time too): they count the degrees and their order, not the reading and symmetrising.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparseigen as se
from benchmarks.paper.solvers.authors_ravi import authors_ravi
from sparseigen.checks.graph_objects import check_graph
from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.methods import METHODS, Problem
from sparseigen.graphs.model import IntegerGraph, build_graph, outgoing_graph

REPEATS = 3
"""Runs of which the shortest counts: one run of a few milliseconds says little."""


@dataclass(frozen=True)
class Prepared:
    """A graph ready to be searched; `choice` is what greedy methods look at when they choose by outgoing weight."""

    source: Any
    graph: IntegerGraph
    choice: IntegerGraph | None = None

    def matrix(self) -> sp.csr_array:
        """(W + W')/2 in float64, self-loops kept: what the objective scores with."""
        weights = sp.csr_array(check_graph(self.source).matrix, dtype=np.float64)
        return ((weights + weights.T) / 2.0).tocsr()

    def columns(self) -> sp.csc_array:
        """What the authors' Greedy-Ravi adds up: columns of W for directed weights, of (W + W')/2 otherwise."""
        if self.choice is None:
            return self.matrix().tocsc()
        return sp.csr_array(check_graph(self.source).matrix, dtype=np.float64).tocsc()


def prepare(source: Any, *, by_outgoing: bool = False) -> Prepared:
    """Check, symmetrise as (W + W')/2 and keep self-loops."""
    checked = check_graph(source)
    graph, _ = build_graph(checked, directed="average", self_loops="keep")
    return Prepared(source, graph, outgoing_graph(checked, self_loops="keep") if by_outgoing else None)


@dataclass(frozen=True)
class Found:
    """The answer for one k."""

    vertices: list[int]
    seconds: float
    history: list[float] = field(default_factory=list)
    shifts: int = 0
    upper_bound: float | None = None


@dataclass(frozen=True)
class GraphSolver:
    """A method under the name that tables print."""

    label: str
    settings: str
    find: Callable[..., dict[int, Found]]
    extra_vertices: int = 0
    """Vertices more than k that its answer has."""


def _one_by_one(method: str, *, start: str = "auto") -> Callable[..., dict[int, Found]]:
    """A method of the library, without its curve's help between neighbouring k and without polish."""

    def find(prepared: Prepared, sizes: Iterable[int], repeats: int = REPEATS) -> dict[int, Found]:
        return {k: solved(prepared, k, repeats) for k in sizes}

    def solved(prepared: Prepared, k: int, repeats: int) -> Found:
        seconds = []
        for _ in range(repeats):
            # Copies without what the graphs remember: degrees and their order are part of the work.
            graph = replace(prepared.graph)
            choice = None if prepared.choice is None else replace(prepared.choice)
            began = time.process_time()
            problem = Problem(GraphFacts(graph, k), graph.no_flags(), start, None, choice=choice)
            outcome = METHODS[method](problem, [k])[k]
            seconds.append(time.process_time() - began)
        history = [value * graph.unit for value in outcome.history]
        return Found(outcome.vertices.tolist(), min(seconds), history, int(outcome.settings.get("shifts", 0)))

    return find


def _authors_ravi(prepared: Prepared, sizes: Iterable[int], repeats: int = REPEATS) -> dict[int, Found]:
    columns, wanted = prepared.columns(), list(sizes)
    runs = [authors_ravi(columns, wanted) for _ in range(repeats)]
    return {k: Found(chosen, min(seconds[k] for _, seconds in runs)) for k, chosen in runs[0][0].items()}


def _default(prepared: Prepared, sizes: Iterable[int], repeats: int = 1) -> dict[int, Found]:
    """The whole curve at once, from the graph as read to the certificates; its seconds are divided evenly."""
    wanted = list(sizes)
    began = time.process_time()
    curve = se.density_curve(prepared.source, wanted, self_loops="keep")
    seconds = (time.process_time() - began) / len(wanted)
    return {
        result.k: Found(
            np.flatnonzero(result.indicator).tolist(),
            seconds,
            upper_bound=float(result.certificate.upper_bound),
        )
        for result in curve
    }


GRAPH_SOLVERS: dict[str, GraphSolver] = {
    "tpower": GraphSolver(
        "TPower-DkS", "Algorithm 2 from the k largest degrees, no polish", _one_by_one("tpower", start="degree")
    ),
    "greedy-ravi": GraphSolver(
        "Greedy-Ravi, authors' variant", "their start edge and tie rule, k + 1 vertices", _authors_ravi, 1
    ),
    "greedy-feige": GraphSolver("Greedy-Feige", "k/2 largest degrees, k/2 best connected", _one_by_one("greedy-feige")),
    "greedy-ravi-k": GraphSolver(
        "Greedy-Ravi with k vertices", "from the heaviest edge, ties by degree", _one_by_one("greedy-ravi")
    ),
    "tpower-relaxed": GraphSolver(
        "relaxation: TPower", "Algorithm 1 on W from the k largest degrees, its support", _one_by_one("tpower-relaxed")
    ),
    "tpower-from-feige": GraphSolver(
        "TPower-DkS from Greedy-Feige", "Algorithm 2, another start", _one_by_one("tpower", start="greedy-feige")
    ),
    "tpower-from-ravi": GraphSolver(
        "TPower-DkS from Greedy-Ravi", "Algorithm 2, another start", _one_by_one("tpower", start="greedy-ravi")
    ),
    "default": GraphSolver("sparseigen, default", "many starts, swap search, certificate; the whole curve", _default),
}
"""Solvers by the name that pieces use."""
