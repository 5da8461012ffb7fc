"""Every number of the paper, run again and compared: `python -m benchmarks.paper`.

Yuan and Zhang, "Truncated Power Method for Sparse Eigenvalue Problems". The folder is laid out as benchopt lays out a
benchmark: `datasets` make inputs, `solvers` are named methods with their settings, `objective` alone scores what they
return, `parts` put them together, and `claims.toml` has one row for each number of the paper.
"""
