"""The graph kernels in use are those of the kernels in use."""

from __future__ import annotations

import importlib

from sparseigen import kernels
from sparseigen.kernels import graph, graph_reference


def test_the_kernels_in_use_are_of_one_kind() -> None:
    name = "graph_reference" if kernels.active.NAME == "numpy" else "graph_compiled"
    chosen = importlib.import_module(f"sparseigen.kernels.{name}")
    for function in set(graph.__all__) - {"Flags", "Integers", "Rows"}:
        assert getattr(graph, function) is getattr(chosen, function)
        assert callable(getattr(graph_reference, function))
    assert graph.Rows is graph_reference.Rows
