"""From a claim and an outcome to a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.paper.claims import Claim, unit_of
from benchmarks.paper.pieces import Outcome

REPRODUCED, BETTER, DIFFERS, NOT_RUNNABLE = "reproduced", "better", "differs", "not runnable here"
VERDICTS = (REPRODUCED, BETTER, DIFFERS, NOT_RUNNABLE)

Missing = str
"""Why a piece has no outcome."""


@dataclass(frozen=True)
class Judged:
    """A claim with what we measured and what that means."""

    claim: Claim
    ours: str
    tolerance: float
    verdict: str
    reason: str
    beside: tuple[str, ...] = ()


def show(value: Any, claim: Claim, measure: Mapping[str, Any]) -> str:
    """A value in the digits of the printed one, and a few more where the difference would not be seen."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if measure.get("of"):
        better = f", {measure['better']} better" if measure.get("better") else ""
        return f"{value} of {measure['of']}{better}"
    if isinstance(value, int):
        return f"{value:,}"
    if claim.unit == "s":
        return f"{value:.3g} s"
    if claim.number is not None and 0.0 < abs(value) < 1e-3 and "e" in claim.paper:
        return f"{value:.1e}"
    return f"{value:.6g}"


def tolerance_of(claim: Claim, error: float) -> float:
    """The absolute tolerance; Monte Carlo error counts twice, theirs being as large as ours."""
    if isinstance(claim.tolerance, str):
        half = 0.5 * unit_of(claim)
        return half + (3.0 * 2.0**0.5 * error if claim.tolerance == "monte-carlo" else 0.0)
    return float(claim.tolerance)


def _holds(relation: str, value: float, paper: float, tolerance: float) -> bool:
    # A float that is one rounding away from the half unit is not a difference.
    slack = tolerance + 1e-12 * max(1.0, abs(paper))
    return {
        "equal": abs(value - paper) <= slack,
        "below": value < paper,
        "above": value > paper,
        "at most": value <= paper + slack,
        "at least": value >= paper - slack,
    }[relation]


def compare(claim: Claim, measure: Mapping[str, Any]) -> tuple[str, float]:
    """The verdict on a measured value, and the tolerance used."""
    value = measure["value"]
    if isinstance(value, (bool, str)) or claim.number is None:
        words = show(value, claim, measure)
        return (REPRODUCED if words == claim.paper else DIFFERS), 0.0
    tolerance = tolerance_of(claim, measure.get("error") or 0.0)
    if _holds(claim.relation, value, claim.number, tolerance):
        return REPRODUCED, tolerance
    if measure.get("of"):
        all_counted = value + measure.get("better", 0) == measure["of"]
        return (BETTER if all_counted else DIFFERS), tolerance
    is_better = (claim.better == "higher" and value > claim.number) or (
        claim.better == "lower" and value < claim.number
    )
    return (BETTER if is_better else DIFFERS), tolerance


def _beside(claim: Claim, outcomes: Mapping[str, Outcome | Missing]) -> tuple[str, ...]:
    shown = []
    for other in claim.also:
        run, _, measure = other.partition(":")
        outcome = outcomes.get(run)
        found = outcome.measures.get(measure or claim.measure) if isinstance(outcome, Outcome) else None
        if found is not None:
            shown.append(f"{run.split('/', 1)[1]}: {show(found['value'], claim, found)}")
    return tuple(shown)


def judge(claim: Claim, outcomes: Mapping[str, Outcome | Missing]) -> Judged:
    """The row of the page for a claim."""
    outcome = outcomes.get(claim.run, "it was not run")
    beside = _beside(claim, outcomes)
    if isinstance(outcome, str):
        if claim.not_runnable or not outcome.startswith("failed"):
            return Judged(claim, "-", 0.0, NOT_RUNNABLE, claim.not_runnable or outcome, beside)
        return Judged(claim, "-", 0.0, DIFFERS, outcome, beside)
    measure = outcome.measures.get(claim.measure)
    if measure is None:
        known = ", ".join(outcome.measures)
        raise KeyError(f"{claim.id}: {claim.run} has no measure {claim.measure!r}; it has {known}.")
    ours, detail = show(measure["value"], claim, measure), measure.get("detail", "")
    if claim.not_runnable:
        return Judged(claim, ours, 0.0, NOT_RUNNABLE, " ".join(filter(None, (claim.not_runnable, detail))), beside)
    verdict, tolerance = compare(claim, measure)
    why = claim.why if verdict == DIFFERS else ""
    reason = " ".join(text for text in (why, detail, claim.note) if text)
    return Judged(claim, ours, tolerance, verdict, reason, beside)


def counts(rows: list[Judged]) -> dict[str, int]:
    """How many rows have each verdict."""
    return {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}


def percentage(rows: list[Judged]) -> float:
    """Of the rows that could run, the percentage reproduced or better."""
    found = counts(rows)
    runnable = len(rows) - found[NOT_RUNNABLE]
    return 100.0 * (found[REPRODUCED] + found[BETTER]) / runnable if runnable else 0.0
