"""Densest k-subgraph: the paper's graphs, a large one, and the Frank-Wolfe method, in one run."""
