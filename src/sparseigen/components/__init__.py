"""Sets of components: one after the other or jointly, their variance and their stability."""

from sparseigen.components.automatic import Significance
from sparseigen.components.joint import refine_components
from sparseigen.components.sequential import choose_cardinalities, sparse_components
from sparseigen.components.stability import SelectionStability, selection_stability
from sparseigen.components.variance import ComponentOverlap, explained_variance, find_overlap

__all__ = [
    "ComponentOverlap",
    "SelectionStability",
    "Significance",
    "choose_cardinalities",
    "explained_variance",
    "find_overlap",
    "refine_components",
    "selection_stability",
    "sparse_components",
]
