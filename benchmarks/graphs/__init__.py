"""Densest k-subgraph: the Frank-Wolfe method beside ours, and a large graph. The paper's graphs: `benchmarks.paper`."""
