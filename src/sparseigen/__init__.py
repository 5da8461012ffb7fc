"""sparseigen: which k variables carry the most variance, which k vertices are most tightly connected.

Every public name loads what it needs when it is first used, so that ``import sparseigen`` costs what numpy costs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparseigen import datasets
    from sparseigen.certificates.bounds import upper_bound
    from sparseigen.certificates.recovery import recovery_check, restricted_norm
    from sparseigen.config import show_config
    from sparseigen.exact import solve_exact, verify
    from sparseigen.operators import Operator, covariance
    from sparseigen.results import Certificate, SparseEigResult, StopReason
    from sparseigen.solve import sparse_eigenvector

_HOME = {
    "Certificate": "sparseigen.results",
    "Operator": "sparseigen.operators",
    "SparseEigResult": "sparseigen.results",
    "StopReason": "sparseigen.results",
    "covariance": "sparseigen.operators",
    "datasets": "sparseigen.datasets",
    "errors": "sparseigen.errors",
    "recovery_check": "sparseigen.certificates.recovery",
    "restricted_norm": "sparseigen.certificates.recovery",
    "show_config": "sparseigen.config",
    "solve_exact": "sparseigen.exact",
    "sparse_eigenvector": "sparseigen.solve",
    "upper_bound": "sparseigen.certificates.bounds",
    "verify": "sparseigen.exact",
}
"""Public name -> the module it lives in. The one list of what users may rely on; a test pins it."""

__all__ = [
    "Certificate",
    "Operator",
    "SparseEigResult",
    "StopReason",
    "covariance",
    "datasets",
    "errors",
    "recovery_check",
    "restricted_norm",
    "show_config",
    "solve_exact",
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
