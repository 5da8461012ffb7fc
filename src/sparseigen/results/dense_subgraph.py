"""The answer to 'which k vertices are most tightly connected?'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparseigen.config import require
from sparseigen.errors import ShapeError
from sparseigen.results.certificate import Certificate, find_by_cardinality, reduce_to_fields
from sparseigen.results.eigenvector import Stage, StopReason
from sparseigen.results.figures import draw_curve, draw_network


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DenseSubgraphResult:
    """A set of k vertices, how dense it is, and how dense any set of k vertices can be.

    Attributes
    ----------
    nodes : tuple
        The chosen vertices by the caller's labels, in the order of the graph.
    indicator : ndarray of shape (n_vertices,)
        1 for the chosen vertices, else 0 (pi of the paper), read-only.
    k : int
        Number of vertices.
    weight : float
        pi'W pi: every edge counts twice (once from each end), a loop once.
    density : float
        pi'W pi / k, the paper's density: the average weighted degree within the set.
    edge_density : float
        Average weight of a pair of chosen vertices: pi'W pi without loops over k (k - 1). 1 is a clique of an
        unweighted graph; 0 for k = 1.
    certificate : Certificate or None
        The proven bracket on the best ``density`` of k vertices.
    stop_reason, n_iterations, history : StopReason, int, ndarray
        How the run of the power method behind the answer ended, its iterations, and the densities it went through.
    solver, settings, seconds : str, mapping, float
        The method, everything that was chosen or found (how directions, loops and duplicates were treated, the start
        that won, the exchanges made), and the wall-clock time without the certificate.
    stages : tuple of Stage
        "search" and "bound", with what they cost; on a curve all of it at once.
    connected_parts : int or None
        In how many connected parts the set falls: 1 is a group in one piece, more are groups that have nothing to do
        with each other (``connected=True`` asks for one). None for a graph on a cluster.

    Examples
    --------
    >>> import networkx as nx
    >>> import sparseigen as se
    >>> result = se.densest_k_subgraph(nx.karate_club_graph(), k=5)
    >>> result.nodes, result.density, result.edge_density, result.connected_parts
    ((0, 1, 2, 3, 13), 15.2, 3.8, 1)
    >>> result.to_dict()["certificate"]["optimal"]
    True
    """

    nodes: tuple[Any, ...]
    indicator: NDArray[np.int8]
    k: int
    weight: float
    density: float
    edge_density: float
    certificate: Certificate | None
    stop_reason: StopReason
    n_iterations: int
    history: NDArray[np.float64]
    solver: str
    settings: Mapping[str, Any]
    seconds: float
    stages: tuple[Stage, ...] = ()
    connected_parts: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_to_fields(self)

    def __repr__(self) -> str:
        proof = "uncertified" if self.certificate is None else str(self.certificate)
        parts = f"{self.connected_parts} connected parts, " if (self.connected_parts or 1) > 1 else ""
        return (
            f"DenseSubgraphResult(k={self.k}, density={self.density:.6g}, "
            f"edge_density={self.edge_density:.4g}, {parts}{self.solver}, {proof})"
        )

    def subgraph(self, graph: Any) -> Any:
        """The chosen vertices and the edges among them, as a graph of the same package.

        Parameters
        ----------
        graph : networkx, igraph or rustworkx graph, or scipy sparse matrix
            The graph that was searched.

        Examples
        --------
        >>> import networkx as nx
        >>> import sparseigen as se
        >>> club = nx.karate_club_graph()
        >>> se.densest_k_subgraph(club, k=5).subgraph(club).number_of_edges()
        10
        """
        package = type(graph).__module__.split(".")[0]
        places = np.flatnonzero(self.indicator)
        known = graph.vcount() if package == "igraph" else getattr(graph, "shape", None) or len(graph)
        count = known if isinstance(known, int) else known[0]
        if count != self.indicator.size:
            message = f"graph has {count} vertices; the result is about one with {self.indicator.size}."
            raise ShapeError(message)
        if package == "igraph":
            return graph.induced_subgraph(places.tolist())
        if package == "rustworkx":
            indices = list(graph.node_indices())
            return graph.subgraph([indices[place] for place in places.tolist()])
        if hasattr(graph, "subgraph"):
            return graph.subgraph(self.nodes)
        return graph[places][:, places]

    def to_frame(self, graph: Any = None) -> Any:
        """One row per chosen vertex, as a pandas DataFrame; with the graph, the weight of each to the others."""
        pandas = require("pandas", purpose="DenseSubgraphResult.to_frame()")
        frame = pandas.DataFrame({"node": list(self.nodes)})
        if graph is not None:
            inside = np.zeros(self.k)
            for a, b, weight in list_edges(self.subgraph(graph)):
                inside[a] += weight
                inside[b] += weight if a != b else 0.0
            frame["weight_inside"] = inside
        return frame

    def plot(self, graph: Any, *, positions: Any = None, ax: Any = None, engine: str | None = None) -> Any:
        """The chosen vertices and the edges among them, lines as wide as their weight.

        Parameters
        ----------
        graph : networkx, igraph or rustworkx graph, or scipy sparse matrix
            The graph that was searched.
        positions : mapping, optional
            Node to (x, y); without it forces place the vertices (needs networkx).
        ax : matplotlib axes, optional
            Where matplotlib is to draw.
        engine : {"plotly", "matplotlib"}, optional
            Who draws; without ``ax`` plotly, where it is installed.
        """
        edges = list_edges(self.subgraph(graph))
        purpose = "DenseSubgraphResult.plot()"
        if positions is None:
            networkx = require("networkx", purpose=f"{purpose} without positions")
            drawing = networkx.Graph()
            drawing.add_nodes_from(range(self.k))
            drawing.add_weighted_edges_from(edges)
            found = networkx.circular_layout(drawing) if self.k < 3 else networkx.spring_layout(drawing, seed=0)
            places = np.array([found[i] for i in range(self.k)])
        else:
            places = np.array([positions[node] for node in self.nodes], dtype=np.float64)
        title = f"{self.k} vertices, density {self.density:.5g}"
        names = [str(node) for node in self.nodes]
        return draw_network(places, names, edges, title=title, purpose=purpose, ax=ax, engine=engine)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON where the labels are."""
        return {
            "nodes": list(self.nodes),
            "k": self.k,
            "weight": self.weight,
            "density": self.density,
            "edge_density": self.edge_density,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "stop_reason": self.stop_reason.value,
            "n_iterations": self.n_iterations,
            "history": self.history.tolist(),
            "solver": self.solver,
            "settings": dict(self.settings),
            "seconds": self.seconds,
            "stages": [stage.to_dict() for stage in self.stages],
            "connected_parts": self.connected_parts,
        }


def list_edges(subgraph: Any) -> list[tuple[int, int, float]]:
    """Ends (as places among the vertices) and weights of the edges of a graph of any package."""
    package = type(subgraph).__module__.split(".")[0]
    if package == "igraph":
        weighted = "weight" in subgraph.es.attributes()
        weights = subgraph.es["weight"] if weighted else [1.0] * subgraph.ecount()
        return [(a, b, float(w)) for (a, b), w in zip(subgraph.get_edgelist(), weights, strict=True)]
    if package == "rustworkx":
        edges = subgraph.weighted_edge_list()
        return [(a, b, float(w) if isinstance(w, (int, float)) else 1.0) for a, b, w in edges]
    if hasattr(subgraph, "edges"):
        place = {node: i for i, node in enumerate(subgraph)}
        return [(place[a], place[b], float(w)) for a, b, w in subgraph.edges(data="weight", default=1.0)]
    entries = subgraph.tocoo()
    upper = entries.row <= entries.col
    return [
        (int(a), int(b), float(w))
        for a, b, w in zip(entries.row[upper], entries.col[upper], entries.data[upper], strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DensityCurve:
    """One result for each k asked for, in the order asked for.

    Attributes
    ----------
    results : tuple of DenseSubgraphResult
        One for each k; the curve iterates over them, and ``curve[k]`` is the one with k vertices.
    seconds : float
        Wall-clock time of the whole curve, certificates included.

    Examples
    --------
    >>> import networkx as nx
    >>> import sparseigen as se
    >>> curve = se.density_curve(nx.complete_graph(6), [3, 5])
    >>> curve.ks, curve.densities.tolist(), curve[5].certificate.optimal
    ([3, 5], [2.0, 4.0], True)
    """

    results: tuple[DenseSubgraphResult, ...]
    seconds: float

    def __iter__(self) -> Iterator[DenseSubgraphResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, k: int) -> DenseSubgraphResult:
        """The result for k vertices (not a position)."""
        return find_by_cardinality(self.results, self.ks, k, "curve", "k =")

    @property
    def ks(self) -> list[int]:
        """The numbers of vertices."""
        return [result.k for result in self.results]

    @property
    def densities(self) -> NDArray[np.float64]:
        """The densities pi'W pi / k."""
        return np.array([result.density for result in self.results])

    def __repr__(self) -> str:
        ks = f"k = {min(self.ks)} to {max(self.ks)}" if self.results else "empty"
        return f"DensityCurve({len(self.results)} points, {ks}, {self.seconds:.2f} s)"

    def to_frame(self) -> Any:
        """One row per number of vertices, in the order asked for, as a pandas DataFrame."""
        pandas = require("pandas", purpose="DensityCurve.to_frame()")
        rows = [
            {
                "k": result.k,
                "density": result.density,
                "edge_density": result.edge_density,
                "weight": result.weight,
                "upper_bound": None if result.certificate is None else result.certificate.upper_bound,
                "relative_gap": None if result.certificate is None else result.certificate.relative_gap,
                "proven_optimal": None if result.certificate is None else result.certificate.optimal,
                "nodes": list(result.nodes),
            }
            for result in self.results
        ]
        return pandas.DataFrame(rows)

    def plot(self, *, ax: Any = None, engine: str | None = None) -> Any:
        """Density against k, with the band up to the proven bound: a plotly figure, or matplotlib axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where matplotlib is to draw.
        engine : {"plotly", "matplotlib"}, optional
            Who draws; without ``ax`` plotly, where it is installed.
        """
        ordered = sorted(self.results, key=lambda result: result.k)
        certificates = [result.certificate for result in ordered]
        limits = [proof.upper_bound for proof in certificates if proof is not None]
        return draw_curve(
            [result.k for result in ordered],
            [result.density for result in ordered],
            limits if len(limits) == len(ordered) else None,
            purpose="DensityCurve.plot()",
            titles=("number of vertices k", "density"),
            ax=ax,
            engine=engine,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        return {"results": [result.to_dict() for result in self.results], "seconds": self.seconds}
