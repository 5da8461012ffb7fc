"""Results in words: sentences about certificates, numbers with their nouns, tables as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparseigen.components.automatic import Significance
from sparseigen.components.stability import SelectionStability
from sparseigen.components.variance import ComponentOverlap
from sparseigen.results import Certificate, DenseSubgraphResult, SparseEigResult, SparsePath, Stage

UNPROVEN = "This answer comes without a proof: another choice could be better. Solve again with certificates to know."
NAMES_SHOWN = 8


def at_least(share: float) -> str:
    """A percentage rounded down, so that 'at least' stays true.

    Examples
    --------
    >>> at_least(0.98999), at_least(1.0)
    ('98.99%', '100%')
    """
    return f"{math.floor(share * 1e4 + 1e-9) / 100.0 + 0.0:g}%"  # no minus zero


def at_most(share: float) -> str:
    """A percentage rounded up, so that 'at most' stays true.

    Examples
    --------
    >>> at_most(0.35571), at_most(0.5), at_most(-1e-17)
    ('35.58%', '50%', '0%')
    """
    return f"{math.ceil(share * 1e4 - 1e-9) / 100.0 + 0.0:g}%"  # no minus zero


def amount(value: float, total: float | None) -> str:
    """A variance: as a share where the total is known."""
    return as_number(value, 5) if not total else as_percent(value / total)


def as_number(value: float, digits: int) -> str:
    """A number with so many digits; what rounds to zero has no sign.

    Examples
    --------
    >>> as_number(-0.0, 5), as_number(0.125, 2)
    ('0', '0.12')
    """
    return f"{value + 0.0:.{digits}g}"


def as_percent(share: float, digits: int = 2) -> str:
    """A share in percent, written alike everywhere; what rounds to zero has no sign.

    Examples
    --------
    >>> as_percent(0.0209), as_percent(-1e-17)
    ('2.09%', '0.00%')
    """
    return f"{round(share, digits + 2) + 0.0:.{digits}%}"


def count_noun(count: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> count_noun(1, "variable"), count_noun(2000, "variable")
    ('1 variable', '2,000 variables')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def list_names(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> list_names(["Rome", "Oslo"]), list_names(["Rome, NY", "Oslo, MN"])
    ('Rome, Oslo', 'Rome, NY; Oslo, MN')
    """
    between = "; " if any("," in name for name in names[:NAMES_SHOWN]) else ", "
    shown = between.join(names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN:,} more"


DEFLATED = {
    "schur": "Schur complement",
    "projection": "projection deflation",
    "hotelling": "Hotelling's deflation",
    "orthogonal-hotelling": "orthogonalised Hotelling deflation",
}


def describe_matrix(settings: Mapping[str, Any]) -> str:
    """Which matrix a component and its certificate speak of.

    Examples
    --------
    >>> describe_matrix({})
    'the matrix itself'
    >>> describe_matrix({"components_taken_out": 2, "deflation": "schur"})
    'what components 1-2 leave (Schur complement)'
    """
    count = settings.get("components_taken_out", 0)
    if not count:
        return "the matrix itself"
    which = "component 1 leaves" if count == 1 else f"components 1-{count} leave"
    how = " and ".join(DEFLATED.get(name, name) for name in str(settings.get("deflation", "")).split(", "))
    return f"what {which} ({how})"


def component_sentence(result: SparseEigResult, total: float | None, *, after_others: bool) -> str:
    """The certificate of one component."""
    if result.certificate is None or not _is_finite(result.certificate):
        return UNPROVEN
    choice = "single variable" if result.cardinality == 1 else f"combination of {result.cardinality:,} variables"
    candidates = result.settings.get("candidates", result.vector.size)
    if candidates < result.vector.size:
        choice += f" out of its {candidates:,} candidates"
    if "metric" in result.settings:
        return _quotient_sentence(result, result.certificate, after_others=after_others)
    if result.settings.get("which") == "smallest":
        return _smallest_sentence(result, result.certificate, choice)
    left = describe_matrix(result.settings) if "deflation" in result.settings else "what the components before it leave"
    within, there = (f"in {left}, ", " there") if after_others else ("", "")
    found = f"{amount(result.value, total)} of the total variance" if total else f"a variance of {result.value:.5g}"
    if result.certificate.optimal:
        return f"Proven best: {within}no {choice} explains more than this one, which explains {found}{there}."
    limit = at_most(result.certificate.upper_bound / total) if total else f"{result.certificate.upper_bound:.5g}"
    said = f"{within}this combination explains {found}{there}. It is proven that no {choice} can explain more"
    said += f"{there} than {limit}"
    reached = at_least(1.0 - result.certificate.relative_gap)
    return f"{said[0].upper()}{said[1:]}, so this one reaches at least {reached} of the best possible."


def word_quotient(result: SparseEigResult) -> str:
    """What is compared where a result has a metric.

    Examples
    --------
    >>> import sparseigen as se
    >>> matrix = se.datasets.load_pitprops().matrix
    >>> word_quotient(se.sparse_eigenvector(matrix, 2, metric=matrix, ridge=1.0, certify=False))
    "quotient x'Ax / x'Bx"
    """
    return "correlation" if "boundary" in result.settings else "quotient x'Ax / x'Bx"


def _quotient_sentence(result: SparseEigResult, proof: Certificate, *, after_others: bool) -> str:
    """The certificate of x'Ax / x'Bx, with one or two cardinalities."""
    counts = result.settings.get("cardinalities", (result.cardinality,))
    choice, has = f"combination of {counts[0]:,} variables", "has"
    if len(counts) > 1:
        choice, has = f"{counts[0]:,} and {counts[1]:,} variables of the two blocks", "have"
    within = "in what the ones before it leave, " if after_others else ""
    least = result.settings.get("which") == "smallest"
    what, compared = word_quotient(result), "smaller" if least else "larger"
    if proof.optimal:
        return f"Proven best: {within}no {choice} {has} a {compared} {what} than this one, {result.value:.5g}."
    limit = proof.lower_bound if least else proof.upper_bound
    said = f"{within}this {what} is {result.value:.5g}. It is proven that no {choice} {has} a {compared} one"
    return f"{said[0].upper()}{said[1:]} than {limit:.5g}."


def _smallest_sentence(result: SparseEigResult, proof: Certificate, choice: str) -> str:
    if proof.optimal:
        return f"Proven best: no {choice} varies less than this one ({result.value:.5g})."
    return (
        f"This combination has a variance of {result.value:.5g}. It is proven that no {choice} has one "
        f"below {proof.lower_bound:.5g}."
    )


def _is_finite(proof: Certificate) -> bool:
    """An infinite bound holds and says nothing."""
    return math.isfinite(proof.lower_bound) and math.isfinite(proof.upper_bound)


def subgraph_sentence(result: DenseSubgraphResult) -> str:
    """The certificate of one set of vertices."""
    if result.certificate is None or not _is_finite(result.certificate):
        return UNPROVEN
    if result.certificate.optimal:
        return f"Proven best: no group of {result.k:,} members is more tightly connected than this one."
    limit, reached = result.certificate.upper_bound, at_least(1.0 - result.certificate.relative_gap)
    return (
        f"This group has a density of {result.density:.5g}. It is proven that no group of {result.k:,} members can "
        f"have more than {limit:.5g}, so this one reaches at least {reached} of the best possible."
    )


MOST_ROWS = 60
"""Longer tables leave out the variables with the smallest loadings, and say how many."""
TABLE_NAMES_SHOWN = 6
STABLE = 0.8
"""Share of the resamples in which a variable is to be chosen to count as stable."""


def components_table(
    results: Sequence[SparseEigResult],
    shares: Sequence[float],
    *,
    overlap: ComponentOverlap | None = None,
    significance: Significance | None = None,
    stability: SelectionStability | None = None,
) -> str:
    """Several components side by side: one line per variable, one column per component.

    Parameters
    ----------
    results : sequence of SparseEigResult
        The components, over the same variables.
    shares : sequence of float
        Each component's share of the total variance.
    significance : Significance, optional
        How many variables take part in each, and how much of it those shown carry.
    overlap : ComponentOverlap, optional
        What of that share each adds to those before it, and the one of these that it is correlated with most.
    stability : SelectionStability, optional
        How many of each component's variables most resamples choose too.

    Examples
    --------
    >>> import sparseigen as se
    >>> pitprops = se.datasets.load_pitprops()
    >>> results = se.sparse_components(pitprops.operator(), [2, 2])
    >>> overlap = se.components.find_overlap(pitprops.matrix, [result.vector for result in results])
    >>> print(se.report.components_table(results, overlap.plain / 13, overlap=overlap))
                         PC1        PC2
    -----------------------------------
    topdiam           0.7071
    length            0.7071
    moist                        0.7045
    testsg                       0.7097
    -----------------------------------
    non-zeros              2          2
    variance share    15.03%     14.48%
    adjusted share    15.03%     12.85%
    correlated with           PC1 +0.34
    certificate      optimal    optimal
    """
    vectors = np.array([result.vector for result in results])
    used = np.flatnonzero(vectors.any(axis=0))
    hidden = max(0, len(used) - MOST_ROWS)
    if hidden:
        largest = np.argsort(-np.abs(vectors[:, used]).max(axis=0), kind="stable")[:MOST_ROWS]
        used = used[np.sort(largest)]
    header = ["", *(f"PC{j + 1}" for j in range(len(results)))]
    rows = [[results[0].name_of(int(i)), *(f"{r.vector[i]:.4f}" if r.vector[i] else "" for r in results)] for i in used]
    if hidden:
        rows.append([f"... {hidden} more with smaller loadings", *([""] * len(results))])
    footer = [
        ["non-zeros", *(str(len(result.support)) for result in results)],
        ["variance share", *map(as_percent, shares)],
        *([] if overlap is None or len(results) == 1 else _list_overlap(overlap)),
        ["certificate", *(proof_word(result.certificate) for result in results)],
    ]
    if significance is not None:
        footer += _word_significance(significance)
    if stability is not None:
        footer.append([f"chosen in {STABLE:.0%}", *_count_stable(results, stability)])
    return align_rows([header, *rows], footer)


def _word_significance(significance: Significance) -> list[list[str]]:
    """Lines under the table: who takes part, and what those shown carry of it."""
    out = significance.significant
    counts = [
        f"{len(members):,}" if yes else "noise" for members, yes in zip(significance.taking_part, out, strict=True)
    ]
    lines = [["take part", *counts]]
    if np.isfinite(significance.carried).any():
        carried = [f"{min(share, 1.0):.0%}" if np.isfinite(share) else "" for share in significance.carried]
        lines.append(["shown carry", *carried])
    return lines


def _count_stable(results: Sequence[SparseEigResult], stability: SelectionStability) -> list[str]:
    """Of each component's variables those that are chosen in most resamples."""
    often = [stability.frequencies[j, result.support] >= STABLE for j, result in enumerate(results)]
    return [f"{int(kept.sum())} of {kept.size}" for kept in often]


def _list_overlap(overlap: ComponentOverlap) -> list[list[str]]:
    """Lines of the table: what each component adds, and which earlier one it resembles."""
    nearest = [overlap.find_nearest(j) for j in range(len(overlap.plain))]
    return [
        ["adjusted share", *(as_percent(variance / overlap.total) for variance in overlap.adjusted)],
        [
            "correlated with",
            *("" if i is None else f"PC{i + 1} {overlap.correlations[j, i]:+.2f}" for j, i in enumerate(nearest)),
        ],
    ]


def overlap_sentence(overlap: ComponentOverlap, component: int) -> str:
    """What a component adds to those before it, and which of these it resembles; empty for the first."""
    nearest = overlap.find_nearest(component)
    if nearest is None:
        return ""
    added = amount(overlap.adjusted[component], overlap.total)
    return (
        f"Its scores vary by {amount(overlap.plain[component], overlap.total)} of the total variance, of which it adds "
        f"{added} to the components before it; they correlate most with those of component {nearest + 1} "
        f"({overlap.correlations[component, nearest]:+.2f})."
    )


def path_table(path: SparsePath) -> str:
    """One line per cardinality, ascending: explained share, the proven limit, and the variables."""
    header = ["k", "share", "at most", "certificate", "of dense", "variables"]
    rows = [header]
    for result in path.ascending():
        bound = None if result.certificate is None else result.certificate.upper_bound / path.total_variance
        names = list(result.loadings)
        more = f", ... ({len(names)})" if len(names) > TABLE_NAMES_SHOWN else ""
        rows.append(
            [
                str(result.cardinality),
                as_percent(result.value / path.total_variance),
                "" if bound is None else as_percent(bound),
                proof_word(result.certificate),
                as_percent(result.value / path.dense_optimum, 1),
                ", ".join(names[:TABLE_NAMES_SHOWN]) + more,
            ]
        )
    return align_rows(rows, [], text_columns=(5,))


def curve_table(results: Sequence[DenseSubgraphResult]) -> str:
    """One line per number of vertices: the two densities, the proven limit."""
    rows = [["k", "density", "at most", "certificate", "edge density"]]
    for result in results:
        bound = "" if result.certificate is None else as_number(result.certificate.upper_bound, 6)
        proven = proof_word(result.certificate)
        rows.append([str(result.k), as_number(result.density, 6), bound, proven, as_number(result.edge_density, 4)])
    return align_rows(rows, [])


def stages_line(stages: Sequence[Stage]) -> str:
    """What ran and how long it took, on one line.

    Examples
    --------
    >>> from sparseigen.results import Stage
    >>> stages_line([Stage("plain run", 0.0021, 3.4), Stage("bound", 1.25, 3.4, 3.5)])
    'plain run 2.1 ms, bound 1250 ms'
    """
    return ", ".join(f"{stage.name} {1e3 * stage.seconds:.{1 if stage.seconds < 0.1 else 0}f} ms" for stage in stages)


def proof_word(certificate: Certificate | None) -> str:
    """A certificate in a word or two."""
    if certificate is None:
        return "uncertified"
    return "optimal" if certificate.optimal else str(certificate)


def align_rows(body: list[list[str]], footer: list[list[str]], text_columns: Sequence[int] = (0,)) -> str:
    """Lines of cells under each other: text to the left, numbers to the right, rules around the body."""
    widths = [max(len(row[column]) for row in body + footer) for column in range(len(body[0]))]

    def line(row: list[str]) -> str:
        cells = [
            cell.ljust(width) if column in text_columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    end = [rule, *map(line, footer)] if footer else []
    return "\n".join([line(body[0]), rule, *map(line, body[1:]), *end])
