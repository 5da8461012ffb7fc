"""What Theorem 1 of the paper says of a problem."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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
