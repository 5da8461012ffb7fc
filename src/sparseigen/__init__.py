"""sparseigen: which k variables carry the most variance, which k vertices are most tightly connected.

Every public name loads what it needs when it is first used, so that ``import sparseigen`` costs what numpy costs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparseigen import datasets
    from sparseigen.config import show_config
    from sparseigen.graphs import densest_k_subgraph, density_curve, disjoint_dense_subgraphs, read_graph
    from sparseigen.operators import Operator, covariance
    from sparseigen.results import Certificate, DenseSubgraphResult, DensityCurve, SparseEigResult, StopReason
    from sparseigen.solve import sparse_eigenvector

_HOME = {
    "Certificate": "sparseigen.results",
    "DenseSubgraphResult": "sparseigen.results",
    "DensityCurve": "sparseigen.results",
    "Operator": "sparseigen.operators",
    "SparseEigResult": "sparseigen.results",
    "StopReason": "sparseigen.results",
    "covariance": "sparseigen.operators",
    "datasets": "sparseigen.datasets",
    "densest_k_subgraph": "sparseigen.graphs",
    "density_curve": "sparseigen.graphs",
    "disjoint_dense_subgraphs": "sparseigen.graphs",
    "errors": "sparseigen.errors",
    "read_graph": "sparseigen.graphs",
    "show_config": "sparseigen.config",
    "sparse_eigenvector": "sparseigen.solve",
}
"""Public name -> the module it lives in. The one list of what users may rely on; a test pins it."""

__all__ = [
    "Certificate",
    "DenseSubgraphResult",
    "DensityCurve",
    "Operator",
    "SparseEigResult",
    "StopReason",
    "covariance",
    "datasets",
    "densest_k_subgraph",
    "density_curve",
    "disjoint_dense_subgraphs",
    "errors",
    "read_graph",
    "show_config",
    "sparse_eigenvector",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        message = f"module 'sparseigen' has no attribute {name!r}"
        raise AttributeError(message)
    module = import_module(home)
    return module if home == f"sparseigen.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
