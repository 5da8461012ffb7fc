"""Densest k-subgraph: the calls, the methods behind them, and the bounds; `verify` for all results."""

from sparseigen.graphs.densest import densest_k_subgraph, density_curve, disjoint_dense_subgraphs
from sparseigen.graphs.reading import read_graph
from sparseigen.graphs.verification import verify

__all__ = ["densest_k_subgraph", "density_curve", "disjoint_dense_subgraphs", "read_graph", "verify"]
