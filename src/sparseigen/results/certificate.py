"""What is proven of an answer: brackets, verifications, the terms of Theorem 1; and what all results share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

import numpy as np

Answer = TypeVar("Answer")


def rebuild(kind: type[Any], *values: Any) -> Any:
    """An answer from its fields, with arrays that cannot be written to: pickle and deepcopy make writable ones."""
    return kind(*(_read_only(value) for value in values))


def reduce_to_fields(answer: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What ``__reduce__`` of an answer returns."""
    return rebuild, (type(answer), *(getattr(answer, field.name) for field in fields(answer)))


def find_by_cardinality(results: Sequence[Answer], ks: Sequence[int], k: int, where: str, name: str) -> Answer:
    """The first result for k on a path or curve; a KeyError lists the ones there are."""
    for result, cardinality in zip(results, ks, strict=True):
        if isinstance(k, (int, float, np.number)) and cardinality == k:
            return result
    shown = ", ".join(str(cardinality) for cardinality in ks[:8])
    more = f", ... {ks[-1]}" if len(ks) > 8 else ""
    message = f"{name} {k!r} is not on the {where}; it has {shown}{more}."
    raise KeyError(message)


def _read_only(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()  # what the caller holds keeps its flags
    view.flags.writeable = False
    return view


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


@dataclass(frozen=True, slots=True)
class RecoveryTerms:
    """The theorem's quantities for one value of rho(E, s).

    ``failed`` names the first condition that does not hold, or is None. Quantities that a failed condition leaves
    undefined are NaN. ``rate`` is mu, ``error_level`` is sqrt(5) delta / (1 - mu_2), ``u`` the overlap the theorem
    starts from.
    """

    restricted_norm: float
    gamma: float
    delta: float
    u: float
    mu_1: float
    mu_2: float
    rate: float
    error_level: float
    failed: str | None


@dataclass(frozen=True, slots=True)
class RecoveryCheck:
    """Whether Theorem 1 applies, and what it promises.

    Attributes
    ----------
    verdict : {"applies", "fails", "undecided"}
        "applies" if every condition holds at the upper end of the bracket for rho(E, s), "fails" if one fails at the
        lower end; every condition gets harder as rho grows, so nothing else is left but "undecided".
    condition : str or None
        The first condition that fails (at the lower end for "fails", at the upper end for "undecided").
    cardinality, sparsity, s : int
        k of the iteration, the number of non-zeros of the true leading eigenvector, and 2k + that number (at most p).
    eigenvalue, gap : float
        The leading eigenvalue of the true matrix and its distance to the largest other magnitude.
    overlap : float
        |x_0' xbar|.
    at_low, at_high : RecoveryTerms
        The quantities at both ends of the bracket.
    """

    verdict: str
    condition: str | None
    cardinality: int
    sparsity: int
    s: int
    eigenvalue: float
    gap: float
    overlap: float
    at_low: RecoveryTerms
    at_high: RecoveryTerms

    def error_bound(self, iteration: int) -> float:
        """The promised bound on sqrt(1 - |x_t' xbar|), NaN where the theorem does not apply."""
        terms = self.at_high
        return float(terms.rate**iteration * (1.0 - self.overlap) ** 0.5 + terms.error_level)

    def __str__(self) -> str:
        return self.verdict if self.condition is None else f"{self.verdict}: {self.condition}"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON: what a failed condition leaves undefined is None."""
        facts = asdict(self)
        for end in ("at_low", "at_high"):
            facts[end] = {name: None if value != value else value for name, value in facts[end].items()}
        return facts


@dataclass(frozen=True, slots=True)
class Check:
    """One claim of a result, whether it holds, and the numbers."""

    claim: str
    holds: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Every claim of a result, checked. True in a condition if all of them hold.

    Examples
    --------
    >>> import sparseigen as se
    >>> matrix = se.datasets.load_pitprops().matrix
    >>> verification = se.verify(se.sparse_eigenvector(matrix, 5), matrix)
    >>> verification.holds, verification.failures
    (True, ())
    """

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(check.holds for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The claims that do not hold, or could not be proven again."""
        return tuple(check for check in self.checks if not check.holds)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return "\n".join(f"{'ok    ' if c.holds else 'FAILED'} {c.claim}: {c.detail}" for c in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        checks = [{"claim": c.claim, "holds": c.holds, "detail": c.detail} for c in self.checks]
        return {"holds": self.holds, "checks": checks}
