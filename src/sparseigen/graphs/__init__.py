"""Densest k-subgraph: the calls, the methods behind them, and the bounds."""

from sparseigen.graphs.densest import densest_k_subgraph, density_curve, disjoint_dense_subgraphs
from sparseigen.graphs.reading import read_graph

__all__ = ["densest_k_subgraph", "density_curve", "disjoint_dense_subgraphs", "read_graph"]
