"""The three calls about dense subgraphs: the densest k vertices for one k, for many, or in disjoint sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparseigen.checks.arguments import check_count, check_many
from sparseigen.errors import CardinalityError, OptionError
from sparseigen.graphs.certifying import OnBracket
from sparseigen.graphs.cluster_graph import ClusterGraph
from sparseigen.graphs.cluster_task import ClusterTask
from sparseigen.graphs.reading import read_graph
from sparseigen.graphs.task import MemoryTask, SubgraphOptions, SubgraphTask
from sparseigen.results import DenseSubgraphResult, DensityCurve
from sparseigen.rows.partitions import is_partitioned


def densest_k_subgraph(
    graph: Any,
    k: int,
    *,
    method: str = "tpower",
    start: Any = "auto",
    polish: str | None = "auto",
    must_include: Any = None,
    candidates: Any = None,
    directed: str = "average",
    self_loops: str = "drop",
    weight: str | None = "weight",
    certify: bool = True,
    effort: str = "default",
    time_limit: float | None = None,
    connected: bool = False,
    on_bracket: OnBracket | None = None,
    rng: Any = None,
) -> DenseSubgraphResult:
    """Find k vertices with as much edge weight among them as possible, and prove how much there can be.

    Parameters
    ----------
    graph : networkx, igraph or rustworkx graph, sparse matrix, edge array, edge frame, path, or what `read_graph` gives
        Weights must be >= 0; see ``weight``. An edge array has one row per edge: two ends, and a weight if there is a
        third column. An edge list that gives every edge in one direction only is read as undirected; one that gives
        both directions of some pair is read as directed.
    k : int
        Number of vertices.
    method : {"tpower", "exact", "tpower-relaxed", "greedy-ravi", "greedy-feige", "peel"}
        "tpower" is Algorithm 2 of the paper with ``start`` and ``polish``; "exact" is the same with a proof by branch
        and bound that ends when the set is optimal or after ``time_limit`` (60 s where none is given); the others take
        neither start nor polish. "tpower-relaxed"
        is Algorithm 1 on W; "greedy-ravi" adds the vertex that gains most, from the heaviest edge on;
        "greedy-feige" takes the k/2 largest degrees and the k/2 vertices best connected to them; "peel" removes the
        vertex of least degree until k are left.
    start : {"auto", "degree", "peel", "loads", "greedy-ravi", "greedy-feige"} or collection of vertices
        Where Algorithm 2 starts. "degree" is the paper's: the k largest degrees. "auto" tries all of these and
        greedy growth from many seeds. ``start="degree", polish=None`` is Algorithm 2 exactly.
    polish : {"auto", "swap", "tabu", None}
        What to do with the best sets: exchange vertices while the weight rises, go on longer through losing
        exchanges, or nothing. "auto" is "swap"; where ``start`` is "auto" too, ``effort`` decides.
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
    weight : str or None
        The edge attribute (of a graph object) or column (edge frame, edge list with a header) that holds the weights.
        Edges without it count 1. With None every edge counts 1, also in a matrix and in what `read_graph` returns. By
        default "weight", or else the third of three columns.
    certify : bool
        Prove an upper bound.
    effort : {"quick", "default", "thorough"}
        "quick" tries the starts without exchanges and a quick bound. "default" spends about the time of the search on
        the dual bound and stops at a gap of 0.1 %; graphs of at most 60 vertices are proven. "thorough" goes on through
        losing exchanges ("tabu"), and with the bound and a branch and bound for some seconds per k.
    time_limit : float, optional
        Seconds after which the best set so far and its bound are returned, with ``stop_reason`` "time_limit"; looked
        at between starts, exchanges and steps of the bound.
    connected : bool
        Search connected groups: every vertex of the set can be reached from every other within it; of a graph on a
        cluster, among the vertices of its core. The bound is that of all groups, so it holds for these.
    on_bracket : callable, optional
        Called as ``on_bracket(k, low, high)`` with the bracket on the density whenever a proof has gone a step further.
    rng : None, int or numpy.random.Generator
        Decides how long exchanged vertices are held back; None is seed 0.

    Returns
    -------
    DenseSubgraphResult
        Its certificate is on the scale of ``density`` = pi'W pi / k. For weights that are multiples of a power of
        two it is rounded to whole numbers, and ``certificate.optimal`` is a proof. With ``must_include`` it is about
        the sets that hold these vertices (on a cluster: about all sets, which is valid, not tight).

    Raises
    ------
    SolveInterrupted
        On Ctrl-C; a KeyboardInterrupt whose ``result`` has the set and the bracket reached.

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
    options = SubgraphOptions(
        method, start, polish, directed, self_loops, weight, certify, rng, effort, time_limit, connected, on_bracket
    )
    task = _open_task(graph, must_include, candidates, options)
    return task.find_set(task.check_k(k))


def density_curve(
    graph: Any,
    ks: Iterable[int],
    *,
    method: str = "tpower",
    start: Any = "auto",
    polish: str | None = "auto",
    must_include: Any = None,
    candidates: Any = None,
    directed: str = "average",
    self_loops: str = "drop",
    weight: str | None = "weight",
    certify: bool = True,
    effort: str = "default",
    time_limit: float | None = None,
    connected: bool = False,
    on_bracket: OnBracket | None = None,
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
    options = SubgraphOptions(
        method, start, polish, directed, self_loops, weight, certify, rng, effort, time_limit, connected, on_bracket
    )
    task = _open_task(graph, must_include, candidates, options)
    wanted = [task.check_k(k) for k in check_many(ks, "ks", "range(10, 100, 10)")]
    if not wanted:
        msg = "ks is empty; give at least one number of vertices."
        raise OptionError(msg, parameter="ks")
    return task.find_curve(wanted)


def disjoint_dense_subgraphs(
    graph: Any,
    k: int,
    count: int,
    *,
    method: str = "tpower",
    start: Any = "auto",
    polish: str | None = "auto",
    candidates: Any = None,
    directed: str = "average",
    self_loops: str = "drop",
    weight: str | None = "weight",
    certify: bool = True,
    effort: str = "default",
    time_limit: float | None = None,
    connected: bool = False,
    on_bracket: OnBracket | None = None,
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
    options = SubgraphOptions(
        method, start, polish, directed, self_loops, weight, certify, rng, effort, time_limit, connected, on_bracket
    )
    task = _open_task(graph, None, candidates, options)
    k, count = task.check_k(k), check_count(count, "count")
    if k * count > task.n_allowed:
        message = f"count={count} disjoint sets of k={k} vertices need {k * count}; there are {task.n_allowed}."
        raise CardinalityError(message, parameter="count")
    for _ in range(count):
        task = task.leave_out(task.find_set(k))
    return list(task.completed)


def _open_task(graph: Any, must_include: Any, candidates: Any, options: SubgraphOptions) -> SubgraphTask:
    """The task for a graph in memory or on a cluster."""
    if is_partitioned(graph):
        graph = read_graph(graph)
    kind = ClusterTask if isinstance(graph, ClusterGraph) else MemoryTask
    return kind(graph, must_include, candidates, options)
