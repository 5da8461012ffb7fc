"""Random graphs of five kinds and many sizes: LFR communities, blocks, clustered power laws, geometric, cliques."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

SIZES = (500, 2000, 10_000, 50_000)


def block_model(n_vertices: int, seed: int) -> sp.csr_array:
    """Blocks of 50 with 30 % of their pairs, and about six random edges per vertex between them."""
    rng = np.random.default_rng(seed)
    edges = [_random_pairs(rng, 50, 0.3) + 50 * block for block in range(n_vertices // 50)]
    edges.append(rng.integers(0, n_vertices, (3 * n_vertices, 2)))
    return _as_graph(np.concatenate(edges), n_vertices)


def planted_clique(n_vertices: int, seed: int) -> sp.csr_array:
    """A random graph of average degree 20 with a clique of 30 vertices and a half-full group of 100."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(n_vertices)
    edges = [rng.integers(0, n_vertices, (10 * n_vertices, 2))]
    edges += [names[:30][_random_pairs(rng, 30, 1.0)], names[50:150][_random_pairs(rng, 100, 0.5)]]
    return _as_graph(np.concatenate(edges), n_vertices)


def lfr(n_vertices: int, seed: int) -> sp.csr_array:
    """Degrees and communities of power laws, one edge in ten between communities."""
    import networkx as nx

    graph = nx.LFR_benchmark_graph(
        n_vertices, 2.5, 1.5, 0.1, average_degree=10, max_degree=50, min_community=20, max_community=100, seed=seed
    )
    return _as_graph(np.array(graph.edges()), n_vertices)


def power_law_cluster(n_vertices: int, seed: int) -> sp.csr_array:
    """Preferential attachment of five edges with triangles (Holme and Kim)."""
    import networkx as nx

    return _as_graph(np.array(nx.powerlaw_cluster_graph(n_vertices, 5, 0.5, seed=seed).edges()), n_vertices)


def geometric(n_vertices: int, seed: int) -> sp.csr_array:
    """Points of the unit square, joined where they are near: average degree about 20."""
    from scipy.spatial import cKDTree

    points = np.random.default_rng(seed).random((n_vertices, 2))
    pairs = cKDTree(points).query_pairs((20.0 / (np.pi * n_vertices)) ** 0.5, output_type="ndarray")
    return _as_graph(pairs, n_vertices)


FAMILIES: dict[str, Callable[[int, int], sp.csr_array]] = {
    "block model": block_model,
    "planted clique": planted_clique,
    "LFR": lfr,
    "power-law cluster": power_law_cluster,
    "geometric": geometric,
}
LARGEST = {"LFR": 10_000}
"""Where making the graph would take longer than all proofs."""


def draw(sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[str, int, sp.csr_array]]:
    """Every family at every size."""
    for name, make in FAMILIES.items():
        for size in sizes:
            if size <= LARGEST.get(name, size):
                yield name, size, make(size, seed=size)


def _random_pairs(rng: np.random.Generator, size: int, share: float) -> np.ndarray:
    first, second = np.triu_indices(size, 1)
    kept = rng.random(len(first)) < share
    return np.stack([first[kept], second[kept]], axis=1)


def _as_graph(edges: np.ndarray, n_vertices: int) -> sp.csr_array:
    edges = edges[edges[:, 0] != edges[:, 1]]
    upper = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n_vertices, n_vertices))
    matrix = (upper + upper.T).tocsr()
    matrix.data[:] = 1.0
    return matrix
