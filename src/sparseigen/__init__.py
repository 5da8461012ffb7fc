"""sparseigen: which k variables carry the most variance, which k vertices are most tightly connected.

Every public name loads what it needs when it is first used, so that ``import sparseigen`` costs what numpy costs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparseigen import datasets, report
    from sparseigen.components.joint import refine_components
    from sparseigen.components.sequential import sparse_components
    from sparseigen.components.stability import SelectionStability, selection_stability
    from sparseigen.components.variance import explained_variance
    from sparseigen.config import show_config
    from sparseigen.estimators.search_cv import CardinalitySearchCV
    from sparseigen.estimators.sparse_pca import SparsePCA
    from sparseigen.graphs import densest_k_subgraph, density_curve, disjoint_dense_subgraphs, read_graph
    from sparseigen.operators import Operator, covariance
    from sparseigen.report import progress_bar
    from sparseigen.results import (
        Certificate,
        DenseSubgraphResult,
        DensityCurve,
        SparseEigResult,
        SparsePath,
        StopReason,
    )
    from sparseigen.solve import solve_exact, sparse_eigenvector, verify
    from sparseigen.solve.eigenvector import upper_bound
    from sparseigen.solve.path import cardinality_path
    from sparseigen.solve.recovery import recovery_check, restricted_norm

_HOME = {
    "CardinalitySearchCV": "sparseigen.estimators.search_cv",
    "Certificate": "sparseigen.results",
    "DenseSubgraphResult": "sparseigen.results",
    "DensityCurve": "sparseigen.results",
    "Operator": "sparseigen.operators",
    "SelectionStability": "sparseigen.components.stability",
    "SparseEigResult": "sparseigen.results",
    "StopReason": "sparseigen.results",
    "SparsePCA": "sparseigen.estimators.sparse_pca",
    "SparsePath": "sparseigen.results",
    "cardinality_path": "sparseigen.solve.path",
    "covariance": "sparseigen.operators",
    "datasets": "sparseigen.datasets",
    "densest_k_subgraph": "sparseigen.graphs",
    "density_curve": "sparseigen.graphs",
    "disjoint_dense_subgraphs": "sparseigen.graphs",
    "errors": "sparseigen.errors",
    "explained_variance": "sparseigen.components.variance",
    "progress_bar": "sparseigen.report",
    "read_graph": "sparseigen.graphs",
    "recovery_check": "sparseigen.solve.recovery",
    "refine_components": "sparseigen.components.joint",
    "report": "sparseigen.report",
    "restricted_norm": "sparseigen.solve.recovery",
    "selection_stability": "sparseigen.components.stability",
    "show_config": "sparseigen.config",
    "solve_exact": "sparseigen.solve",
    "sparse_components": "sparseigen.components.sequential",
    "sparse_eigenvector": "sparseigen.solve",
    "upper_bound": "sparseigen.solve.eigenvector",
    "verify": "sparseigen.solve",
}
"""Public name -> the module it lives in. The one list of what users may rely on; a test pins it."""

__all__ = [
    "CardinalitySearchCV",
    "Certificate",
    "DenseSubgraphResult",
    "DensityCurve",
    "Operator",
    "SelectionStability",
    "SparseEigResult",
    "SparsePCA",
    "SparsePath",
    "StopReason",
    "cardinality_path",
    "covariance",
    "datasets",
    "densest_k_subgraph",
    "density_curve",
    "disjoint_dense_subgraphs",
    "errors",
    "explained_variance",
    "progress_bar",
    "read_graph",
    "recovery_check",
    "refine_components",
    "report",
    "restricted_norm",
    "selection_stability",
    "show_config",
    "solve_exact",
    "sparse_components",
    "sparse_eigenvector",
    "upper_bound",
    "verify",
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
