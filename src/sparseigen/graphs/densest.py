"""What users call: the densest k vertices, for one k, for many, or several times over."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from sparseigen.checks.arguments import check_cardinality, check_choice, check_count, check_many, check_rng
from sparseigen.checks.graph_objects import check_graph
from sparseigen.checks.graphs import Graph, as_path, is_text, vertices_of
from sparseigen.errors import CardinalityError, OptionError, SolveInterrupted, one_of
from sparseigen.graphs.bounds import FAST_SWEEPS, SWEEPS, GraphFacts, UpperBounds
from sparseigen.graphs.cluster_graph import ClusterGraph
from sparseigen.graphs.cluster_task import ClusterTask
from sparseigen.graphs.methods import BY_OUTGOING, METHODS, STARTS, Outcome, Problem, subgraph_result
from sparseigen.graphs.model import DIRECTED, SELF_LOOPS, IntegerGraph, build_graph, outgoing_graph, weight_within
from sparseigen.graphs.reading import read_graph
from sparseigen.graphs.search import POLISHES
from sparseigen.io.graph_files import read_file
from sparseigen.kernels.graph import Integers
from sparseigen.results import DenseSubgraphResult, DensityCurve, StopReason
from sparseigen.rows.partitions import is_partitioned


def densest_k_subgraph(
    graph: Any,
    k: int,
    *,
    method: str = "tpower",
    start: Any = "auto",
    polish: str | None = "swap",
    must_include: Any = None,
    candidates: Any = None,
    directed: str = "average",
    self_loops: str = "drop",
    certify: bool = True,
    rng: Any = None,
) -> DenseSubgraphResult:
    """Find k vertices with as much edge weight among them as possible, and prove how much there can be.

    Parameters
    ----------
    graph : networkx or igraph graph, scipy sparse matrix, edge array, edge frame, path, or what `read_graph` returns
        Weights (edge attribute "weight" in networkx and igraph) must be >= 0; without any, all are 1. An edge array
        has one row an edge: two ends, and a weight if there is a third column. An edge list that gives every edge in
        one direction only is read as undirected; one that gives both directions of some pair is read as directed.
    k : int
        Number of vertices.
    method : {"tpower", "tpower-relaxed", "greedy-ravi", "greedy-feige", "peel"}
        "tpower" is Algorithm 2 of the paper with ``start`` and ``polish``; the others take neither. "tpower-relaxed"
        is Algorithm 1 on W; "greedy-ravi" adds the vertex that gains most, from the heaviest edge on;
        "greedy-feige" takes the k/2 largest degrees and the k/2 vertices best connected to them; "peel" removes the
        vertex of least degree until k are left.
    start : {"auto", "degree", "peel", "loads", "greedy-ravi", "greedy-feige"} or collection of vertices
        Where Algorithm 2 starts. "degree" is the paper's: the k largest degrees. "auto" tries all of these and
        greedy growth from many seeds. ``start="degree", polish=None`` is Algorithm 2 exactly.
    polish : {"swap", "tabu", None}
        What to do with the best sets: exchange vertices while the weight rises, go on longer through losing
        exchanges, or nothing.
    must_include : collection of vertices, optional
        Vertices that must be among the k.
    candidates : collection of vertices, optional
        The only vertices that may be chosen.
    directed : {"average", "either", "outgoing"}
        Directed graphs become (W + W')/2, as in the paper (pi'W pi stays the same), or max(W, W'). "outgoing" is
        "average" with the greedy methods choosing by outgoing weight alone: what the authors' greedy runs did on the
        airline data.
    self_loops : {"drop", "keep"}
        A kept loop counts once in pi'W pi.
    certify : bool
        Prove an upper bound.
    rng : None, int or numpy.random.Generator
        Decides how long exchanged vertices are held back; None is seed 0.

    Returns
    -------
    DenseSubgraphResult
        Its certificate is on the scale of ``density`` = pi'W pi / k. For weights that are multiples of a power of
        two it comes from whole-number arithmetic, and ``certificate.optimal`` is a proof. With ``must_include`` the
        bound is that of the problem without it: still valid, not tight.

    References
    ----------
    X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.

    Examples
    --------
    >>> import networkx as nx
    >>> import sparseigen as se
    >>> result = se.densest_k_subgraph(nx.les_miserables_graph(), k=5)
    >>> sorted(result.nodes)
    ['Cosette', 'Marius', 'MmeThenardier', 'Thenardier', 'Valjean']
    >>> result.density
    44.0
    """
    settings = _check_settings(method, start, polish, directed, self_loops, certify, rng)
    task = _task(graph, must_include, candidates, settings)
    try:
        return task.solve([task.check_k(k)]).results[0]
    except SolveInterrupted as stop:
        raise SolveInterrupted(_first(stop)) from None


def density_curve(
    graph: Any,
    ks: Iterable[int],
    *,
    method: str = "tpower",
    start: Any = "auto",
    polish: str | None = "swap",
    must_include: Any = None,
    candidates: Any = None,
    directed: str = "average",
    self_loops: str = "drop",
    certify: bool = True,
    rng: Any = None,
) -> DensityCurve:
    """Find the densest k vertices for many k; results come in the order of ``ks``.

    What serves every k (peeling, fair loads, greedy orders, bounds) is computed once, and the sets found for
    neighbouring k are tried for each other. The parameters are those of `densest_k_subgraph`.

    References
    ----------
    X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.

    Examples
    --------
    >>> import networkx as nx
    >>> import sparseigen as se
    >>> curve = se.density_curve(nx.karate_club_graph(), [5, 10])
    >>> [result.k for result in curve]
    [5, 10]
    """
    settings = _check_settings(method, start, polish, directed, self_loops, certify, rng)
    task = _task(graph, must_include, candidates, settings)
    wanted = [task.check_k(k) for k in check_many(ks, "ks", "range(10, 100, 10)")]
    if not wanted:
        msg = "ks is empty; give at least one number of vertices."
        raise OptionError(msg)
    return task.solve(wanted)


def disjoint_dense_subgraphs(
    graph: Any,
    k: int,
    count: int,
    *,
    method: str = "tpower",
    start: Any = "auto",
    polish: str | None = "swap",
    candidates: Any = None,
    directed: str = "average",
    self_loops: str = "drop",
    certify: bool = True,
    rng: Any = None,
) -> list[DenseSubgraphResult]:
    """Find dense subgraphs one after the other, each among the vertices the earlier ones left.

    Every certificate is about the graph that was left at that step. The parameters are those of
    `densest_k_subgraph`.

    References
    ----------
    X.-T. Yuan and T. Zhang, "Truncated Power Method for Sparse Eigenvalue Problems", JMLR 14 (2013), 899-925.

    Examples
    --------
    >>> import networkx as nx
    >>> import sparseigen as se
    >>> first, second = se.disjoint_dense_subgraphs(nx.caveman_graph(2, 4), k=4, count=2)
    >>> first.nodes, second.nodes
    ((0, 1, 2, 3), (4, 5, 6, 7))
    """
    settings = _check_settings(method, start, polish, directed, self_loops, certify, rng)
    task = _task(graph, None, candidates, settings)
    k, count = task.check_k(k), check_count(count, "count")
    if k * count > task.n_allowed:
        message = f"count={count} disjoint sets of k={k} vertices need {k * count}; there are {task.n_allowed}."
        raise CardinalityError(message)
    results = []
    for _ in range(count):
        try:
            results.append(task.solve([k]).results[0])
        except SolveInterrupted as stop:
            raise SolveInterrupted(_first(stop), tuple(results)) from None
        task = task.without(results[-1])
    return results


def _first(stop: SolveInterrupted) -> DenseSubgraphResult | None:
    """The only point of an interrupted curve of one."""
    return stop.result.results[0] if isinstance(stop.result, DensityCurve) else None


def _check_settings(
    method: Any, start: Any, polish: Any, directed: Any, self_loops: Any, certify: Any, rng: Any
) -> dict[str, Any]:
    if is_text(start):
        check_choice(start, STARTS, "start")
    check_choice(method, METHODS, "method")
    if directed == "outgoing" and method not in BY_OUTGOING:
        message = f"directed='outgoing' is for the methods {one_of(BY_OUTGOING)}; method={method!r} needs 'average'."
        raise OptionError(message)
    return {
        "method": check_choice(method, METHODS, "method"),
        "start": start,
        "polish": check_choice(polish, POLISHES, "polish"),
        "directed": check_choice(directed, DIRECTED, "directed"),
        "self_loops": check_choice(self_loops, SELF_LOOPS, "self_loops"),
        "certify": bool(check_choice(certify, (True, False), "certify")),
        "rng": check_rng(rng),
    }


class _Task:
    """One graph with its constraints, ready to be solved for any k."""

    def __init__(self, graph: Any, must_include: Any, candidates: Any, settings: dict[str, Any]) -> None:
        path = as_path(graph)
        self.source: Graph = check_graph(graph) if path is None else read_file(path)
        self.settings = settings
        self.whole, self.notes = build_graph(
            self.source, directed=settings["directed"], self_loops=settings["self_loops"]
        )
        self.choice: IntegerGraph | None = None
        if settings["directed"] == "outgoing":
            self.choice = outgoing_graph(self.source, self_loops=settings["self_loops"])
        allowed = vertices_of(self.source, candidates, "candidates")
        self.allowed: Integers = np.arange(self.whole.size, dtype=np.int64) if allowed is None else allowed
        required = vertices_of(self.source, must_include, "must_include")
        self.required: Integers = np.zeros(0, dtype=np.int64) if required is None else required
        outside = np.setdiff1d(self.required, self.allowed)
        if outside.size:
            message = f"must_include holds {self.source.label(int(outside[0]))!r}, which is not among the candidates."
            raise OptionError(message)
        start = settings["start"]
        self.start = start if is_text(start) else vertices_of(self.source, start, "start")

    @property
    def n_allowed(self) -> int:
        """Vertices that may be chosen."""
        return len(self.allowed)

    def without(self, found: DenseSubgraphResult) -> _Task:
        """The same task on the vertices that are left."""
        rest = object.__new__(_Task)
        rest.__dict__.update(self.__dict__)
        rest.allowed = np.setdiff1d(self.allowed, np.flatnonzero(found.indicator))
        return rest

    def check_k(self, k: Any) -> int:
        of = "vertices" if len(self.allowed) == self.whole.size else "candidates"
        checked = check_cardinality(k, len(self.allowed), what="k", of=of)
        if checked < len(self.required):
            message = f"k={checked} is less than the {len(self.required)} vertices of must_include."
            raise CardinalityError(message)
        return checked

    def solve(self, ks: list[int]) -> DensityCurve:
        began = time.perf_counter()
        graph = self.whole if len(self.allowed) == self.whole.size else self.whole.induced(self.allowed)
        fast = self.settings["polish"] is None and not self.settings["certify"]
        facts = GraphFacts(graph, max(ks), sweeps=FAST_SWEEPS if fast else SWEEPS)
        fixed = graph.no_flags()
        fixed[np.searchsorted(self.allowed, self.required)] = 1
        choice = self.choice
        if choice is not None and graph is not self.whole:
            choice = choice.induced(self.allowed)
        start: Any = self.start
        if not is_text(start):
            start = np.searchsorted(self.allowed, np.intersect1d(start, self.allowed)).astype(np.int64)
        problem = Problem(facts, fixed, start, self.settings["polish"], self.settings["rng"], choice)
        try:
            outcomes = METHODS[self.settings["method"]](problem, ks)
        except KeyboardInterrupt as stop:
            reached = getattr(stop, "result", None) or {}
            seconds = time.perf_counter() - began
            found = [self._interrupted(graph, k, reached[k], seconds) for k in ks if k in reached]
            raise SolveInterrupted(DensityCurve(tuple(found), seconds) if found else None) from None
        seconds = time.perf_counter() - began
        results = {k: self._result(graph, k, outcomes[k], seconds) for k in set(ks)}
        if self.settings["certify"]:
            try:
                bounds = UpperBounds(facts)
                results = {
                    k: replace(result, certificate=bounds.certificate(k, outcomes[k].value))
                    for k, result in results.items()
                }
            except KeyboardInterrupt:  # the answer is there; only its proofs are not
                raise SolveInterrupted(DensityCurve(tuple(results[k] for k in ks), seconds)) from None
        return DensityCurve(tuple(results[k] for k in ks), time.perf_counter() - began)

    def _interrupted(self, graph: IntegerGraph, k: int, outcome: Outcome, seconds: float) -> DenseSubgraphResult:
        return replace(self._result(graph, k, outcome, seconds), stop_reason=StopReason.INTERRUPTED)

    def _result(self, graph: IntegerGraph, k: int, outcome: Outcome, seconds: float) -> DenseSubgraphResult:
        vertices = self.allowed[outcome.vertices]
        return subgraph_result(
            k,
            outcome,
            nodes=tuple(self.source.label(int(v)) for v in vertices),
            members=vertices,
            n_vertices=self.whole.size,
            unit=graph.unit,
            weight=None if graph.exact else weight_within(self.source, vertices, self.notes),
            loops=int(graph.loops[outcome.vertices].sum()),
            settings=self.settings,
            notes=self.notes,
            seconds=seconds,
        )


def _task(graph: Any, must_include: Any, candidates: Any, settings: dict[str, Any]) -> _Task | ClusterTask:
    """The task for a graph in memory or on a cluster."""
    if is_partitioned(graph):
        graph = read_graph(graph)
    if isinstance(graph, ClusterGraph):
        return ClusterTask(graph, must_include, candidates, settings)
    return _Task(graph, must_include, candidates, settings)
