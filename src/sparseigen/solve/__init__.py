"""From a request to a result: one sparse eigenvector, a path of them, bounds, and checks of results."""

from sparseigen.solve.eigenvector import sparse_eigenvector
from sparseigen.solve.exact import solve_exact, upper_bound
from sparseigen.solve.path import cardinality_path
from sparseigen.solve.recovery import recovery_check, restricted_norm
from sparseigen.solve.verification import verify

__all__ = [
    "cardinality_path",
    "recovery_check",
    "restricted_norm",
    "solve_exact",
    "sparse_eigenvector",
    "upper_bound",
    "verify",
]
