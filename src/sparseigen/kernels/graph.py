"""The graph kernels in use: compiled if the extension was built, otherwise their NumPy twins."""

from __future__ import annotations

from types import ModuleType

from sparseigen import kernels
from sparseigen.kernels import graph_reference, webgraph_reference
from sparseigen.kernels.graph_rows import Flags, Integers, Rows


def _choose() -> tuple[ModuleType, ModuleType]:
    if kernels.active.NAME == "numpy":
        return graph_reference, webgraph_reference
    from sparseigen.kernels import graph_compiled, webgraph_compiled

    return graph_compiled, webgraph_compiled


active, _webgraph = _choose()

add_rows = active.add_rows
top_vertices = active.top_vertices
peel = active.peel
grow = active.grow
fair_loads = active.fair_loads
exchange = active.exchange
is_symmetric = active.is_symmetric
induced = active.induced
decode_webgraph = _webgraph.decode_webgraph

__all__ = [
    "Flags",
    "Integers",
    "Rows",
    "active",
    "add_rows",
    "decode_webgraph",
    "exchange",
    "fair_loads",
    "grow",
    "induced",
    "is_symmetric",
    "peel",
    "top_vertices",
]
