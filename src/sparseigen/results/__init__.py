"""Every answer type. Frozen: an answer does not change after it was given."""

from sparseigen.results.certificate import Certificate
from sparseigen.results.eigenvector import SparseEigResult, StopReason
from sparseigen.results.path import SparsePath
from sparseigen.results.verification import Verification

__all__ = ["Certificate", "SparseEigResult", "SparsePath", "StopReason", "Verification"]
