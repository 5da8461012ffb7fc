"""The problems on which all peers are compared: a table of cells, each a problem and the cardinalities asked of it.

A cell holds data, a covariance or a graph. Packages that take only data get, for a covariance, data whose covariance
is that matrix; packages that take only dense arrays get the sparse data as a dense array. Neither is timed.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseigen.datasets import data_folder, load_gene_covariance, load_pitprops

GAUSSIAN_SAMPLES = 500


@dataclass
class Problem:
    """One of ``data`` (samples x variables, dense or sparse), ``matrix`` (a covariance) or ``graph`` (networkx)."""

    data: Any = None
    matrix: np.ndarray | None = None
    graph: Any = None

    @property
    def size(self) -> int:
        if self.graph is not None:
            return int(self.graph.number_of_nodes())
        return int((self.data if self.matrix is None else self.matrix).shape[1])

    @cached_property
    def dense_data(self) -> np.ndarray:
        """Data as a dense array: those given, or ones whose covariance (divisor n - 1) is the matrix given."""
        if self.matrix is not None:
            return data_with_covariance(self.matrix)
        return self.data.toarray() if sp.issparse(self.data) else self.data

    @cached_property
    def centred_data(self) -> np.ndarray:
        return self.dense_data - self.dense_data.mean(axis=0)

    @cached_property
    def facts(self) -> dict[str, int]:
        """The sizes that go with every measurement."""
        if self.graph is not None:
            return {"vertices": self.size, "edges": int(self.graph.number_of_edges())}
        if self.matrix is not None:
            return {"p": self.size}
        return {"n": int(self.data.shape[0]), "p": self.size} | (
            {"nnz": int(self.data.nnz)} if sp.issparse(self.data) else {}
        )


def data_with_covariance(matrix: np.ndarray) -> np.ndarray:
    """The fewest samples whose sample covariance is the given positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    rank = int(kept.sum())
    # Orthonormal columns that sum to zero: the Householder image of the unit vectors but the first.
    mirror = np.full(rank + 1, (rank + 1) ** -0.5)
    mirror[0] -= 1.0
    mirror /= np.linalg.norm(mirror)
    centred = (np.eye(rank + 1) - 2.0 * np.outer(mirror, mirror))[:, 1:]
    return np.sqrt(rank) * (centred * np.sqrt(values[kept])) @ vectors[:, kept].T


@dataclass(frozen=True)
class Cell:
    """A problem by name, the cardinalities asked of it, and which run it belongs to."""

    name: str
    make: Callable[[], Problem]
    cardinalities: tuple[int, ...]
    """Empty for a graph: there the peer returns a size and is compared at that size."""
    quick: bool = False


def _pitprops() -> Problem:
    return Problem(matrix=load_pitprops().matrix)


def _genes(name: str) -> Callable[[], Problem]:
    return lambda: Problem(matrix=load_gene_covariance(name))


def _colon() -> Problem:
    """All 2000 genes, log2 intensities of 62 tissues."""
    with gzip.open(data_folder() / "colon" / "colon_62x2000.csv.gz", "rt") as file:
        rows = [line.rstrip("\n").split(",")[2:] for line in file][1:]
    return Problem(data=np.log2(np.array(rows, dtype=float)))


def _lymphoma() -> Problem:
    """The 62 samples without gaps, the 500 genes of largest variance."""
    with np.load(data_folder() / "lymphoma" / "lymphoma_62x4026_standardised.npz", allow_pickle=False) as archive:
        data = archive["X"]
    return Problem(data=np.ascontiguousarray(data[:, np.sort(np.argsort(-data.var(axis=0), kind="stable")[:500])]))


def _toy() -> Problem:
    """The paper's: 50 samples, 500 variables, two sparse eigenvectors of ten variables each."""
    noise = np.random.default_rng(2011).standard_normal((50, 500))
    vectors = np.zeros((2, 500))
    vectors[0, :10] = vectors[1, 10:20] = 10.0**-0.5
    return Problem(data=noise + ((noise @ vectors.T) * (np.sqrt([400.0, 300.0]) - 1.0)) @ vectors)


def _gaussian(size: int) -> Callable[[], Problem]:
    return lambda: Problem(data=np.random.default_rng(7).standard_normal((GAUSSIAN_SAMPLES, size)))


def planted(size: int, factors: int = 1) -> Callable[[], Problem]:
    """200 samples; the first 30 variables share a factor as strong as their noise, the next 30 another, and so on."""

    def make() -> Problem:
        rng = np.random.default_rng(7)
        data = rng.standard_normal((200, size))
        for factor in range(factors):
            data[:, 30 * factor : 30 * (factor + 1)] += rng.standard_normal((200, 1))
        return Problem(data=data)

    return make


def newsgroups(documents: int, terms: int) -> Callable[[], Problem]:
    """Square-root term counts, sparse: every few documents of all groups, the terms found in most documents."""

    def make() -> Problem:
        counts = sp.load_npz(data_folder() / "newsgroups20" / "counts_body_18846x5000.npz")
        step = max(1, counts.shape[0] // documents)
        return Problem(data=sp.csr_matrix(counts[::step][:documents, :terms], dtype=float).sqrt())

    return make


def _named_graph(name: str) -> Callable[[], Problem]:
    def make() -> Problem:
        import networkx as nx

        graph = nx.Graph(getattr(nx, name)().edges())
        return Problem(graph=graph)

    return make


def _air_routes() -> Problem:
    """Non-stop connections between 456 airports, without direction or weight."""
    import networkx as nx

    with (data_folder() / "air_routes" / "direct_routes.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    return Problem(graph=nx.Graph((int(row[0]), int(row[1])) for row in rows))


def _planted_graph() -> Problem:
    """2000 vertices, sparse at random, with 40 that know each other with probability 0.6."""
    import networkx as nx

    graph = nx.gnp_random_graph(2000, 0.005, seed=7)
    graph.add_edges_from(nx.gnp_random_graph(40, 0.6, seed=8).edges())
    graph.remove_nodes_from(list(nx.isolates(graph)))
    return Problem(graph=graph)


CELLS: dict[str, Cell] = {
    cell.name: cell
    for cell in (
        Cell("PitProps", _pitprops, (3, 5, 7, 10), quick=True),
        Cell("toy model", _toy, (10, 20), quick=True),
        Cell("colon, 500 genes", _genes("colon"), (10, 50), quick=True),
        Cell("lymphoma, 500 genes", _genes("lymphoma"), (10, 50), quick=True),
        Cell("noise, p = 500", _gaussian(500), (25, 50), quick=True),
        Cell("text, 300 terms", newsgroups(2000, 300), (10, 20), quick=True),
        Cell("colon, 500 genes, more", _genes("colon"), (5, 20, 100, 200)),
        Cell("lymphoma, 500 genes, more", _genes("lymphoma"), (5, 20, 100, 200)),
        Cell("colon log2, 2000 genes", _colon, (20, 100)),
        Cell("lymphoma data, 500 genes", _lymphoma, (20, 50)),
        Cell("noise, p = 1000", _gaussian(1000), (50, 100)),
        Cell("noise, p = 2000", _gaussian(2000), (100,)),
        Cell("planted, p = 1000", planted(1000), (30,)),
        Cell("planted, p = 4000", planted(4000), (30,)),
        Cell("text, 1000 terms", newsgroups(18846, 1000), (20,)),
        Cell("karate club", _named_graph("karate_club_graph"), (), quick=True),
        Cell("Les Misérables", _named_graph("les_miserables_graph"), (), quick=True),
        Cell("air routes", _air_routes, (), quick=True),
        Cell("planted graph", _planted_graph, (), quick=True),
    )
}


def cells(*, quick: bool) -> list[Cell]:
    """The cells of a run: the full one has the quick ones too."""
    return [cell for cell in CELLS.values() if cell.quick or not quick]


def support_of(loadings: np.ndarray) -> np.ndarray:
    """The variables with a loading that is not zero, in order."""
    return np.flatnonzero(np.asarray(loadings, dtype=float).ravel())


def value_of(problem: Problem, support: np.ndarray) -> float:
    """Largest eigenvalue of the covariance on the support; for a graph twice the number of edges inside, over k."""
    if problem.graph is not None:
        inside = problem.graph.subgraph(support)
        return 2.0 * inside.number_of_edges() / len(support)
    return float(np.linalg.eigvalsh(_covariance(problem, np.asarray(support)))[-1])


def _covariance(problem: Problem, support: np.ndarray) -> np.ndarray:
    if problem.matrix is not None:
        return problem.matrix[np.ix_(support, support)]
    columns = problem.data[:, support]
    columns = columns.toarray() if sp.issparse(columns) else np.asarray(columns, dtype=float)
    columns = columns - columns.mean(axis=0)
    return columns.T @ columns / (len(columns) - 1)
