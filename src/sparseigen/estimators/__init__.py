"""The scikit-learn estimators. Each loads scikit-learn when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparseigen.estimators.search_cv import CardinalitySearchCV
    from sparseigen.estimators.sparse_cca import CorrelationEvidence, SparseCCA
    from sparseigen.estimators.sparse_lda import SparseLDA
    from sparseigen.estimators.sparse_pca import SparsePCA

_MODULES = {
    "CardinalitySearchCV": "search_cv",
    "CorrelationEvidence": "sparse_cca",
    "SparseCCA": "sparse_cca",
    "SparseLDA": "sparse_lda",
    "SparsePCA": "sparse_pca",
}

__all__ = ["CardinalitySearchCV", "CorrelationEvidence", "SparseCCA", "SparseLDA", "SparsePCA"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        message = f"module 'sparseigen.estimators' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"sparseigen.estimators.{_MODULES[name]}"), name)
