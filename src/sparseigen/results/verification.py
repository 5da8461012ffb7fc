"""The outcome of checking a result against the matrix it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """One claim of a result, whether it holds, and the numbers."""

    claim: str
    holds: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Every claim of a result, checked. True in a condition if all of them hold."""

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
