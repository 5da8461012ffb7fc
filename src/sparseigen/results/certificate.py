"""The proof that comes with an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proven bracket around the optimum.

    The optimal value lies between ``lower_bound`` and ``upper_bound``. Both ends hold in floating point: they
    were computed with margins that cover every rounding error.

    Parameters
    ----------
    lower_bound, upper_bound : float
        The two ends. For the largest sparse eigenvalue the answer attains the lower end, for the smallest the
        upper end.
    method : str
        The bound that gave the proven end.
    tolerance : float
        ``optimal`` means a relative gap of at most this much.
    scale : float
        The size of the matrix's entries. When both ends are below a billionth of it, gaps are relative to that: an
        optimum of zero has no relative precision of its own.

    Examples
    --------
    >>> import sparseigen as se
    >>> certificate = se.sparse_eigenvector(se.datasets.load_pitprops().matrix, cardinality=2).certificate
    >>> certificate.optimal, round(certificate.upper_bound, 3), str(certificate)
    (True, 1.954, 'proven optimal')
    """

    lower_bound: float
    upper_bound: float
    method: str
    tolerance: float = 1e-6
    scale: float = 0.0

    @property
    def relative_gap(self) -> float:
        """How far the answer can be from the optimum, as a share of the larger end (0 when both are 0)."""
        width = self.upper_bound - self.lower_bound
        scale = max(abs(self.lower_bound), abs(self.upper_bound), 1e-9 * self.scale)
        return max(0.0, width) / scale if scale > 0.0 else 0.0

    @property
    def optimal(self) -> bool:
        """Whether the answer is proven optimal, up to ``tolerance``."""
        return self.relative_gap <= self.tolerance

    def __str__(self) -> str:
        if self.optimal:
            return "proven optimal"
        return f"gap {self.relative_gap:.2%}" if self.relative_gap >= 5e-5 else "gap < 0.01%"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {
            "lower_bound": self.lower_bound,
            "upper_bound": self.upper_bound,
            "relative_gap": self.relative_gap,
            "optimal": self.optimal,
            "method": self.method,
        }
