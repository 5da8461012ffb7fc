"""sparseigen: which k variables carry the most variance, which k vertices are most tightly connected.

Every public name loads what it needs when it is first used, so that ``import sparseigen`` costs what numpy costs. What
is needed less often lives in submodules: `components`, `estimators`, `operators`, `report`, `results`, `tools`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from sparseigen import components as components
    from sparseigen import datasets, errors, report
    from sparseigen import estimators as estimators
    from sparseigen import operators as operators
    from sparseigen import results as results
    from sparseigen import tools as tools
    from sparseigen.components import explained_variance, sparse_components
    from sparseigen.config import show_config
    from sparseigen.estimators import SparseCCA, SparseLDA, SparsePCA
    from sparseigen.graphs import densest_k_subgraph, density_curve, disjoint_dense_subgraphs, read_graph, verify
    from sparseigen.operators import Operator, contrast, covariance
    from sparseigen.solve import (
        cardinality_path,
        recovery_check,
        restricted_norm,
        solve_exact,
        sparse_eigenvector,
        upper_bound,
    )

_SUBPACKAGES = {
    "Operator": "operators",
    "SparseCCA": "estimators",
    "SparseLDA": "estimators",
    "SparsePCA": "estimators",
    "cardinality_path": "solve",
    "contrast": "operators",
    "covariance": "operators",
    "densest_k_subgraph": "graphs",
    "density_curve": "graphs",
    "disjoint_dense_subgraphs": "graphs",
    "explained_variance": "components",
    "read_graph": "graphs",
    "recovery_check": "solve",
    "restricted_norm": "solve",
    "show_config": "config",
    "solve_exact": "solve",
    "sparse_components": "components",
    "sparse_eigenvector": "solve",
    "upper_bound": "solve",
    "verify": "graphs",
}
"""Public name -> the module it lives in. The one list of what users may rely on; a test pins it."""

_SUBMODULES = ("components", "datasets", "errors", "estimators", "operators", "report", "results", "tools")

_MOVED = {
    "CardinalitySearchCV": "estimators",
    "Certificate": "results",
    "ComponentSet": "results",
    "DenseSubgraphResult": "results",
    "DensityCurve": "results",
    "SelectionStability": "components",
    "SparseEigResult": "results",
    "SparsePath": "results",
    "StopReason": "results",
    "progress_bar": "report",
    "refine_components": "components",
    "selection_stability": "components",
}
"""Names looked for at the top that live in a submodule."""

__all__ = [
    "Operator",
    "SparseCCA",
    "SparseLDA",
    "SparsePCA",
    "cardinality_path",
    "contrast",
    "covariance",
    "datasets",
    "densest_k_subgraph",
    "density_curve",
    "disjoint_dense_subgraphs",
    "errors",
    "explained_variance",
    "read_graph",
    "recovery_check",
    "report",
    "restricted_norm",
    "show_config",
    "solve_exact",
    "sparse_components",
    "sparse_eigenvector",
    "upper_bound",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"sparseigen.{name}")
    if name in _SUBPACKAGES:
        value = globals()[name] = getattr(import_module(f"sparseigen.{_SUBPACKAGES[name]}"), name)
        return value
    if name == "__version__":
        return import_module("sparseigen.config").find_version("sparseigen")
    message = f"module 'sparseigen' has no attribute {name!r}"
    if name in _MOVED:
        message = f"{message}; it lives in sparseigen.{_MOVED[name]}: from sparseigen.{_MOVED[name]} import {name}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "__version__"})
