"""What was asked, found and proven, in sentences for people who do not know the method."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sparseigen.results import Certificate, DenseSubgraphResult, SparseEigResult

UNPROVEN = "This answer comes without a proof: another choice could be better. Solve again with certificates to know."
NAMES_SHOWN = 8


def at_least(share: float) -> str:
    """A percentage rounded down, so that 'at least' stays true.

    Examples
    --------
    >>> at_least(0.98999), at_least(1.0)
    ('98.99 %', '100 %')
    """
    return f"{math.floor(share * 1e4 + 1e-9) / 100.0:g} %"


def at_most(share: float) -> str:
    """A percentage rounded up, so that 'at most' stays true.

    Examples
    --------
    >>> at_most(0.35571), at_most(0.5)
    ('35.58 %', '50 %')
    """
    return f"{math.ceil(share * 1e4 - 1e-9) / 100.0:g} %"


def amount(value: float, total: float | None) -> str:
    """A variance: as a share where the total is known."""
    return f"{value:.5g}" if not total else f"{value / total:.2%}".replace("%", " %")


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "variable"), counted(2000, "variable")
    ('1 variable', '2,000 variables')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> listed(["Rome", "Oslo"]), listed(["Rome, NY", "Oslo, MN"])
    ('Rome, Oslo', 'Rome, NY; Oslo, MN')
    """
    between = "; " if any("," in name for name in names[:NAMES_SHOWN]) else ", "
    shown = between.join(names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN:,} more"


def component_sentence(result: SparseEigResult, total: float | None, *, after_others: bool) -> str:
    """The certificate of one component."""
    if result.certificate is None or not _finite(result.certificate):
        return UNPROVEN
    choice = "single variable" if result.cardinality == 1 else f"combination of {result.cardinality:,} variables"
    if result.settings.get("which") == "smallest":
        return _smallest(result, result.certificate, choice)
    within = "in what the components before it leave, " if after_others else ""
    found = f"{amount(result.value, total)} of the total variance" if total else f"a variance of {result.value:.5g}"
    if result.certificate.optimal:
        return f"Proven best: {within}no {choice} explains more than this one, which explains {found}."
    limit = at_most(result.certificate.upper_bound / total) if total else f"{result.certificate.upper_bound:.5g}"
    said = f"{within}this combination explains {found}. It is proven that no {choice} can explain more"
    said += f" there than {limit}" if after_others else f" than {limit}"
    reached = at_least(1.0 - result.certificate.relative_gap)
    return f"{said[0].upper()}{said[1:]}, so this one reaches at least {reached} of the best possible."


def _smallest(result: SparseEigResult, proof: Certificate, choice: str) -> str:
    if proof.optimal:
        return f"Proven best: no {choice} varies less than this one ({result.value:.5g})."
    return (
        f"This combination has a variance of {result.value:.5g}. It is proven that no {choice} has one "
        f"below {proof.lower_bound:.5g}."
    )


def _finite(proof: Certificate) -> bool:
    """An infinite bound holds and says nothing."""
    return math.isfinite(proof.lower_bound) and math.isfinite(proof.upper_bound)


def subgraph_sentence(result: DenseSubgraphResult) -> str:
    """The certificate of one set of vertices."""
    if result.certificate is None or not _finite(result.certificate):
        return UNPROVEN
    if result.certificate.optimal:
        return f"Proven best: no group of {result.k:,} members is more tightly connected than this one."
    limit, reached = result.certificate.upper_bound, at_least(1.0 - result.certificate.relative_gap)
    return (
        f"This group has a density of {result.density:.5g}. It is proven that no group of {result.k:,} members can "
        f"have more than {limit:.5g}, so this one reaches at least {reached} of the best possible."
    )
