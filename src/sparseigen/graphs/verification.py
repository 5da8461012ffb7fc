"""Checking a result from what it is about alone: sets of vertices here, vectors in `solve.verification`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from sparseigen.checks.arguments import check_positive
from sparseigen.checks.graphs import WEIGHT, vertices_of
from sparseigen.graphs.bounds import GraphFacts
from sparseigen.graphs.certifying import LARGEST_PART, Certifier
from sparseigen.graphs.connectedness import count_parts
from sparseigen.graphs.methods import Outcome
from sparseigen.graphs.model import weight_within
from sparseigen.graphs.proving import ProofEffort
from sparseigen.graphs.task import MemoryTask, SubgraphOptions
from sparseigen.graphs.vertex_sets import VertexSet
from sparseigen.kernels.graph import Integers
from sparseigen.results import DenseSubgraphResult
from sparseigen.results.certificate import Check, Verification
from sparseigen.solve import verification as of_vectors

SAME = 1e-12
"""Relative difference up to which two computed numbers are the same."""


def verify(
    result: Any,
    A: Any,
    *,
    metric: Any = None,
    candidates: Any = None,
    must_include: Any = None,
    time_limit: float = 60.0,
) -> Verification:
    """Recompute every claim of a result from the matrix or graph alone.

    Parameters
    ----------
    result : SparseEigResult or DenseSubgraphResult
        An answer to a question about A.
    A : array, scipy sparse matrix, DataFrame, LinearOperator, operator, or graph
        The matrix; for a set of vertices the graph, in any form that `densest_k_subgraph` takes.
    metric : array, scipy sparse matrix, DataFrame, or operator, optional
        B of a result for x'Ax / x'Bx; the ridge that was added to it is in the result's settings.
    candidates : optional
        The candidates that were given to the solve, if any.
    must_include : optional
        The vertices that had to be included, if any.
    time_limit : float
        Seconds that a new exact search may take, should the claimed bound need one.

    Returns
    -------
    Verification
        For a vector its ``checks`` cover length, unit norm, cardinality, names, candidates and signs where they apply,
        the value, the end of the bracket that the vector attains, and the proven end, which is proven again: by the
        quick bounds, the default ones, the tight ones, then branch and bound. For a set of vertices: its vertices, what
        had to be and could be among them, weight, density, connected parts, and both ends of the bracket, the upper one
        proven again by the quick bounds, the dual bound, then branch and bound. What the certificate calls optimal must
        be so by its usual tolerance.

    Examples
    --------
    >>> import sparseigen as se
    >>> matrix = se.datasets.load_pitprops().matrix
    >>> bool(se.verify(se.sparse_eigenvector(matrix, 5), matrix))
    True
    >>> import networkx as nx
    >>> club = nx.karate_club_graph()
    >>> bool(se.verify(se.densest_k_subgraph(club, 8), club))
    True
    """
    if not isinstance(result, DenseSubgraphResult):
        return of_vectors.verify(result, A, metric=metric, candidates=candidates, time_limit=time_limit)
    check_positive(time_limit, "time_limit")
    settings = result.settings
    options = SubgraphOptions(
        method="tpower",
        start="auto",
        polish=None,
        directed="average" if settings.get("directed") == "outgoing" else settings.get("directed", "average"),
        self_loops="keep" if str(settings.get("self_loops")).endswith(("keep", "kept")) else "drop",
        weight=settings.get("weight", WEIGHT),
        certify=True,
        rng=None,
        effort="thorough",
    )
    task = MemoryTask(A, must_include, candidates, options)
    named = vertices_of(task.source, result.nodes, "result.nodes")
    chosen = np.zeros(0, dtype=np.int64) if named is None else named
    checks = list(_check_vertices(result, task, chosen))
    if all(check.holds for check in checks):
        checks += _check_weight(result, task, chosen)
        checks += _check_bracket(result, task, chosen, time_limit)
    return Verification(tuple(checks))


def _check_vertices(result: DenseSubgraphResult, task: MemoryTask, chosen: Integers) -> Iterator[Check]:
    distinct = len(chosen) == len(result.nodes) == result.k
    yield Check("number of vertices", distinct, f"{len(chosen)} different ones for k={result.k}")
    fits = len(result.indicator) == task.n_vertices and np.array_equal(np.flatnonzero(result.indicator), chosen)
    yield Check("indicator", fits, "marks the vertices" if fits else "marks other vertices")
    outside = np.setdiff1d(chosen, task.allowed)
    yield Check("candidates", not outside.size, f"{outside.size} vertices are no candidates")
    missing = np.setdiff1d(task.required, chosen)
    yield Check("must_include", not missing.size, f"{missing.size} vertices are missing")


def _check_weight(result: DenseSubgraphResult, task: MemoryTask, chosen: Integers) -> Iterator[Check]:
    weight = weight_within(task.source, chosen, task.notes)
    if task.whole.exact:
        weight = task.unit * VertexSet.of(task.whole, chosen).value
    near = abs(weight - result.weight) <= SAME * abs(weight)
    yield Check("weight", near, f"{result.weight!r}, recomputed {weight!r}")
    density = weight / result.k
    yield Check("density", abs(density - result.density) <= SAME * abs(density), f"{result.density!r}")
    if result.connected_parts is not None:
        parts = count_parts(task.whole, chosen)
        yield Check("connected parts", parts == result.connected_parts, f"{result.connected_parts}, counted {parts}")


def _check_bracket(
    result: DenseSubgraphResult, task: MemoryTask, chosen: Integers, time_limit: float
) -> Iterator[Check]:
    claimed = result.certificate
    if claimed is None:
        return
    yield Check("ordered", claimed.lower_bound <= claimed.upper_bound, str(claimed))
    facts = GraphFacts(task.restrict(task.whole), result.k, sweeps=task.options.sweeps)
    fixed = facts.graph.no_flags()
    fixed[np.searchsorted(task.allowed, task.required)] = 1
    places = np.searchsorted(task.allowed, chosen).astype(np.int64)
    value = VertexSet.of(facts.graph, places).value
    certifier = Certifier(facts, fixed, {result.k: Outcome(places, value)}, hurried=False)
    first = certifier.certificate(result.k, value)
    reached = first.lower_bound
    yield Check("attained end", claimed.lower_bound <= reached * (1.0 + SAME), f"{claimed.lower_bound!r}, {reached!r}")
    proven = first
    if proven.upper_bound > claimed.upper_bound:
        gap = 0.0 if claimed.optimal else claimed.relative_gap
        effort = ProofEffort(gap, np.inf, LARGEST_PART, branch=True)
        certifier.run(effort, time.perf_counter() + time_limit, None)
        proven = certifier.certificate(result.k, value)
    holds = proven.upper_bound <= claimed.upper_bound * (1.0 + SAME)
    detail = f"{claimed.upper_bound!r}, proven again {proven.upper_bound!r} by {proven.method}"
    yield Check("proven end", holds, detail)
    meant = not claimed.optimal or claimed.tolerance <= max(proven.tolerance, first.tolerance)
    yield Check("meaning of optimal", meant, f"gap {claimed.relative_gap:.3g}, tolerance {claimed.tolerance!r}")
