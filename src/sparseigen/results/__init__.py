"""Every answer type. Frozen: an answer does not change after it was given."""

from sparseigen.results.certificate import Certificate, Verification
from sparseigen.results.component_set import ComponentSet
from sparseigen.results.dense_subgraph import DenseSubgraphResult, DensityCurve
from sparseigen.results.eigenvector import SparseEigResult, Stage, StopReason
from sparseigen.results.path import SparsePath

__all__ = [
    "Certificate",
    "ComponentSet",
    "DenseSubgraphResult",
    "DensityCurve",
    "SparseEigResult",
    "SparsePath",
    "Stage",
    "StopReason",
    "Verification",
]
